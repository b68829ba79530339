// Listeners of all proxies, and the runtime sockets.
import { ask, make } from "./dom.js";
import { Grid } from "./grid.js";
import { link } from "./route.js";
import { pill, showState } from "./states.js";
import { count } from "./units.js";

const COLUMNS = [
  { title: "Proxy", left: true, sort: (row) => row.proxy, fill: (cell, row) => {
    if (!cell.firstChild) cell.append(make("a", { href: link("proxy", row.proxy), text: row.proxy }));
  } },
  { title: "State", left: true, fill: (cell, row) => {
    if (!cell.firstChild) cell.append(pill());
    showState(cell.firstChild, row.state);
  } },
  { title: "Address", left: true, text: (row) => row.address || "(hidden)", sort: (row) => row.address },
  { title: "Name", left: true, wide: true, text: (row) => row.name || "#" + row.id },
  { title: "Protocol", left: true, text: (row) => (row.quic ? "QUIC" : row.tls ? "TLS" : "clear") },
  { title: "Connections", text: (row) => count(row.connections) + (row.limit ? " / " + count(row.limit) : ""), sort: (row) => row.connections },
  { title: "Most", text: (row) => count(row.peak), sort: (row) => row.peak, wide: true },
  { title: "Threads", text: (row) => row.threads, wide: true },
];
const SOCKETS = [
  { title: "Address", left: true, text: (row) => row.address },
  { title: "Level", left: true, text: (row) => row.level },
];

export function listeners(main) {
  const grid = new Grid({ label: "Listeners", columns: COLUMNS, key: (row) => row.proxy + " " + row.id, empty: "No listener." });
  const sockets = new Grid({ label: "Runtime sockets", columns: SOCKETS, key: (row) => row.address, empty: "None, or not shown on this page." });
  main.append(make("h1", { text: "Listeners", tabindex: "-1" }), grid.element, make("h2", { text: "Runtime sockets" }), sockets.element);
  async function refresh() {
    const data = await ask("listeners");
    grid.show(data.rows);
    sockets.show(data.sockets);
  }
  return { refresh, every: 2000 };
}
