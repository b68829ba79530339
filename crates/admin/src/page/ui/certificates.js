// Certificates in use, those that end first at the top.
import { ask, make, setText } from "./dom.js";
import { Grid } from "./grid.js";
import { count, moment, span } from "./units.js";

const DAY = 86400000;

function expiry(row) {
  const left = row.until - row.now;
  if (Number.isNaN(left)) return ["none", "○ unknown"];
  if (left < 0) return ["down", "▼ expired " + span(-left / 1000) + " ago"];
  return left < 7 * DAY ? ["down", "▼ " + span(left / 1000)] : left < 30 * DAY ? ["turning", "◐ " + span(left / 1000)] : ["up", "▲ " + span(left / 1000)];
}

const COLUMNS = [
  { title: "File", left: true, wraps: true, text: (row) => row.file, sort: (row) => row.file },
  { title: "Time left", left: true, sort: (row) => row.until, fill: (cell, row) => {
    const [name, text] = expiry(row);
    cell.replaceChildren(make("span", { class: "pill " + name, text }));
  } },
  { title: "Ends", left: true, text: (row) => (row.until ? moment(row.until) : "") },
  { title: "Names", left: true, wraps: true, text: (row) => (row.names || row.subject || "").replaceAll("DNS:", "") },
  { title: "Issuer", left: true, wide: true, wraps: true, text: (row) => row.issuer || "" },
  { title: "Key", left: true, wide: true, text: (row) => row.algorithm || "" },
  { title: "OCSP", left: true, wide: true, text: (row) => (row.stapled ? "stapled" : "") },
  { title: "Status", left: true, wide: true, text: (row) => row.status },
];

export function certificates(main) {
  const about = make("p", { class: "quiet" });
  const grid = new Grid({ label: "Certificates", columns: COLUMNS, key: (row) => row.file, order: (a, b) => (a.until || 0) - (b.until || 0),
    empty: "No certificate is in use." });
  main.append(make("h1", { text: "Certificates", tabindex: "-1" }), about, grid.element);
  async function refresh() {
    const data = await ask("certificates");
    for (const row of data.rows) Object.assign(row, { until: Date.parse(row.end), now: data.now });
    grid.empty = data.trusted ? "No certificate is in use." : "Certificates are shown with stats auth or stats show-legends, on a page without stats scope.";
    setText(about, data.trusted && data.total ? count(data.total) + " in use" + (data.rows.length < data.total ? ", the first " + data.rows.length + " are shown" : "") : "");
    grid.show(data.rows);
  }
  return { refresh, every: 60000 };
}
