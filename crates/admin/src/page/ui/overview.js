// The overview: what is wrong, the process in four charts, and one table of proxies and servers.
import { changeButton, offered } from "./actions.js";
import { Chart } from "./chart.js";
import { make, setClass, setText } from "./dom.js";
import { Grid } from "./grid.js";
import { BACKEND, FRONTEND, LISTENER, SERVER, model, secondsSince } from "./model.js";
import { link, note, parse } from "./route.js";
import { PROCESS, pointsOf } from "./series.js";
import { RANKS, pill, rank, showState } from "./states.js";
import { bytes, count, micros, some, span } from "./units.js";

const KINDS = { [FRONTEND]: "frontend", [BACKEND]: "backend", [SERVER]: "server", [LISTENER]: "listener" };

// The sides of a proxy have its name alone.
const shown = (row) => (row.kind === SERVER || row.kind === LISTENER ? row.proxy + "/" + row.name : row.proxy);

function nameCell(cell, row) {
  if (!cell.firstChild) {
    const place = row.kind === SERVER ? link("server", row.proxy, row.name) : link("proxy", row.proxy), text = shown(row);
    const name = make("a", { href: place });
    // A narrow column breaks the name behind the proxy's.
    name.append(...text.split(/(?<=\/)/).flatMap((part, at) => (at ? [make("wbr"), part] : part)));
    cell.append(name, make("small", { text: KINDS[row.kind] + (row.kind === SERVER && row.bck ? ", backup" : "") }));
  }
}

function stateCell(cell, row) {
  if (!cell.firstChild) cell.append(pill());
  showState(cell.firstChild, row.status);
  const since = secondsSince(row.since);
  setText(cell.lastChild === cell.firstChild ? cell.appendChild(make("small")) : cell.lastChild, since === null ? "" : span(since));
}

function actionCell(cell, row) {
  const wanted = offered(row).length > 0;
  if (wanted && !cell.firstChild) cell.append(changeButton(row.proxy, row.name));
  else if (!wanted) cell.replaceChildren();
}

function errorsCell(cell, row) {
  setText(cell, count(row.errors));
  setClass(cell, row.errors > 0 ? "bad" : "");
}

const check = (row) => (row.check ? row.check + (row.code !== null ? "/" + row.code : "") : "");
const sessions = (row) => count(row.scur) + (row.slim ? " / " + count(row.slim) : "");

export const COLUMNS = [
  { title: "State", left: true, fill: stateCell, sort: (row) => rank(row) },
  { title: "Name", left: true, fill: nameCell, sort: shown },
  { title: "Req/s", text: (row) => count(row.rate("req")), sort: (row) => row.rate("req") },
  { title: "Errors/s", fill: errorsCell, sort: (row) => row.errors },
  { title: "p99", text: (row) => micros(row.p99), sort: (row) => row.p99 },
  { title: "Sessions", text: sessions, sort: (row) => row.scur, wide: true },
  { title: "Queued", text: (row) => (row.qcur === null ? "" : count(row.qcur)), sort: (row) => row.qcur, wide: true },
  { title: "Out/s", text: (row) => bytes(row.rate("bout")), sort: (row) => row.rate("bout"), wide: true },
  { title: "Check", left: true, text: check, wide: true },
];
export const ACTION = { title: "Action", left: true, fill: actionCell, wide: true };

// The first cell names a line to those who hear the table: the name goes before the state.
const ordered = () => {
  const [state, name, ...rest] = COLUMNS;
  return [name, state, ...rest].concat(model.data.role === "look" ? [] : ACTION);
};

// The worst first, then in the order of the configuration.
const worst = (a, b) => a.rank - b.rank || a.place - b.place;

export function grid(label) {
  return new Grid({ label, columns: ordered(), key: (row) => row.key, order: worst, empty: "Nothing here has this name." });
}

export function prepared(rows) {
  rows.forEach((row, at) => Object.assign(row, { rank: rank(row), place: at }));
  return rows;
}

const CHARTS = [
  { title: "Requests per second", names: [""], columns: [1], show: count },
  { title: "Connections", names: [""], columns: [2], show: count },
  { title: "Traffic per second", names: ["in", "out"], columns: [3, 4], show: bytes },
  { title: "Error responses per second", names: ["4xx", "5xx"], columns: [5, 6], show: count },
];

export function overview(main) {
  const charts = CHARTS.map((chart) => new Chart(chart));
  const headline = make("ul", { class: "headline" });
  const search = make("input", { type: "search", id: "search", size: "20", placeholder: "proxy or server", accesskey: "s", autocomplete: "off" });
  const only = make("input", { type: "checkbox", id: "only" });
  const found = make("span", { class: "quiet", role: "status" });
  let role = model.data.role, table = grid("Proxies and servers");
  const holder = make("div", {}, table.element);
  const options = parse().options;
  search.value = options.get("q") || "";
  only.checked = options.has("wrong");
  main.append(make("h1", { text: "Overview", tabindex: "-1" }), headline,
    make("section", { class: "charts late", "aria-label": "The whole process" }, charts.map((chart) => chart.element)),
    make("form", { class: "filter", role: "search" },
      make("label", { for: "search", text: "Search" }), search,
      make("label", {}, only, " Only what is wrong"), found), holder);
  main.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", () => {
    note("q", search.value.trim());
    update();
  });
  only.addEventListener("change", () => {
    note("wrong", only.checked ? "1" : "");
    update();
  });

  function update() {
    if (role !== model.data.role) {
      [role, table] = [model.data.role, grid("Proxies and servers")];
      holder.replaceChildren(table.element);
    }
    charts.forEach((chart) => chart.draw(pointsOf(PROCESS), model.data.ms));
    const all = prepared([...model.rows.values()]), words = search.value.trim().toLowerCase();
    const chosen = all.filter((row) => (!only.checked || row.rank < 4) && shown(row).toLowerCase().includes(words));
    setText(found, words || only.checked ? chosen.length + " of " + all.length : some(all.length, "row"));
    table.show(chosen);
    headlines(headline, all);
  }
  return { update };
}

// How many of each rank, each a link to the rows.
function headlines(list, rows) {
  const of = (number, kinds) => rows.filter((row) => row.rank === number && kinds.includes(row.kind)).length;
  const servers = [SERVER], proxies = [FRONTEND, BACKEND];
  const items = RANKS.slice(0, 4).flatMap((name, number) => [
    [of(number, proxies), "proxy", name, number], [of(number, servers), "server", name, number]]).filter(([many]) => many);
  const texts = items.map(([many, kind, name]) => many + " " + (many === 1 ? kind : kind === "proxy" ? "proxies" : "servers") + " " + name);
  if (!texts.length) texts.push("Nothing is wrong");
  while (list.children.length > texts.length) list.lastChild.remove();
  texts.forEach((text, at) => {
    const item = list.children[at] || list.appendChild(make("li"));
    setText(item, text);
    setClass(item, items[at] ? "rank" + items[at][3] : "rank4");
  });
}
