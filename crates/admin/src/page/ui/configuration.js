// The configuration as the process has read it, with file and line.
import { ask, make, setText } from "./dom.js";
import { link, note, parse } from "./route.js";

export const configurationLink = (file, line) => link("configuration", file, String(line));

export function configuration(main, [file, line]) {
  const about = make("p", { class: "quiet" });
  const search = make("input", { type: "search", id: "search", size: "20", placeholder: "part of a line", autocomplete: "off" });
  const body = make("tbody");
  search.value = parse().options.get("q") || "";
  main.append(make("h1", { text: "Configuration", tabindex: "-1" }), about,
    make("form", { class: "filter", role: "search" }, make("label", { for: "search", text: "Search" }), search),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Lines of the configuration" }, make("table", { class: "source" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "left", text: "Place" }), make("th", { scope: "col", class: "left", text: "Line" }))), body)));
  main.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  let lines = [];
  search.addEventListener("input", () => {
    note("q", search.value.trim());
    show();
  });

  // A section whose lines match is named by its own line.
  function show() {
    const words = search.value.trim().toLowerCase();
    let section = null;
    const shown = [];
    for (const it of lines) {
      if (it.opens) section = it;
      if (!it.text.toLowerCase().includes(words)) continue;
      if (section && section !== it && !shown.includes(section)) shown.push(section);
      shown.push(it);
    }
    body.replaceChildren(...shown.map((it) => it.element));
  }

  async function refresh() {
    const data = await ask("configuration");
    lines = data.rows.map(([from, number, text, opens]) => ({ text, opens, element: row(from, number, text, opens, from === file && String(number) === line) }));
    const files = new Set(data.rows.map(([from]) => from)).size;
    if (!data.trusted) setText(about, "The configuration is shown with stats auth or stats show-legends, on a page without stats scope.");
    else setText(about, "As it was read at the start: " + lines.length + " lines of " + files + (files === 1 ? " file" : " files") +
      (data.left_out ? "; " + data.left_out + " more are not kept" : "") + ". Secrets are left out; changes at run time are not in it.");
    show();
    body.querySelector(".chosen")?.scrollIntoView({ block: "center" });
  }
  return { refresh };
}

function row(file, number, text, opens, chosen) {
  const name = [opens && "opens", chosen && "chosen"].filter(Boolean).join(" ") || null;
  return make("tr", { class: name, "aria-current": chosen ? "true" : null },
    make("th", { scope: "row" }, make("a", { href: configurationLink(file, number), text: file.split("/").pop() + ":" + number, title: file })),
    make("td", { class: "left" }, make("code", { text })));
}
