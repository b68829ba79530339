// Changes of servers: what may be offered, the dialog that asks, the message that can undo.
//
// An action names the backend, the server and the process that is shown. It takes three steps, none of which a
// single key press or tap can pass: the dialog is opened, an action is chosen, and it is confirmed.
import { $, base, make, setText } from "./dom.js";
import { model, rowsOf, serverRow, SERVER } from "./model.js";
import { stateClass } from "./states.js";
import { some } from "./units.js";

const CHECKED = 1, AGENT = 2, CHECK_OFF = 4, AGENT_OFF = 8, MAINT = 16, DRAIN = 32, TRACKS = 64;
// Milliseconds in which a second tap of a double tap confirms nothing.
const GUARD = 400;

const has = (row, flag) => (row.flags & flag) !== 0;

// An action: its name for the process, its words, its effect, when it is offered, and the action that undoes it.
const admin = (row) => (has(row, MAINT) ? "maint" : has(row, DRAIN) ? "drain" : "ready");
const health = (row) => ({ down: "hdown", drain: "hnolb" })[stateClass(row.status)] || "hrunn";
const forces = (row) => !has(row, TRACKS) && !has(row, MAINT);
const ACTIONS = [
  { name: "ready", words: "Set ready", effect: "It takes sessions again as its health allows.",
    offered: (row) => has(row, MAINT | DRAIN), undo: admin },
  { name: "drain", words: "Drain", effect: "It takes no new sessions; those of persistent clients go on.",
    offered: (row) => !has(row, DRAIN) || has(row, MAINT), undo: admin },
  { name: "maint", words: "Maintenance", effect: "It takes no sessions, and its checks stop.",
    offered: (row) => !has(row, MAINT), undo: admin },
  { name: "dhlth", words: "Stop checks", effect: "Its health is checked no longer.",
    offered: (row) => has(row, CHECKED) && !has(row, CHECK_OFF), undo: () => "ehlth" },
  { name: "ehlth", words: "Start checks", effect: "Its health is checked again.",
    offered: (row) => has(row, CHECKED) && has(row, CHECK_OFF), undo: () => "dhlth" },
  { name: "hrunn", words: "Force up", effect: "It counts as up until a check says otherwise.",
    offered: (row) => forces(row) && health(row) !== "hrunn", undo: health },
  { name: "hnolb", words: "Force no balancing", effect: "Only persistent clients reach it until a check says otherwise.",
    offered: (row) => forces(row) && health(row) !== "hnolb" && !has(row, DRAIN), undo: health },
  { name: "hdown", words: "Force down", effect: "It counts as down until a check says otherwise.",
    offered: (row) => forces(row) && health(row) !== "hdown", undo: health },
  { name: "dagent", words: "Stop agent checks", effect: "Its agent is asked no longer.",
    offered: (row) => has(row, AGENT) && !has(row, AGENT_OFF), undo: () => "eagent" },
  { name: "eagent", words: "Start agent checks", effect: "Its agent is asked again.",
    offered: (row) => has(row, AGENT) && has(row, AGENT_OFF), undo: () => "dagent" },
  { name: "shutdown", words: "End sessions", effect: "All its sessions end now. This cannot be undone.",
    offered: (row) => row.scur > 0, undo: () => null },
];
// For visitors who may drain and nothing else: maintenance stays as it is.
const DRAINS = [
  { name: "stop", words: "Drain", effect: "It takes no new sessions; those of persistent clients go on.",
    offered: (row) => !has(row, DRAIN), undo: () => "start" },
  { name: "start", words: "End draining", effect: "It takes sessions again unless it is down or in maintenance.",
    offered: (row) => has(row, DRAIN), undo: () => "stop" },
];

const list = () => ({ all: ACTIONS, drain: DRAINS })[model.data.role] || [];
export const offered = (row) => (row.kind === SERVER ? list().filter((action) => action.offered(row)) : []);
const wordsOf = (name) => [...ACTIONS, ...DRAINS].find((action) => action.name === name).words;
const target = (row) => row.proxy + "/" + row.name;

const OUTCOMES = { DONE: "done", NONE: "nothing changed", PART: "partly done", ERRP: "refused, there is no such server",
  EXCD: "refused, it is too long", GONE: "refused, the process was replaced meanwhile", DENY: "refused, it is not allowed here" };

async function send(place, action, process) {
  const body = new URLSearchParams({ b: place.proxy, s: place.name, action, process });
  try {
    const answer = await fetch(base + "/act", { method: "POST", body, cache: "no-store" });
    if (!answer.ok) return { text: "refused with status " + answer.status };
    const { outcome } = await answer.json();
    return { done: outcome === "DONE", text: OUTCOMES[outcome] || outcome };
  } catch {
    return { text: "not sent, nothing answers" };
  }
}

async function perform(place, action, process, undo) {
  const { done, text } = await send(place, action, process);
  tell(wordsOf(action) + " " + place.proxy + "/" + place.name + ": " + text, done && undo ? { place, undo, process, action } : null);
}

// A message stays until it is dismissed or replaced, so that there is time to undo.
function tell(text, back) {
  const dismiss = make("button", { type: "button", text: "Dismiss" });
  const message = make("div", { class: "message" }, make("span", { text }), " ");
  if (back) {
    const undo = make("button", { type: "button", class: "undo", text: "Undo: " + wordsOf(back.undo) });
    undo.addEventListener("click", () => {
      message.remove();
      perform(back.place, back.undo, back.process, null);
    });
    message.append(undo, " ");
  }
  dismiss.addEventListener("click", () => message.remove());
  message.append(dismiss);
  $("messages").replaceChildren(message);
}

// A button that opens the dialog of a server; none where nothing may be changed.
export function changeButton(proxy, name) {
  const button = make("button", { type: "button", class: "change", "aria-label": "Change " + proxy + "/" + name, text: "Change" });
  button.addEventListener("click", () => open(proxy, name));
  return button;
}

function open(proxy, name) {
  const row = serverRow(proxy, name);
  if (row && offered(row).length) new ActionDialog(row).show();
}

class ActionDialog {
  constructor(row) {
    Object.assign(this, { place: { proxy: row.proxy, name: row.name }, process: model.data.process, chosen: null });
    this.state = make("p");
    this.body = make("div");
    this.cancel = make("button", { type: "button", text: "Cancel", autofocus: true });
    this.go = make("button", { type: "button", class: "go", text: "Continue", disabled: true });
    this.element = make("dialog", { "aria-labelledby": "dialog-title" },
      make("h2", { id: "dialog-title", text: "Change " + target(row) }), this.state, this.body,
      make("p", { class: "buttons" }, this.cancel, this.go));
    this.cancel.addEventListener("click", () => this.element.close());
    this.go.addEventListener("click", () => this.step());
    this.element.addEventListener("close", () => this.element.remove());
    this.choose(row);
  }

  show() {
    document.body.append(this.element);
    this.element.showModal();
    this.watch = setInterval(() => this.update(), 250);
    this.element.addEventListener("close", () => clearInterval(this.watch));
    this.update();
  }

  // Keeps the present state in view; the dialog ends with the process that it is about.
  update() {
    const row = serverRow(this.place.proxy, this.place.name);
    if (model.data.process !== this.process || !row) {
      this.element.close();
      tell("Nothing was changed: the process was replaced while you chose.", null);
      return;
    }
    setText(this.state, "Now " + row.status + ", " + some(row.scur || 0, "session") + (row.qcur ? ", " + row.qcur + " queued" : "") + ".");
  }

  choose(row) {
    const choices = offered(row).map((action) => {
      const input = make("input", { type: "radio", name: "action", value: action.name });
      input.addEventListener("change", () => {
        this.chosen = action;
        this.go.disabled = false;
      });
      return make("label", {}, input, make("span", {}, make("b", { text: action.words }), " ", make("small", { text: action.effect })));
    });
    this.body.replaceChildren(make("fieldset", {}, make("legend", { text: "Action" }), ...choices));
  }

  step() {
    if (!this.confirming) return this.confirm();
    if (performance.now() - this.confirming < GUARD) return;
    const row = serverRow(this.place.proxy, this.place.name);
    const undo = row ? this.chosen.undo(row) : null;
    this.element.close();
    perform(this.place, this.chosen.name, this.process, undo === this.chosen.name ? null : undo);
  }

  // The second step says what will happen, and has its focus on leaving things as they are.
  confirm() {
    this.confirming = performance.now();
    const row = serverRow(this.place.proxy, this.place.name);
    const others = rowsOf(this.place.proxy).filter((it) => it.kind === SERVER && it.key !== row.key);
    const left = others.filter((it) => ["up", "none", "turning"].includes(stateClass(it.status))).length;
    const takes = ["drain", "stop", "maint", "hnolb", "hdown"].includes(this.chosen.name);
    const rest = !takes ? "" : left ? " " + some(left, "other server") + " of " + row.proxy + " can take over."
      : " No other server of " + row.proxy + " can take over: its clients will get errors.";
    this.body.replaceChildren(make("p", { class: takes && !left ? "warning" : null },
      make("strong", { text: this.chosen.words + " " + target(row) + "?" }), " " + this.chosen.effect + rest));
    setText(this.go, this.chosen.words + " " + target(row));
    this.go.classList.add("confirm");
    this.cancel.focus();
  }
}
