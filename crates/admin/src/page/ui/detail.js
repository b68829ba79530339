// One proxy with its servers, or one server: charts, its table, and all that is known of it.
import { changeButton, offered } from "./actions.js";
import { Chart } from "./chart.js";
import { ask, make, setText } from "./dom.js";
import { SERVER, mainRow, model, rowsOf, secondsSince, serverRow } from "./model.js";
import { grid, prepared } from "./overview.js";
import { link } from "./route.js";
import { pointsOf, want } from "./series.js";
import { pill, showState } from "./states.js";
import { bytes, count, micros, span } from "./units.js";

const CHARTS = [
  { title: "Requests per second", names: [""], columns: [1], show: count },
  { title: "Latency of the last 5 s", names: ["p50", "p99"], columns: [2, 3], show: micros },
  { title: "Queue and sessions", names: ["queued", "sessions"], columns: [4, 5], show: count },
  { title: "Errors per second", names: ["4xx", "5xx", "connect", "response"], columns: [6, 7, 8, 9], show: count },
];
const SPANS = ["handshake", "queue", "connect", "response", "total"];

// Facts that are shown if they are there: words, value, how it is written.
const FACTS = [
  ["Address", "addr"], ["Mode", "mode"], ["Algorithm", "algo"], ["Cookie", "cookie"], ["Tracks", "tracked"],
  ["Sessions", "scur", count], ["Most sessions", "smax", count], ["Limit of sessions", "slim", count],
  ["Sessions in all", "stot", count], ["Requests in all", "req_tot", count], ["Queued", "qcur", count], ["Most queued", "qmax", count],
  ["From clients", "bin", bytes], ["To clients", "bout", bytes], ["Denied requests", "dreq", count],
  ["1xx", "hrsp_1xx", count], ["2xx", "hrsp_2xx", count], ["3xx", "hrsp_3xx", count], ["4xx", "hrsp_4xx", count], ["5xx", "hrsp_5xx", count],
  ["Invalid requests", "ereq", count], ["Failed connections", "econ", count], ["Failed responses", "eresp", count],
  ["Retries", "wretr", count], ["Redispatches", "wredis", count], ["Client aborts", "cli_abrt", count], ["Server aborts", "srv_abrt", count],
  ["Active servers", "act"], ["Backup servers", "bck"], ["Weight", "weight"], ["Failed checks", "chkfail", count],
  ["Times down", "chkdown", count], ["Time down", "downtime", span], ["Last check", "check_status"], ["It said", "last_chk"], ["Agent", "agent_status"],
];

export function proxyView(main, [name]) {
  return view(main, { title: name, key: () => name, row: () => mainRow(name), question: { proxy: name }, name });
}

export function serverView(main, [proxy, name]) {
  const row = () => serverRow(proxy, name);
  return view(main, { title: proxy + "/" + name, key: () => row()?.key, row, question: { proxy, server: name }, proxy, server: name });
}

function view(main, subject) {
  const charts = CHARTS.map((chart) => new Chart(chart));
  const state = make("p", { class: "state" }), mark = pill(), about = make("span");
  const facts = make("div", { class: "sides" }), gone = make("p", { class: "note", hidden: true, role: "status" });
  const change = make("span");
  let table = subject.name ? grid("Servers of " + subject.name) : null, key = subject.key();
  let release = key ? want(key) : () => {};
  const parts = [make("section", { class: "charts", "aria-label": "Charts" }, charts.map((chart) => chart.element)),
    table && make("section", {}, make("h2", { text: "Servers" }), table.element), facts];
  state.append(mark, " ", about, " ", change);
  const back = subject.proxy ? make("a", { href: link("proxy", subject.proxy), text: subject.proxy }) : null;
  main.append(make("p", { class: "crumbs" }, make("a", { href: "#/", text: "Overview" }), back && " / ", back),
    make("h1", { text: subject.title, tabindex: "-1" }), gone, state, ...parts.filter(Boolean));

  function update() {
    const row = subject.row();
    gone.hidden = Boolean(row);
    for (const part of [state, ...parts]) if (part) part.hidden = !row;
    if (!row) return setText(gone, subject.title + " is not there (any more): the configuration was changed or a server was deleted.");
    if (subject.key() !== key) {
      release();
      key = subject.key();
      release = want(key);
    }
    const since = secondsSince(row.since);
    showState(mark, row.status);
    setText(about, (since === null ? "" : "for " + span(since) + ", ") + count(row.rate("req")) + " requests per second, p99 " + micros(row.p99));
    if (subject.server && offered(row).length) {
      if (!change.firstChild) change.append(changeButton(row.proxy, row.name));
    } else change.replaceChildren();
    charts.forEach((chart) => chart.draw(pointsOf(key), model.data.ms));
    if (table) {
      const servers = prepared(rowsOf(subject.name).filter((it) => it.kind === SERVER));
      table.element.parentElement.hidden = !servers.length;
      table.show(servers);
    }
  }

  async function refresh() {
    const { rows } = await ask("detail", subject.question);
    facts.replaceChildren(...rows.map(side));
  }
  return { update, refresh, every: 3000, end: () => release() };
}

function side(row) {
  const items = FACTS.filter(([, name]) => row[name] !== undefined).map(([words, name, show]) =>
    make("div", {}, make("dt", { text: words }), make("dd", { text: show ? show(row[name]) : row[name] })));
  return make("section", { class: "panel" }, make("h2", { text: row.name }), make("dl", { class: "facts" }, ...items),
    latencies(row), checks(row.checks || []));
}

function latencies(row) {
  const spans = SPANS.filter((name) => row.latency[name]);
  if (!spans.length) return null;
  const heads = ["Time since the start", "count", "p50", "p90", "p99"];
  return make("table", { class: "small" },
    make("thead", {}, make("tr", {}, heads.map((text, at) => make("th", { scope: "col", class: at ? null : "left", text })))),
    make("tbody", {}, spans.map((name) => make("tr", {}, make("th", { scope: "row", text: name }),
      row.latency[name].map((value, at) => make("td", { text: at ? micros(value) : count(value) }))))));
}

function checks(list) {
  if (!list.length) return null;
  return make("div", {}, make("h3", { text: "Last checks, the oldest first" }), make("ol", { class: "checks" },
    list.map(([age, code, passed, took]) => make("li", { class: passed ? "passed" : "failed" },
      (passed ? "✓ " : "✗ ") + code, make("small", { text: " " + took + " ms, " + span(age) + " ago" })))));
}
