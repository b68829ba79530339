// A table whose lines stay in place while their cells change, with columns that can be sorted by.
import { make, setText } from "./dom.js";

// Lines that are shown at once; the rest on demand.
const SHOWN = 200;

// A column: `title`, `text(row)` or `fill(cell, row)`, perhaps `sort(row)`, `left` for words, `wide` for what a
// narrow screen leaves out.
export class Grid {
  constructor({ label, columns, key, empty, order }) {
    Object.assign(this, { columns, key, empty, order, by: null, down: true, all: false, rows: [] });
    this.lines = new Map();
    this.heads = columns.map((column) => this.head(column));
    this.body = make("tbody");
    this.note = make("p", { class: "quiet", hidden: true });
    this.more = make("button", { type: "button", hidden: true });
    this.more.addEventListener("click", () => {
      this.all = true;
      this.show(this.rows);
    });
    this.element = make("div", {},
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
        make("table", {}, make("thead", {}, make("tr", {}, this.heads)), this.body)), this.note, this.more);
  }

  head(column) {
    const name = [column.left && "left", column.wide && "wide"].filter(Boolean).join(" ") || null;
    if (!column.sort) return make("th", { scope: "col", class: name, text: column.title });
    const button = make("button", { type: "button", class: "sort", text: column.title });
    button.addEventListener("click", () => {
      // A third click restores the order of the view.
      if (this.by !== column) [this.by, this.down] = [column, !column.left];
      else if (this.down !== Boolean(column.left)) this.down = !this.down;
      else this.by = null;
      this.show(this.rows);
    });
    return make("th", { scope: "col", class: name }, button);
  }

  sorted(rows) {
    const { by, down, order } = this;
    if (!by) return order ? rows.slice().sort(order) : rows;
    const value = (row) => by.sort(row) ?? (down ? -Infinity : Infinity);
    const compare = (a, b) => (typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : a - b);
    return rows.slice().sort((a, b) => (down ? -1 : 1) * compare(value(a), value(b)));
  }

  show(rows) {
    this.rows = rows;
    const sorted = this.sorted(rows), shown = this.all ? sorted : sorted.slice(0, SHOWN);
    this.heads.forEach((head, at) => {
      const sort = this.by === this.columns[at] ? (this.down ? "descending" : "ascending") : null;
      if (sort) head.setAttribute("aria-sort", sort);
      else head.removeAttribute("aria-sort");
    });
    const keys = new Set(shown.map(this.key));
    for (const [key, line] of this.lines) if (!keys.has(key)) this.drop(key, line);
    shown.forEach((row, at) => this.line(row, at));
    this.note.hidden = rows.length > 0;
    setText(this.note, rows.length ? "" : this.empty);
    this.more.hidden = shown.length === rows.length;
    setText(this.more, "Show all " + rows.length);
  }

  drop(key, line) {
    line.element.remove();
    this.lines.delete(key);
  }

  line(row, at) {
    const key = this.key(row);
    let line = this.lines.get(key);
    if (!line) {
      const cells = this.columns.map((column, place) => {
        const name = [column.left && "left", column.wide && "wide", column.wraps && "wraps"].filter(Boolean).join(" ") || null;
        return make(place ? "td" : "th", { class: name, scope: place ? null : "row" });
      });
      line = { element: make("tr", {}, ...cells), cells };
      this.lines.set(key, line);
    }
    this.columns.forEach((column, place) => {
      if (column.fill) column.fill(line.cells[place], row);
      else setText(line.cells[place], String(column.text(row) ?? ""));
    });
    // A line moves only if it has to, so that a focus in it stays.
    if (this.body.children[at] !== line.element) this.body.insertBefore(line.element, this.body.children[at] || null);
  }
}
