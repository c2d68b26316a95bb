// Elements are built by hand and filled with text, never with markup: whatever the log holds stays text.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  fill(made, properties, children);
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, given] of Object.entries(attributes)) made.setAttribute(name, given);
  made.append(...children);
  return made;
}

function fill(made, properties, children) {
  for (const [name, given] of Object.entries(properties)) {
    if (name === "text") made.textContent = given;
    else if (name === "class") made.className = given;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), given);
    else if (given !== null && given !== undefined) made.setAttribute(name, given);
  }
  made.append(...children);
}

/** Set a text, and leave the element alone where it is the same: a screen reader says only what changes. */
export function say(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

// ---- colours: a canvas wants them resolved
const probe = element("span", { hidden: "" });
let resolved = new Map();

export function colour(name, alpha = 1) {
  if (!probe.isConnected) document.body.append(probe);
  if (!resolved.has(name)) {
    probe.style.color = `var(--${name})`;
    resolved.set(name, getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).join(" "));
  }
  return `rgb(${resolved.get(name)} / ${alpha})`;
}

export function forgetColours() {
  resolved = new Map();
}

/** The colour of the feature at a place, by name. */
export const featureColour = (place) => `feature-${place % 7}`;
