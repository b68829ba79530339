// Fetches the figures about once a second and notifies the rest of the page.
import { $, ask, setClass, setText } from "./dom.js";
import { interrupt, model, take } from "./model.js";
import { appendAll, recall } from "./series.js";
import { span } from "./units.js";

const PERIOD = 1000;
const readers = new Set();
let paused = false, seen = 0, lost = "", missed = false;

export const feed = { interval: PERIOD };

export function onFigures(reader) {
  readers.add(reader);
  return () => readers.delete(reader);
}

async function remember() {
  try {
    recall(await ask("history"));
  } catch {
    // The next question says so if nothing answers.
  }
}

async function figures() {
  if (!model.data) await remember();
  else if (missed) {
    interrupt();
    await remember();
  }
  missed = false;
  const before = model.data && model.data.process;
  let data = await ask("figures", { since: model.stamp });
  if (!take(data)) {
    data = await ask("figures");
    take(data);
  }
  // The history of a new process begins with it; what was drawn before stays.
  if (before && before !== data.process) await remember();
  appendAll();
}

// A slow answer makes the next question later, so that a large configuration is not asked without rest.
async function round() {
  const begun = performance.now();
  if (paused || document.hidden) missed = true;
  else {
    try {
      await figures();
      [lost, seen] = ["", performance.now()];
    } catch (error) {
      lost = error.message;
    }
    [...readers].forEach(show);
  }
  showState();
  const took = performance.now() - begun;
  feed.interval = Math.max(PERIOD, took * 5);
  setTimeout(round, feed.interval - took);
}

// A view that fails does not end the questions.
function show(reader) {
  try {
    reader();
  } catch (error) {
    console.error(error);
    lost = "the page failed: " + error.message;
  }
}

function showState() {
  const age = seen ? ", figures are " + span((performance.now() - seen) / 1000) + " old" : "";
  setText($("state"), lost ? "No answer (" + lost + ")" + age : paused ? "Paused" : seen ? "Live" : "Waiting…");
  setClass($("state"), lost ? "lost" : paused ? "paused" : "live");
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  setText($("pause"), paused ? "Go on" : "Pause");
  showState();
});

export const start = round;
