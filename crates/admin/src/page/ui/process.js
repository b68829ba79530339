// Threads, memory, and every value of `show info`.
import { ask, make } from "./dom.js";
import { Grid } from "./grid.js";
import { bytes, count } from "./units.js";

const THREADS = [
  { title: "Thread", left: true, text: (row) => row.thread },
  { title: "CPU", text: (row) => (row.share === null ? "–" : row.share.toFixed(0) + " %"), sort: (row) => row.share },
  { title: "Clients", text: (row) => count(row.clients), sort: (row) => row.clients },
  { title: "Accepted", text: (row) => count(row.accepted), wide: true },
  { title: "Requests", text: (row) => count(row.requests) },
  { title: "Tasks", text: (row) => count(row.tasks) },
  { title: "Timers", text: (row) => count(row.timers), wide: true },
  { title: "Rounds", text: (row) => count(row.loops), wide: true },
  { title: "Long rounds", text: (row) => count(row.long), wide: true },
  { title: "Panics", text: (row) => count(row.panicked) },
];
const INFO = [
  { title: "Name", left: true, text: (row) => row[0], sort: (row) => row[0] },
  { title: "Value", left: true, text: (row) => row[1] },
  { title: "What it is", left: true, wraps: true, text: (row) => row[2] },
];

export function processView(main) {
  const threads = new Grid({ label: "Threads", columns: THREADS, key: (row) => row.thread, empty: "No thread." });
  const info = new Grid({ label: "Values of show info", columns: INFO, key: (row) => row[0], empty: "No value." });
  const memory = make("dl", { class: "facts" });
  main.append(make("h1", { text: "Process", tabindex: "-1" }), make("h2", { text: "Threads" }), threads.element,
    make("h2", { text: "Memory" }), memory, make("h2", { text: "Values" }), info.element);
  let before = null;
  async function refresh() {
    const data = await ask("process");
    for (const row of data.threads) {
      const was = before && before.threads.find((it) => it.thread === row.thread);
      row.share = was && data.ms > before.ms ? (row.cpu - was.cpu) / (data.ms - before.ms) / 1e4 : null;
    }
    before = data;
    threads.show(data.threads);
    const { used, limit, buffers, buffers_used, address_space } = data.memory;
    const facts = [["In use", limit ? bytes(used) + " of " + bytes(limit) + " (" + Math.round(used / limit * 100) + " %)" : "no budget"],
      ["Buffers", bytes(buffers)], ["Buffers in use", bytes(buffers_used)], ["Address space limit", address_space ? bytes(address_space) : "none"]];
    memory.replaceChildren(...facts.map(([words, text]) => make("div", {}, make("dt", { text: words }), make("dd", { text }))));
    info.all = true;
    info.show(data.info);
  }
  return { refresh, every: 2000 };
}
