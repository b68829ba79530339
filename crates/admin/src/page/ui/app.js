// The dashboard's script: asks what was drawn before, then for figures about once a second, draws them.
// Never writes markup from what it is told: names and messages go in as text.
"use strict";

let most = 120; // points of a chart
const WINDOW = 5; // seconds that percentiles cover
const base = document.documentElement.dataset.base;
const page = document.documentElement.dataset.page;
const $ = (id) => document.getElementById(id);
const NS = "http://www.w3.org/2000/svg";

let paused = false;
let timed = true; // whether there are histograms
let before = null; // the figures of the last time
const cards = new Map(); // charts by key
const memory = new Map(); // what charts have drawn before the page was opened, by key
const past = new Map(); // earlier counts of a row, for windows

/* ---- small makers ---- */

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/* ---- numbers in words ---- */

function count(number) {
  if (number === null) return "–";
  if (number >= 1e9) return (number / 1e9).toFixed(1) + "G";
  if (number >= 1e6) return (number / 1e6).toFixed(1) + "M";
  if (number >= 1e4) return (number / 1e3).toFixed(1) + "k";
  if (number >= 100 || Number.isInteger(number)) return String(Math.round(number));
  return number.toFixed(1);
}

function bytes(number) {
  if (number === null) return "–";
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (number < 1000) return (number < 10 && unit !== "B" ? number.toFixed(1) : Math.round(number)) + " " + unit;
    number /= 1000;
  }
  return number.toFixed(1) + " TB";
}

function micros(number) {
  if (number === null) return "–";
  if (number < 1000) return Math.round(number) + " µs";
  if (number < 1e6) return (number / 1e3).toFixed(number < 1e4 ? 2 : number < 1e5 ? 1 : 0) + " ms";
  return (number / 1e6).toFixed(2) + " s";
}

function span(seconds) {
  const days = Math.floor(seconds / 86400), hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  if (days) return days + "d" + hours + "h";
  if (hours) return hours + "h" + minutes + "m";
  return minutes ? minutes + "m" + (seconds % 60) + "s" : seconds + "s";
}

/* ---- windows over counts ---- */

// The counts of a row over the last seconds. A rate needs two answers: it is not known from the first one.
// A count that has shrunk was cleared: then all of it is new.
function since(key, now, row) {
  let list = past.get(key);
  if (!list) past.set(key, (list = []));
  const first = list.find((it) => now - it.now <= WINDOW * 1000 + 200) || null;
  const last = list.length ? list[list.length - 1] : null;
  const known = last !== null && now > last.now;
  list.push({ now, row });
  while (list.length > WINDOW + 3) list.shift();
  const rate = (name) => {
    if (!known) return null;
    const value = row[name] || 0, grown = value - (last.row[name] || 0);
    return ((grown < 0 ? value : grown) * 1000) / (now - last.now);
  };
  const old = first || last;
  const spread = (name, shares) => known ? quantiles(row, old.row, name, shares) : shares.map(() => null);
  return { known, rate, quantiles: spread };
}

function quantiles(row, old, name, shares) {
  const buckets = grown((row.latency || {})[name], old && (old.latency || {})[name]);
  const all = buckets.reduce((sum, bucket) => sum + bucket[2], 0);
  return shares.map((share) => {
    if (!all) return null;
    let seen = 0;
    for (const [low, width, number] of buckets) {
      seen += number;
      if (seen >= Math.max(1, Math.ceil(all * share))) return low + width / 2;
    }
    return null;
  });
}

// Buckets come flat: edge, width, count.
function grown(flat = [], old = []) {
  const earlier = new Map();
  for (let at = 0; at < (old || []).length; at += 3) earlier.set(old[at], old[at + 2]);
  const buckets = [];
  for (let at = 0; at < flat.length; at += 3) {
    const was = earlier.get(flat[at]) || 0;
    const number = flat[at + 2] >= was ? flat[at + 2] - was : flat[at + 2];
    if (number) buckets.push([flat[at], flat[at + 1], number]);
  }
  return buckets;
}

/* ---- charts ---- */

// A chart: a title, the present values as a legend, and a line for each series.
class Chart {
  constructor(title, names, show) {
    this.title = title;
    this.names = names;
    this.show = show;
    this.points = names.map(() => []);
    this.svg = document.createElementNS(NS, "svg");
    this.svg.setAttribute("viewBox", "0 0 " + (most - 1) + " 100");
    this.svg.setAttribute("preserveAspectRatio", "none");
    this.svg.setAttribute("role", "img");
    for (const y of [0, 50, 100]) {
      const line = document.createElementNS(NS, "line");
      for (const [name, value] of [["x1", 0], ["x2", most - 1], ["y1", y], ["y2", y]]) line.setAttribute(name, value);
      this.svg.append(line);
    }
    this.values = names.map(() => make("b"));
    this.paths = names.map((_, at) => {
      const path = document.createElementNS(NS, "path");
      path.setAttribute("class", "s" + at);
      this.svg.append(path);
      return path;
    });
    this.top = make("span");
    const legend = names.map((name, at) =>
      make("span", { class: "s" + at }, make("i"), name ? name + " " : "", this.values[at]));
    this.element = make("div", { class: "card" }, make("h3", { text: title }),
      make("div", { class: "now" }, ...legend), this.svg,
      make("div", { class: "axis" }, this.top, make("span", { text: "last " + Math.round(most / 60) + " minutes" })));
  }

  // Begins with what was drawn before, if that is known.
  begin(points) {
    if (points && points.length === this.names.length) this.points = points.map((list) => list.slice(-most));
  }

  add(values) {
    values.forEach((value, at) => {
      this.points[at].push(value);
      if (this.points[at].length > most) this.points[at].shift();
    });
  }

  draw() {
    const all = this.points.flat().filter((value) => value !== null);
    const top = ceiling(Math.max(0, ...all));
    this.points.forEach((points, at) => {
      let path = "", gap = true;
      points.forEach((value, index) => {
        if (value === null) return void (gap = true);
        const x = most - points.length + index, y = 100 - (value / top) * 100;
        path += (gap ? "M" : "L") + x + " " + y.toFixed(1);
        gap = false;
      });
      this.paths[at].setAttribute("d", path);
      const value = points.length ? points[points.length - 1] : null;
      setText(this.values[at], value === null ? "–" : this.show(value));
    });
    setText(this.top, "top " + this.show(top));
    const words = this.names.map((name, at) => (name + " " + this.values[at].textContent).trim());
    this.svg.setAttribute("aria-label", this.title + ": " + words.join(", "));
  }
}

// The next round number: 1, 2 or 5 times a power of ten.
function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) || value;
}

function chart(key, parent, title, names, show) {
  let found = cards.get(key);
  if (!found) {
    cards.set(key, (found = new Chart(title, names, show)));
    found.begin(memory.get(key) || (kept && kept.points[key]));
    parent.append(found.element);
  }
  return found;
}

/* ---- the process ---- */

function overview(data) {
  const parent = $("overview");
  const window = since("/process", data.ms, data);
  const requests = chart("requests", parent, "Requests per second", [""], count);
  const connections = chart("connections", parent, "Connections", ["now"], count);
  const fronts = rowsOf(data, "Frontend").map(([key, row]) => [row, windows.get(key)]);
  const sum = (name) => fronts.reduce((all, [, window]) => all + (window ? window.rate(name) || 0 : 0), 0);
  const traffic = chart("traffic", parent, "Traffic per second", ["in", "out"], bytes);
  const errors = chart("errors", parent, "Errors per second", ["4xx", "5xx"], count);
  if (window.known) {
    requests.add([window.rate("requests")]);
    connections.add([data.connections]);
    traffic.add([sum("bin"), sum("bout")]);
    errors.add([sum("hrsp_4xx"), sum("hrsp_5xx")]);
  }
  [requests, connections, traffic, errors].forEach((it) => it.draw());
  const version = data.version ? data.version + " " : "";
  setText($("about"), version + "on " + data.node + ", process " + data.pid + ", " + data.threads +
    " threads, up " + span(data.uptime) + ", " + count(data.connections) + " of " + count(data.maxconn) + " connections");
}

const windows = new Map(); // the window of each row, of this round

function rowsOf(data, kind) {
  return data.proxies.flatMap((proxy) => proxy.rows.filter((row) => row.kind === kind)
    .map((row) => [keyOf(proxy, row), row]));
}

function keyOf(proxy, row) {
  return proxy.name + "/" + row.kind + "/" + row.name;
}

/* ---- proxies ---- */

function classOf(status) {
  if (/^(UP|OPEN)( |$)/.test(status)) return status.includes("/") ? "turning" : "up";
  if (status.startsWith("no check")) return "none";
  if (status.startsWith("MAINT")) return "maint";
  if (status.startsWith("DRAIN") || status.startsWith("NOLB")) return "drain";
  if (status.startsWith("DOWN")) return "down";
  return status === "STOP" ? "down" : "none";
}

function pill(element, status) {
  setText(element, status);
  element.className = "pill " + classOf(status);
}

const views = new Map(); // by name of the proxy
const unfolded = new Map(); // whether a proxy was open when its view ended, by name

class View {
  constructor(proxy) {
    this.pill = make("span", { class: "pill none" });
    this.sum = make("span", { class: "quiet" });
    this.charts = make("div", { class: "cards" });
    this.body = make("tbody");
    const head = ["Server", "State", "Sessions", "Req/s", "p50", "p99", "Errors/s", "Weight", "Last check", "Checks", ""];
    const classes = { "State": "text", "Errors/s": "wide", "Weight": "wide", "Last check": "text wide", "Checks": "text" };
    const titles = head.map((text) => make("th", { scope: "col", text: text || "Action", class: classes[text] || null }));
    this.table = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Servers of " + proxy.name },
      make("table", {}, make("thead", {}, make("tr", {}, ...titles)), this.body));
    // What only holds a stick table has nothing to draw; of very many only the first are open.
    const idle = proxy.rows.every((row) => row.kind === "Backend" && !row.stot);
    const first = views.size < 20 && !idle;
    this.element = make("details", { class: "proxy", open: unfolded.get(proxy.name) ?? first, id: "px-" + proxy.name },
      make("summary", {}, make("h2", { text: proxy.name }), this.pill, this.sum), this.charts, this.table);
    this.rows = new Map();
    this.keys = new Set(); // keys of its charts
    $("proxies").append(this.element);
  }

  remove(name) {
    unfolded.set(name, this.element.open);
    this.element.remove();
    this.keys.forEach((key) => cards.delete(key));
    views.delete(name);
  }

  show(proxy, now) {
    const front = proxy.rows.find((row) => row.kind === "Frontend");
    const back = proxy.rows.find((row) => row.kind === "Backend");
    const servers = proxy.rows.filter((row) => row.kind === "Server");
    const main = back && (servers.length || !front) ? back : front;
    const window = windows.get(keyOf(proxy, main));
    pill(this.pill, main.status || "?");
    const down = servers.filter((row) => classOf(row.status || "") === "down").length;
    const some = (number, word) => count(number) + " " + word + (number === 1 ? "" : "s");
    const parts = [front && some(front.scur, "session"), servers.length && some(servers.length, "server"),
      down && down + " down", back && back.qcur && count(back.qcur) + " queued"];
    setText(this.sum, parts.filter(Boolean).join(", "));
    this.chart(proxy, main, window);
    this.table.hidden = !servers.length;
    if (this.element.open) servers.forEach((row) => this.server(proxy, row, main));
    const names = new Set(servers.map((row) => row.name));
    for (const [name, line] of this.rows) if (!names.has(name)) { line.element.remove(); this.rows.delete(name); }
  }

  chart(proxy, row, window) {
    const http = row.mode === "http";
    const drawn = [];
    const at = (part, title, names, show, values) => {
      const key = proxy.name + ":" + part, found = chart(key, this.charts, title, names, show);
      this.keys.add(key);
      drawn.push(found);
      if (window.known) found.add(values());
    };
    at("rate", http ? "Requests per second" : "Sessions per second", [""], count,
      () => [window.rate(http ? "req_tot" : "stot")]);
    if (timed) {
      at("latency", "Latency of the last 5 s", ["p50", "p90", "p99"], micros,
        () => window.quantiles("total", [0.5, 0.9, 0.99]));
    }
    if (row.kind === "Backend") {
      at("load", "Queue and sessions", ["queued", "sessions"], count, () => [row.qcur || 0, row.scur || 0]);
    }
    at("errors", "Errors per second", ["4xx", "5xx", "connect", "response"], count,
      () => ["hrsp_4xx", "hrsp_5xx", "econ", "eresp"].map((name) => window.rate(name)));
    if (this.element.open) drawn.forEach((it) => it.draw());
  }

  server(proxy, row, back) {
    let line = this.rows.get(row.name);
    if (!line) {
      line = new Line(proxy, row);
      this.rows.set(row.name, line);
      this.body.append(line.element);
    }
    line.show(row, windows.get(keyOf(proxy, row)));
  }
}

// A server's line.
class Line {
  constructor(proxy, row) {
    this.cells = Array.from({ length: 9 }, (_, at) => make("td", { class: [5, 6, 7].includes(at) ? "wide" : null }));
    this.pill = make("span", { class: "pill none" });
    this.cells[0].className = "text";
    this.cells[0].append(this.pill);
    this.cells[7].className = "text wide";
    this.cells[8].className = "text";
    this.checks = make("span", { class: "checks", role: "img" });
    this.cells[8].append(this.checks);
    this.element = make("tr", {}, make("th", { scope: "row", text: row.name }), ...this.cells, make("td", {}, ...actions(proxy, row)));
  }

  show(row, window) {
    const status = row.status || "?";
    pill(this.pill, status + (row.lastchg !== undefined ? " " + span(row.lastchg) : ""));
    this.pill.className = "pill " + classOf(status);
    this.element.classList.toggle("is-down", classOf(status) === "down");
    const [p50, p99] = window.quantiles("total", [0.5, 0.99]);
    const failed = ["hrsp_5xx", "econ", "eresp"].reduce((sum, name) => sum + window.rate(name), 0);
    const errors = window.known ? failed : null;
    const texts = [count(row.scur || 0) + (row.slim ? " / " + count(row.slim) : ""),
      count(window.rate(row.mode === "tcp" ? "stot" : "req_tot")), micros(p50), micros(p99), count(errors),
      (row.weight ?? "–") + (row.uweight !== row.weight ? " / " + row.uweight : "") + (row.bck ? " backup" : "")];
    texts.forEach((text, at) => setText(this.cells[at + 1], text));
    const code = row.check_code !== undefined ? "/" + row.check_code : "";
    const took = row.check_duration !== undefined ? " in " + row.check_duration + " ms" : "";
    setText(this.cells[7], row.check_status ? row.check_status + code + took : "–");
    this.cells[7].title = [row.check_desc, row.last_chk].filter(Boolean).join(": ");
    this.strip(row.checks || []);
  }

  strip(checks) {
    const bad = checks.filter((it) => !it[2]).length;
    this.checks.setAttribute("aria-label", checks.length + " checks, " + bad + " failed");
    while (this.checks.childElementCount > checks.length) this.checks.lastChild.remove();
    checks.forEach(([age, code, passed, took], at) => {
      const mark = this.checks.children[at] || this.checks.appendChild(make("i"));
      mark.className = passed ? "" : "bad";
      mark.title = code + " in " + took + " ms, " + span(age) + " ago";
    });
  }
}

/* ---- changes ---- */

const ACTIONS = [["", "Action…"], ["ready", "Ready"], ["drain", "Drain"], ["maint", "Maintenance"],
  ["dhlth", "Disable checks"], ["ehlth", "Enable checks"], ["hrunn", "Health: up"], ["hnolb", "Health: no LB"],
  ["hdown", "Health: down"], ["shutdown", "Kill sessions"]];

// An action is chosen, applied and confirmed: no single key press or click changes a server.
function actions(proxy, row) {
  const target = proxy.name + "/" + row.name;
  const select = make("select", { "aria-label": "Action on " + target },
    ...ACTIONS.map(([value, text]) => make("option", { value, text })));
  const apply = make("button", { type: "button", disabled: true, "aria-label": "Apply to " + target, text: "Apply" });
  select.addEventListener("change", () => (apply.disabled = !select.value));
  apply.addEventListener("click", async () => {
    const action = select.value, words = select.selectedOptions[0].textContent, shown = before.process;
    select.value = "";
    apply.disabled = true;
    if (!action) return;
    const agreed = confirm(words + ": " + target + "?");
    tell(words + " " + target + ": " + (agreed ? await change(proxy, row, action, shown) : "not confirmed"));
  });
  return [select, " ", apply];
}

const ANSWERS = { DONE: "done", NONE: "nothing changed", PART: "partly done", ERRP: "not understood",
  EXCD: "too much at once", GONE: "refused, the process was replaced meanwhile", DENY: "not allowed here (stats admin)", UNKN: "unknown" };

// A number may be another backend's after a reload: the request names the backend, and the process that is shown.
async function change(proxy, row, action, process) {
  const body = new URLSearchParams({ s: row.name, action, b: proxy.name, process });
  try {
    const answer = await fetch(page, { method: "POST", body, redirect: "follow" });
    const word = /;st=([A-Z]+)/.exec(answer.url);
    return word ? ANSWERS[word[1]] || word[1] : answer.ok ? "sent" : "refused with " + answer.status;
  } catch (error) {
    return "not sent";
  }
}

let telling = 0;
function tell(text) {
  setText($("told"), text);
  clearTimeout(telling);
  telling = setTimeout(() => setText($("told"), ""), 6000);
}

/* ---- stick tables ---- */

const tables = new Map();

function showTables(data) {
  $("tables").hidden = !data.tables.length;
  for (const table of data.tables) {
    let view = tables.get(table.name);
    if (!view) {
      view = { used: make("span", { class: "quiet" }), body: make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Entries of " + table.name }) };
      view.element = make("details", { class: "proxy" }, make("summary", {}, make("h2", { text: table.name }), view.used), view.body);
      view.element.addEventListener("toggle", () => talkers(table.name));
      tables.set(table.name, view);
      $("tables").append(view.element);
    }
    setText(view.used, table.type + ", " + count(table.used) + " of " + count(table.size));
  }
  const names = new Set(data.tables.map((table) => table.name));
  for (const [name, view] of tables) if (!names.has(name)) { view.element.remove(); tables.delete(name); }
}

async function talkers(name) {
  const view = tables.get(name);
  if (!view.element.open || view.asked) return;
  view.asked = true;
  try {
    const data = await (await fetch(base + "/top?table=" + encodeURIComponent(name))).json();
    const head = make("tr", {}, ...["Key", ...data.columns].map((text) => make("th", { scope: "col", text })));
    const rows = data.entries.map(([key, ...values]) =>
      make("tr", {}, make("th", { scope: "row", text: key }), ...values.map((value) => make("td", { text: count(value) }))));
    const caption = (data.order ? "by " + data.order : "") + (data.looked_at < data.used ? ", of " + count(data.looked_at) + " entries looked at" : "");
    view.body.replaceChildren(make("table", {}, make("caption", { class: "quiet", text: caption }), make("thead", {}, head), make("tbody", {}, ...rows)));
  } catch (error) {
    setText(view.body, "No answer.");
  }
  view.asked = false;
}

/* ---- what was before ---- */

const STORE = "weir " + base;
const LEFT = 120; // points that this tab leaves for after a reload, of what the server does not remember

// The points of all charts as they were when this tab left the page, with a gap for the time since.
function restored() {
  try {
    const store = JSON.parse(sessionStorage.getItem(STORE));
    const gap = Array(Math.min(LEFT, Math.round((Date.now() - store.at) / 1000))).fill(null);
    for (const lists of Object.values(store.points))
      lists.forEach((list, at) => (lists[at] = list.concat(gap).slice(-LEFT)));
    return store;
  } catch {
    return null;
  }
}

addEventListener("pagehide", () => {
  if (!before) return;
  const last = (card) => card.points.map((list) => list.slice(-LEFT));
  const points = Object.fromEntries([...cards].map(([key, card]) => [key, last(card)]));
  try {
    sessionStorage.setItem(STORE, JSON.stringify({ process: before.process, at: Date.now(), points }));
  } catch {
    // No room, or not allowed: the charts begin anew.
  }
});

let kept = restored();

// What the server remembers (tune.history). Without it the charts begin with what this tab has seen.
async function recall() {
  try {
    const answer = await fetch(base + "/history", { cache: "no-store" });
    if (!answer.ok) return;
    const data = await answer.json();
    most = Math.max(most, data.seconds);
    const put = (prefix, charts) =>
      Object.entries(charts).forEach(([part, lists]) => lists[0].length && memory.set(prefix + part, lists));
    put("", data.charts);
    data.proxies.forEach((proxy) => put(proxy.name + ":", proxy.charts));
  } catch (error) {
    // The round says so if nothing answers.
  }
}

// A page that is hidden or paused does not ask: what it has missed is recalled when it goes on. Its last
// counts are too old for a rate.
async function resume() {
  past.clear();
  await recall();
  for (const [key, card] of cards) card.begin(memory.get(key));
  memory.clear();
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !paused && before) resume();
});

/* ---- the round ---- */

// The figures of another process: counts begin anew, and a name may mean something else. Charts keep their
// points; what was chosen and not applied is dropped.
function renew() {
  for (const [key, card] of cards) if (!memory.has(key)) memory.set(key, card.points);
  for (const [name, view] of views) view.remove(name);
  $("overview").replaceChildren();
  cards.clear();
  past.clear();
}

// Removes what the process no longer has.
function forget(data) {
  const names = new Set(data.proxies.map((proxy) => proxy.name));
  for (const [name, view] of views) if (!names.has(name)) view.remove(name);
  for (const key of past.keys()) if (key !== "/process" && !windows.has(key)) past.delete(key);
}

function show(data) {
  if (kept && kept.process !== data.process) kept = null; // those of another process
  if (before && before.process !== data.process) renew();
  timed = data.histograms;
  $("untimed").hidden = timed;
  windows.clear();
  for (const proxy of data.proxies) {
    for (const row of proxy.rows) windows.set(keyOf(proxy, row), since(keyOf(proxy, row), data.ms, row));
  }
  overview(data);
  const scope = $("scope").value.toLowerCase();
  for (const proxy of data.proxies) {
    if (!views.has(proxy.name)) views.set(proxy.name, new View(proxy));
    const view = views.get(proxy.name);
    view.element.hidden = !proxy.name.toLowerCase().includes(scope);
    view.show(proxy, data.ms);
  }
  forget(data);
  unfolded.clear();
  showTables(data);
  memory.clear();
  before = data;
}

// A slow answer makes the next question later, so that a large configuration is not asked without rest.
async function round() {
  const begun = performance.now();
  if (!paused && !document.hidden) {
    try {
      const answer = await fetch(base + "/figures", { cache: "no-store" });
      if (!answer.ok) throw new Error("status " + answer.status);
      show(await answer.json());
      setText($("state"), "live");
      $("state").className = "";
    } catch (error) {
      setText($("state"), "no figures: " + error.message);
      $("state").className = "lost";
    }
    if (Math.round(begun / 1000) % 5 === 0) for (const name of tables.keys()) talkers(name);
  }
  const took = performance.now() - begun;
  setTimeout(round, Math.max(1000 - took, took * 4));
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  setText($("pause"), paused ? "Go on" : "Pause");
  if (paused) setText($("state"), "paused");
  else if (before) resume();
});
$("scope").addEventListener("input", () => before && views.forEach((view, name) => {
  view.element.hidden = !name.toLowerCase().includes($("scope").value.toLowerCase());
}));
recall().then(round);
