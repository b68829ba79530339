// The page: shows the view that the address names, and keeps it up to date.
import { $, make, setText } from "./dom.js";
import { certificates } from "./certificates.js";
import { configuration } from "./configuration.js";
import { proxyView, serverView } from "./detail.js";
import { errors } from "./errors.js";
import { onFigures, start } from "./feed.js";
import { listeners } from "./listeners.js";
import { model } from "./model.js";
import { overview } from "./overview.js";
import { processView } from "./process.js";
import { reloads } from "./reloads.js";
import { resolvers } from "./resolvers.js";
import { link, parse } from "./route.js";
import { tables } from "./tables.js";
import { count, span } from "./units.js";

// Views by the first word of their address; those with a title are in the navigation.
const VIEWS = [
  ["", "Overview", overview], ["errors", "Errors", errors], ["listeners", "Listeners", listeners],
  ["certificates", "Certificates", certificates], ["resolvers", "Resolvers", resolvers], ["tables", "Stick tables", tables],
  ["configuration", "Configuration", configuration], ["process", "Process", processView], ["reloads", "Reloads", reloads],
  ["proxy", "", proxyView], ["server", "", serverView],
];

let current = null, process = null, timer = 0;

for (const [name, title] of VIEWS.filter(([, title]) => title)) {
  $("views").append(make("a", { href: name ? link(name) : "#/", "data-view": name, text: title }));
}

function show() {
  const { view, words } = parse();
  const found = VIEWS.find(([name]) => name === view) || VIEWS[0];
  clearTimeout(timer);
  if (current && current.end) current.end();
  $("main").replaceChildren();
  for (const item of $("views").children) {
    if (item.dataset.view === found[0]) item.setAttribute("aria-current", "page");
    else item.removeAttribute("aria-current");
  }
  current = found[2]($("main"), words);
  document.title = $("main").querySelector("h1").textContent + " – Weir";
  update();
  refresh(current);
}

// Asks for the content of a view again and again, as long as it is the current one.
async function refresh(view) {
  if (view !== current || !view.refresh) return;
  if (!document.hidden) {
    try {
      await view.refresh();
      $("main").querySelector("#failed")?.remove();
    } catch (error) {
      if (view !== current) return;
      if (!$("main").querySelector("#failed")) $("main").prepend(make("p", { class: "note", id: "failed" }));
      setText($("failed"), "This view could not be read: " + error.message);
    }
  }
  if (view === current && view.every) timer = setTimeout(() => refresh(view), view.every);
}

function update() {
  const { data } = model;
  setText($("about"), (data.version ? data.version + " " : "") + "on " + data.node + ", process " + data.pid + ", up " + span(data.uptime) +
    ", " + count(data.connections) + (data.maxconn ? " of " + count(data.maxconn) : "") + " connections" + (data.stopping ? ", finishing" : ""));
  if (current && current.update) current.update();
}

onFigures(() => {
  if (!model.data) return;
  const other = process !== null && process !== model.data.process;
  const first = process === null;
  process = model.data.process;
  if (first) show();
  else if (other && current && current.refresh) {
    clearTimeout(timer);
    update();
    refresh(current);
  } else update();
});

addEventListener("hashchange", () => {
  if (!model.data || (location.hash && !location.hash.startsWith("#/"))) return;
  show();
  $("main").querySelector("h1").focus();
  scrollTo(0, 0);
});

start();
