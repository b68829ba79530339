// Makes and changes elements. Text from outside goes in as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";

export const base = document.documentElement.dataset.base;
export const $ = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") element.textContent = value;
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element, name) {
  if (element.className !== name) element.className = name;
}

// The data of a view; an error tells what went wrong in words.
export async function ask(part, options = {}) {
  const query = new URLSearchParams(options).toString();
  const answer = await fetch(base + "/" + part + (query && "?" + query), { cache: "no-store" });
  if (!answer.ok) throw new Error("the answer has status " + answer.status);
  return answer.json();
}
