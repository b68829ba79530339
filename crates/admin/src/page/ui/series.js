// Points of the charts, by subject: the process, and proxies by name. A point has the time of the process's
// clock, so that a time without answers is a gap.
import { FRONTEND, mainRow, model } from "./model.js";

// Proxies whose points are kept without anybody looking at them.
const PROXIES = 64;
const MINUTES = 10;

export const series = { seconds: MINUTES * 60, points: new Map() };
const wanted = new Set();

export const PROCESS = "";

// Keeps the points of a row, for as long as it is looked at.
export function want(key) {
  wanted.add(key);
  return () => wanted.delete(key);
}

export const pointsOf = (subject) => series.points.get(subject) || [];

function append(subject, point) {
  const points = pointsOf(subject);
  const last = points[points.length - 1];
  if (last && point[0] <= last[0]) return;
  points.push(point);
  const oldest = point[0] - series.seconds * 1000;
  while (points[0][0] < oldest) points.shift();
  series.points.set(subject, points);
}

// Adds the present figures.
export function appendAll() {
  const { data, process, rows } = model;
  let [bin, bout, e4xx, e5xx] = [0, 0, 0, 0];
  for (const row of rows.values()) {
    if (row.kind !== FRONTEND) continue;
    bin += row.lately("bin");
    bout += row.lately("bout");
    e4xx += row.lately("e4xx");
    e5xx += row.lately("e5xx");
  }
  const rate = process.lately("req");
  if (rate !== null) append(PROCESS, [data.ms, rate, data.connections, bin, bout, e4xx, e5xx]);
  const names = new Set([...rows.values()].map((row) => row.proxy));
  [...names].slice(0, PROXIES).forEach((name) => appendRow(name, mainRow(name)));
  for (const key of wanted) {
    if (rows.has(key)) appendRow(key, rows.get(key));
    else if (names.has(key)) appendRow(key, mainRow(key));
  }
}

function appendRow(subject, row) {
  const rate = row.lately("req");
  if (rate === null) return;
  const load = row.kind === FRONTEND ? [null, row.scur] : [row.qcur || 0, row.scur || 0];
  const errors = ["e4xx", "e5xx", "econ", "eresp"].map((name) => row.lately(name));
  append(subject, [model.data.ms, rate, row.p50, row.p99, ...load, ...errors]);
}

// Takes what the process remembers: a point a second, the last one just now. Points from before it stay.
export function recall(history) {
  series.seconds = Math.max(MINUTES * 60, history.seconds);
  const { requests, connections, traffic, errors } = history.charts;
  const columns = [requests, connections, traffic || [[], []], errors || [[], []]].flat();
  merge(PROCESS, history.ms, columns);
  for (const { name, charts } of history.proxies) {
    const [p50, , p99] = charts.latency;
    merge(name, history.ms, [...charts.rate, p50, p99, ...charts.load, ...charts.errors]);
  }
}

function merge(subject, ms, columns) {
  const length = columns[0].length, times = (at) => ms - (length - 1 - at) * 1000;
  const kept = pointsOf(subject);
  if (!length) return;
  const older = kept.filter((point) => point[0] < times(0)), newer = kept.filter((point) => point[0] > ms);
  const recalled = Array.from({ length }, (_, at) => [times(at), ...columns.map((column) => column[at] ?? null)]);
  series.points.set(subject, older.concat(recalled.filter((point) => point[1] !== null), newer));
}
