// The last requests that failed, each with what `show why` says of it.
import { ask, make, setText } from "./dom.js";
import { configurationLink } from "./configuration.js";
import { link, note, parse } from "./route.js";
import { micros, moment } from "./units.js";

export function errors(main, [chosen]) {
  const about = make("p", { class: "quiet" }), list = make("ol", { class: "failures" });
  const search = make("input", { type: "search", id: "search", size: "28", placeholder: "request, client or backend", autocomplete: "off" });
  search.value = parse().options.get("q") || "";
  main.append(make("h1", { text: "Errors", tabindex: "-1" }), about,
    make("form", { class: "filter", role: "search" }, make("label", { for: "search", text: "Search" }), search), list);
  main.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  const lines = new Map();
  let rows = [];
  search.addEventListener("input", () => {
    note("q", search.value.trim());
    show();
  });

  async function refresh() {
    const data = await ask("failures");
    rows = data.rows;
    if (!data.trusted) setText(about, "Failed requests name clients: they are shown with stats auth or stats show-legends.");
    else if (!data.kept) setText(about, "Nothing is remembered: tune.why is off.");
    else setText(about, rows.length ? "The last failed requests, the newest first. Those of clients' own making (4xx) are not among them." : "No request has failed.");
    show();
  }

  function show() {
    const words = search.value.trim().toLowerCase();
    const shown = rows.filter((row) => row.story.toLowerCase().includes(words));
    const ids = new Set(shown.map((row) => row.id));
    for (const [id, line] of lines) if (!ids.has(id)) lines.delete(id) && line.remove();
    shown.forEach((row, at) => {
      if (!lines.has(row.id)) lines.set(row.id, failure(row, row.id === chosen));
      const line = lines.get(row.id);
      if (list.children[at] !== line) list.insertBefore(line, list.children[at] || null);
    });
  }
  return { refresh, every: 2000 };
}

function failure(row, open) {
  const where = [row.backend || row.frontend, row.server].filter(Boolean).join("/");
  const details = make("details", { open },
    make("summary", {}, make("time", { text: moment(row.at) }), " ", make("b", { class: "status", text: row.status || "no status" }), " ",
      make("span", { class: "request", text: row.request }), " ", make("span", { class: "quiet", text: where + ", " + row.why })),
    make("pre", { text: row.story }),
    make("p", {}, make("a", { href: link("errors", row.id), text: "Link to this request" }),
      row.file ? [", ", make("a", { href: configurationLink(row.file, row.line), text: "the rule in " + row.file + ":" + row.line })] : "",
      ", ended with " + row.state + " after " + micros(row.took)));
  return make("li", { id: "failure-" + row.id }, details);
}
