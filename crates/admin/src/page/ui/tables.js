// Stick tables, and the entries of one with the most of what it counts.
import { ask, make, setText } from "./dom.js";
import { Grid } from "./grid.js";
import { link } from "./route.js";
import { count, some } from "./units.js";

const COLUMNS = [
  { title: "Table", left: true, sort: (row) => row.name, fill: (cell, row) => {
    if (!cell.firstChild) cell.append(make("a", { href: link("tables", row.name), text: row.name }));
  } },
  { title: "Type", left: true, text: (row) => row.type },
  { title: "Used", text: (row) => count(row.used), sort: (row) => row.used },
  { title: "Size", text: (row) => count(row.size), sort: (row) => row.size },
  { title: "Full", text: (row) => Math.round(row.used / row.size * 100) + " %", sort: (row) => row.used / row.size },
];

export function tables(main, [name]) {
  return name ? talkers(main, name) : all(main);
}

function all(main) {
  const grid = new Grid({ label: "Stick tables", columns: COLUMNS, key: (row) => row.name, empty: "No stick table." });
  main.append(make("h1", { text: "Stick tables", tabindex: "-1" }), grid.element);
  async function refresh() {
    const data = await ask("tables");
    grid.empty = data.trusted ? "There is no stick table." : "Entries name clients: stick tables are shown with stats auth or stats show-legends.";
    grid.show(data.rows);
  }
  return { refresh, every: 3000 };
}

function talkers(main, name) {
  const about = make("p", { class: "quiet" }), holder = make("div");
  main.append(make("p", { class: "crumbs" }, make("a", { href: link("tables"), text: "Stick tables" })),
    make("h1", { text: name, tabindex: "-1" }), about, holder);
  async function refresh() {
    const data = await ask("top", { table: name });
    if (!data.name) {
      holder.replaceChildren();
      return setText(about, "There is no such table on this page.");
    }
    setText(about, "The " + some(data.entries.length, "entry").replace("entrys", "entries") + (data.order ? " with most " + data.order : "") +
      " of " + count(data.used) + (data.looked_at < data.used ? "; the first " + count(data.looked_at) + " were looked at" : ""));
    const columns = [{ title: "Key", left: true, text: (row) => row[0] },
      ...data.columns.map((title, at) => ({ title, text: (row) => count(row[at + 1]) }))];
    const grid = new Grid({ label: "Entries of " + name, columns, key: (row) => row[0], empty: "It has no entry." });
    grid.show(data.entries);
    holder.replaceChildren(grid.element);
  }
  return { refresh, every: 3000 };
}
