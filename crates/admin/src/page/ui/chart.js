// A chart: lines over time with an axis, the value under the pointer, and gaps where nothing is known.
import { draw, make, setText } from "./dom.js";
import { feed } from "./feed.js";
import { wallOf } from "./model.js";
import { series } from "./series.js";
import { NONE, clock } from "./units.js";

const WIDTH = 600, HEIGHT = 100;
const TICKS = 5;
// Two points further apart than this many usual distances have a gap between them.
const GAP = 3.5;

// The next round number: 1, 2 or 5 times a power of ten.
export function ceiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) || value;
}

export class Chart {
  // `names` are the lines, `columns` their places in a point, `show` writes a value.
  constructor({ title, names, columns, show }) {
    Object.assign(this, { title, names, columns, show, points: [], at: null });
    this.paths = names.map((_, at) => draw("path", { class: "line s" + at }));
    this.gaps = draw("g", { class: "gaps" });
    this.cursor = draw("line", { class: "cursor", y1: 0, y2: HEIGHT, visibility: "hidden" });
    const grid = [0, 0.5, 1].map((share) => draw("line", { x1: 0, x2: WIDTH, y1: share * HEIGHT, y2: share * HEIGHT }));
    const marks = Array.from({ length: TICKS - 1 }, (_, at) => (at + 1) * WIDTH / TICKS);
    this.svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      draw("g", { class: "grid" }, ...grid, ...marks.map((x) => draw("line", { x1: x, x2: x, y1: 0, y2: HEIGHT }))),
      this.gaps, ...this.paths, this.cursor);
    this.values = names.map(() => make("b"));
    this.when = make("span", { class: "when" });
    this.top = make("span", { class: "top" });
    this.ticks = Array.from({ length: TICKS + 1 }, () => make("span"));
    const legend = names.map((name, at) => make("span", { class: "s" + at }, make("i"), name ? name + " " : "", this.values[at]));
    this.plot = make("div", { class: "plot", tabindex: "0", role: "img" }, this.svg, this.top);
    this.element = make("figure", { class: "chart" },
      make("figcaption", {}, make("span", { class: "title", text: title }), this.when),
      make("div", { class: "legend" }, ...legend), this.plot,
      make("div", { class: "axis", "aria-hidden": "true" }, ...this.ticks));
    this.listen();
  }

  listen() {
    const point = (event) => {
      const box = this.svg.getBoundingClientRect();
      this.select((event.clientX - box.left) / box.width);
    };
    this.plot.addEventListener("pointermove", point);
    this.plot.addEventListener("pointerdown", point);
    this.plot.addEventListener("pointerleave", () => this.select(null));
    this.plot.addEventListener("blur", () => this.select(null));
    this.plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -30, PageDown: 30 }[event.key];
      if (event.key === "Escape") this.select(null);
      if (!step || !this.points.length) return;
      event.preventDefault();
      const now = this.at === null ? this.points.length - 1 : this.place();
      this.at = this.points[Math.min(this.points.length - 1, Math.max(0, now + step))][0];
      this.read();
    });
  }

  // Puts the cursor at the point nearest to a share of the width, or nowhere.
  select(share) {
    if (share === null || !this.points.length) this.at = null;
    else {
      const ms = this.begin + share * (this.end - this.begin);
      this.at = this.points.reduce((best, it) => (Math.abs(it[0] - ms) < Math.abs(best - ms) ? it[0] : best), this.points[0][0]);
    }
    this.read();
  }

  place() {
    const at = this.points.findIndex((it) => it[0] >= this.at);
    return at < 0 ? this.points.length - 1 : at;
  }

  draw(points, end) {
    [this.begin, this.end] = [end - series.seconds * 1000, end];
    this.points = points.filter((it) => it[0] >= this.begin);
    const values = this.points.flatMap((it) => this.columns.map((column) => it[column] ?? 0));
    this.most = ceiling(values.reduce((most, value) => Math.max(most, value), 0));
    const far = Math.max(1000, feed.interval) * GAP;
    this.columns.forEach((column, at) => this.paths[at].setAttribute("d", this.path(column, far)));
    const holes = this.points.slice(1).map((it, at) => [this.points[at][0], it[0]]).filter(([from, to]) => to - from > far);
    if (this.points.length && end - this.points[this.points.length - 1][0] > far) holes.push([this.points[this.points.length - 1][0], end]);
    this.gaps.replaceChildren(...holes.map(([from, to]) =>
      draw("rect", { x: this.x(from).toFixed(1), width: (this.x(to) - this.x(from)).toFixed(1), y: 0, height: HEIGHT })));
    setText(this.top, this.show(this.most));
    const short = series.seconds < 300;
    this.ticks.forEach((tick, at) => setText(tick, clock(wallOf(this.begin + at * series.seconds * 1000 / TICKS), short)));
    this.read();
  }

  x(ms) {
    return (ms - this.begin) / (this.end - this.begin) * WIDTH;
  }

  // A line that ends where a value or an answer is missing. A value alone is a dot.
  path(column, far) {
    let [path, last, alone] = ["", -Infinity, ""];
    for (const it of this.points) {
      const value = it[column];
      if (value === null || value === undefined) {
        last = -Infinity;
        continue;
      }
      const place = this.x(it[0]).toFixed(1) + " " + (HEIGHT - value / this.most * HEIGHT).toFixed(1);
      const joined = it[0] - last <= far;
      if (!joined) path += alone;
      path += (joined ? "L" : "M") + place;
      alone = joined ? "" : "h0.1";
      last = it[0];
    }
    return path + alone;
  }

  // Shows the values under the cursor, the last ones without it.
  read() {
    const at = this.at === null ? this.points.length - 1 : this.place();
    const point = this.points[at];
    this.columns.forEach((column, line) => {
      const value = point && point[column];
      setText(this.values[line], value === null || value === undefined ? NONE : this.show(value));
    });
    setText(this.when, this.at === null || !point ? "" : clock(wallOf(point[0])));
    this.cursor.setAttribute("visibility", this.at === null || !point ? "hidden" : "visible");
    if (point) ["x1", "x2"].forEach((name) => this.cursor.setAttribute(name, this.x(point[0]).toFixed(1)));
    const words = this.names.map((name, line) => (name + " " + this.values[line].textContent).trim());
    const label = this.title + ": " + words.join(", ") + (this.when.textContent && " at " + this.when.textContent);
    this.plot.setAttribute("aria-label", label + ". Arrow keys move through time.");
  }
}
