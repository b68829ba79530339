// The rows of the overview as the process has them, and what follows from two answers: rates.
export const FRONTEND = 0, BACKEND = 1, SERVER = 2, LISTENER = 3;

// Counts of a row from which rates are computed.
const COUNTS = ["req", "bin", "bout", "e4xx", "e5xx", "econ", "eresp"];
// Earlier counts of a row that are kept: rates of the table are over so many answers.
const KEPT = 4;
// Milliseconds after which two answers are too far apart for a rate.
const FAR = 10000;
// Milliseconds for which a row that has failed counts as failing.
const FAILING = 10000;

export const model = { data: null, rows: new Map(), columns: [], stamp: "", replaced: 0 };

// Takes an answer; `false`: rows are gone that it does not name, so that all must be asked for.
export function take(data) {
  const other = !model.data || model.data.process !== data.process;
  if (other && model.data) model.replaced++;
  if (data.full) {
    model.columns = data.columns;
    const before = model.rows;
    model.rows = new Map();
    for (const values of data.rows) put(values, other ? new Map() : before);
  } else {
    for (const values of data.rows) put(values, model.rows);
  }
  const far = !model.data || data.ms - model.data.ms > FAR;
  for (const row of model.rows.values()) measure(row, data.ms, far);
  const process = { past: other || far ? [] : model.process.past, req: data.requests };
  measure(process, data.ms, false);
  Object.assign(model, { data, process, stamp: data.stamp });
  return model.rows.size === data.count;
}

// Forgets the counts: those after a pause say nothing about the time between.
export function interrupt() {
  for (const row of model.rows.values()) row.past = [];
  if (model.process) model.process.past = [];
}

// A row is known by its names: numbers are those of other objects after a reload.
function put(values, known) {
  const row = Object.fromEntries(model.columns.map((name, at) => [name, values[at]]));
  row.key = row.kind + " " + row.proxy + "/" + row.name;
  const before = known.get(row.key);
  row.past = before ? before.past : [];
  row.failedAt = before ? before.failedAt : -Infinity;
  model.rows.set(row.key, row);
}

function measure(row, ms, far) {
  if (far) row.past = [];
  const now = { ms };
  for (const name of COUNTS) now[name] = row[name] || 0;
  const last = row.past[row.past.length - 1], first = row.past[0];
  row.rate = (name) => rate(first, now, name);
  row.lately = (name) => rate(last, now, name);
  const errors = (counts) => counts.e5xx + counts.econ + counts.eresp;
  row.errors = first ? grown(errors(first), errors(now)) * 1000 / (ms - first.ms) : null;
  if (last && errors(now) !== errors(last)) row.failedAt = ms;
  row.failing = ms - row.failedAt < FAILING;
  row.past = row.past.slice(1 - KEPT).concat(now);
}

// A count that has shrunk was cleared: then all of it is new.
const grown = (before, now) => (now < before ? now : now - before);

// Growth per second, which takes two answers.
function rate(before, now, name) {
  return before && now.ms > before.ms ? grown(before[name], now[name]) * 1000 / (now.ms - before.ms) : null;
}

export function rowsOf(proxy) {
  return [...model.rows.values()].filter((row) => row.proxy === proxy);
}

export function serverRow(proxy, name) {
  return [...model.rows.values()].find((row) => row.kind === SERVER && row.proxy === proxy && row.name === name);
}

// The row of a proxy as a whole: its servers' side if it has servers.
export function mainRow(proxy) {
  const rows = rowsOf(proxy), side = (kind) => rows.find((row) => row.kind === kind);
  const serves = rows.some((row) => row.kind === SERVER);
  return (serves ? side(BACKEND) : side(FRONTEND)) || side(BACKEND);
}

// The time of day of a moment of the process's clock, in milliseconds since 1970.
export const wallOf = (ms) => model.data.wall - model.data.ms + ms;

// Seconds since a second of the process's clock.
export const secondsSince = (second) => (second === null ? null : Math.floor(model.data.ms / 1000) - second);
