// Numbers and times as people read them. An unknown value is a dash.
export const NONE = "–";

const known = (number) => number !== null && number !== undefined;

export function count(number) {
  if (!known(number)) return NONE;
  if (number >= 1e9) return (number / 1e9).toFixed(1) + "G";
  if (number >= 1e6) return (number / 1e6).toFixed(1) + "M";
  if (number >= 1e4) return (number / 1e3).toFixed(1) + "k";
  if (number >= 100 || Number.isInteger(number)) return String(Math.round(number));
  return number.toFixed(1);
}

export function bytes(number) {
  if (!known(number)) return NONE;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (number < 1000) return (number < 10 && unit !== "B" ? number.toFixed(1) : Math.round(number)) + " " + unit;
    number /= 1000;
  }
  return number.toFixed(1) + " TB";
}

export function micros(number) {
  if (!known(number)) return NONE;
  if (number < 1000) return Math.round(number) + " µs";
  if (number < 1e6) return (number / 1e3).toFixed(number < 1e4 ? 2 : number < 1e5 ? 1 : 0) + " ms";
  return (number / 1e6).toFixed(2) + " s";
}

// The two largest units of a time.
export function span(seconds) {
  if (!known(seconds)) return NONE;
  seconds = Math.max(0, Math.round(seconds));
  const units = [["d", Math.floor(seconds / 86400)], ["h", Math.floor(seconds / 3600) % 24],
    ["m", Math.floor(seconds / 60) % 60], ["s", seconds % 60]];
  const first = units.findIndex(([, number]) => number > 0);
  if (first < 0) return "0s";
  return units.slice(first, first + 2).filter(([, number]) => number > 0).map(([unit, number]) => number + unit).join(" ");
}

const two = (number) => String(number).padStart(2, "0");

// The time of day of a moment in milliseconds since 1970.
export function clock(wall, seconds = true) {
  const date = new Date(wall);
  return two(date.getHours()) + ":" + two(date.getMinutes()) + (seconds ? ":" + two(date.getSeconds()) : "");
}

export function moment(wall) {
  const date = new Date(wall);
  return date.getFullYear() + "-" + two(date.getMonth() + 1) + "-" + two(date.getDate()) + " " + clock(wall);
}

export function some(number, word) {
  return count(number) + " " + word + (number === 1 ? "" : "s");
}
