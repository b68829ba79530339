// Starts and reloads that the process knows of, and the messages of its start.
import { ask, make, setText } from "./dom.js";
import { Grid } from "./grid.js";
import { moment } from "./units.js";

const COLUMNS = [
  { title: "When", left: true, text: (row) => moment(row.at) },
  { title: "Result", left: true, fill: (cell, row) => cell.replaceChildren(
    make("span", { class: "pill " + (row.failed ? "down" : "up"), text: row.failed ? "▼ failed" : "▲ serves" })) },
  { title: "Process", text: (row) => row.pid },
  { title: "Message", left: true, wraps: true, text: (row) => row.text },
];

export function reloads(main) {
  const about = make("p"), messages = make("pre", { tabindex: "0", "aria-label": "Messages of the start" });
  const grid = new Grid({ label: "Reloads", columns: COLUMNS, key: (row) => row.at + " " + row.pid + " " + row.failed,
    empty: "Without a master (-W) nothing is known of reloads." });
  main.append(make("h1", { text: "Reloads", tabindex: "-1" }), about, grid.element, make("h2", { text: "Messages of the start" }), messages);
  async function refresh() {
    const data = await ask("reloads");
    setText(about, "Process " + data.pid + " serves since " + moment(data.started) + (data.stopping ? ", and finishes." : "."));
    setText(messages, data.messages || "None.");
    grid.show(data.rows);
  }
  return { refresh, every: 3000 };
}
