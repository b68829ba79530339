// States of proxies and servers: class, sign and how bad they are.
import { make, setClass, setText } from "./dom.js";
import { FRONTEND } from "./model.js";

// Each state has a sign of its own, so that none is told by its colour alone.
const SIGNS = { up: "▲", turning: "◐", down: "▼", maint: "■", drain: "◆", none: "○" };

export function stateClass(status) {
  if (/^(UP|OPEN|FULL|WAITING)( |$)/.test(status)) return status.includes("/") || /^[FW]/.test(status) ? "turning" : "up";
  if (status.startsWith("MAINT")) return "maint";
  if (status.startsWith("DRAIN") || status.startsWith("NOLB")) return "drain";
  if (status.startsWith("DOWN") || status === "STOP") return status.includes("/") ? "turning" : "down";
  return "none";
}

// Ranks, the worst first: a row that needs somebody is before one that somebody has set aside.
export const RANKS = ["down", "failing", "strained", "set aside", "fine"];

export function rank(row) {
  const state = stateClass(row.status || "");
  if (state === "down") return 0;
  if (row.failing) return 1;
  const full = row.slim && row.scur >= row.slim && row.kind !== FRONTEND;
  if (row.qcur || full || state === "turning") return 2;
  return state === "maint" || state === "drain" ? 3 : 4;
}

// A pill with sign and name of a state.
export function pill() {
  return make("span", { class: "pill none" });
}

export function showState(element, status, rest = "") {
  const state = stateClass(status || "");
  setClass(element, "pill " + state);
  setText(element, SIGNS[state] + " " + (status || "?") + (rest && " " + rest));
}

