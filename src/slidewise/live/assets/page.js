// The live page: takes what the server sends, and draws it.

import { Charts } from "./charts.js";
import { $, element, forgetColours, say } from "./dom.js";
import { clock, count, isNumber, plural, secondsOf, size, span } from "./format.js";
import { Signal } from "./signal.js";
import { Table } from "./table.js";

const ROWS = 120;

/** What the server has told, as it was folded there. */
class Store {
  constructor() {
    this.start = null;
    this.end = null;
    this.keys = new Map();
    this.order = [];
    this.pinned = new Set();
    this.last = {};
    this.verdict = null;
  }

  replace(state) {
    this.start = state.start;
    this.keys = new Map(state.keys.map((key) => [key.name, key]));
    this.take(state);
  }

  add(news) {
    for (const { name, key, rows, pending } of news.keys) {
      const known = this.keys.get(name) ?? { key, rows: [] };
      this.keys.set(name, { key, rows: merge(known.rows, rows), pending: pending ?? [] });
    }
    this.take(news);
  }

  take({ end, order, pinned, batches }) {
    this.end = end;
    this.pinned = new Set(pinned);
    for (const name of this.keys.keys()) if (!order.includes(name)) this.keys.delete(name);
    this.order = order.filter((name) => this.keys.has(name));
    for (const [column, values] of Object.entries(batches)) this.last[column] = values.at(-1);
  }

  /** The time of the log: that of a run which is over stands still. */
  now() {
    return this.last.at ?? Date.now() / 1000;
  }

  watermark() {
    return this.last.watermark ?? null;
  }

  ended() {
    return Boolean(this.end) || this.verdict?.kind === "gone";
  }
}

/** Add rows to those of a key; a revision takes the place of what it revises. */
function merge(old, rows) {
  const merged = [...old];
  for (const row of rows) {
    const same = row.revision ? merged.findLastIndex((its) => its.time === row.time && JSON.stringify(its.inputs) === JSON.stringify(row.inputs)) : -1;
    if (same >= 0) merged[same] = row;
    else merged.push(row);
  }
  return merged.slice(-ROWS);
}

const store = new Store();
const charts = new Charts();
const signal = new Signal(store, { pin, closed: (name) => table.select(name) });
const table = new Table(store, { pin, open: (name) => signal.show(name) });

// ---- what the server sends
function listen() {
  const events = new EventSource("events");
  const on = (kind, take) => events.addEventListener(kind, (event) => {
    connected(true);
    take(JSON.parse(event.data));
  });
  on("state", (state) => {
    store.last = {};
    store.replace(state);
    charts.replace(state.batches);
    table.reset();
    describeRun();
    update();
  });
  on("news", (news) => {
    store.add(news);
    if (news.batches.at) charts.add(news.batches);
    table.draw();
    update();
  });
  on("verdict", (verdict) => {
    store.verdict = verdict;
    showVerdict(verdict);
    signal.draw();
  });
  events.addEventListener("open", () => connected(true));
  events.addEventListener("error", () => connected(false));
}

function connected(is) {
  $("connection").dataset.state = is ? "live" : "lost";
  say($("connection"), is ? "live" : "the page’s server is away");
}

function update() {
  showFigures();
  signal.draw();
  const { batch, at } = store.last;
  say($("updated"), at ? `Batch ${batch.toLocaleString("en")} at ${clock(at)}` : "");
  say($("charts-note"), at ? "" : "None yet.");
}

// ---- the head and the verdict
function describeRun() {
  const { start } = store;
  say($("name"), start?.name ?? "slidewise");
  document.title = start ? `${start.name} · slidewise` : "slidewise";
  const facts = start ? [start.mode, start.trigger && `every ${span(start.trigger)}`, start.max_delay && `rows up to ${span(start.max_delay)} late`,
    `since ${clock(secondsOf(start.at))}`] : [];
  say($("facts"), facts.filter(Boolean).join(" · "));
  $("definition").replaceChildren(...(start?.definition ?? "").split("\n").flatMap(colourLine));
  const { columns, rows } = start?.explain ?? { columns: [], rows: [] };
  $("explain").replaceChildren(
    element("thead", {}, element("tr", {}, ...columns.map((text) => element("th", { scope: "col", text })))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((text, k) => element(k ? "td" : "th", k ? { text } : { scope: "row", text }))))));
}

/** A line of YAML: its comment, its key, and the rest. */
function colourLine(line) {
  const [, before, comment] = line.match(/^(.*?(?:^|\s(?=#)))?(#.*)?$/) ?? [null, line, ""];
  const text = comment === undefined ? line : (before ?? "");
  const [, indent = "", name = "", rest = text] = text.match(/^(\s*(?:- )?)([\w.-]+:)(.*)$/) ?? [];
  return [indent, element("span", { class: "yaml-key", text: name }), rest, element("span", { class: "yaml-comment", text: comment ?? "" }), "\n"];
}

function showVerdict({ level, word, text, reasons, kind }) {
  $("verdict").dataset.level = level;
  $("verdict").dataset.kind = kind;
  $("verdict-icon").setAttribute("href", `#icon-${level}`);
  say($("verdict-word"), word);
  say($("verdict-text"), text);
  if ($("verdict-reasons").textContent !== reasons.join("")) {
    $("verdict-reasons").replaceChildren(...reasons.map((reason) => element("li", { text: reason })));
  }
}

function showFigures() {
  const last = store.last;
  const figures = [
    ["rows in", isNumber(last.in_rate) ? `${count(last.in_rate)}/s` : null],
    ["rows out", isNumber(last.out_rate) ? `${count(last.out_rate)}/s` : null],
    ["watermark’s lag", isNumber(last.watermark) ? span(last.at - last.watermark) : null],
    ["state", isNumber(last.state_bytes) ? size(last.state_bytes) : null],
  ];
  $("figures").replaceChildren(...figures.filter(([, text]) => text).map(([label, text]) =>
    element("div", {}, element("dt", { text: label }), element("dd", { class: "number", text }))));
}

// ---- pins
async function pin(name) {
  const key = store.keys.get(name)?.key;
  if (key) await sendPin(key, !store.pinned.has(name));
}

async function sendPin(key, pinned) {
  try {
    const answer = await fetch("pins", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ key, pinned }) });
    if (!answer.ok) toast((await answer.json()).error);
    return answer.ok;
  } catch {
    toast("The page’s server is away: nothing was pinned.");
    return false;
  }
}

$("find").addEventListener("submit", async (event) => {
  event.preventDefault();
  const typed = $("filter").value.trim();
  const [first] = table.shown();
  if (first) table.select(first);
  else if (typed) {
    const several = (store.start?.keys.length ?? 1) > 1;
    const key = several ? typed.split(/[,·]/).map((part) => part.trim()) : [typed];
    if (await sendPin(key, true)) {
      toast(`${typed} is pinned, and shown once it has rows.`);
      $("filter").value = "";
      table.draw();
    }
  }
});

let toasting;
function toast(text) {
  say($("toast"), text);
  $("toast").hidden = false;
  clearTimeout(toasting);
  toasting = setTimeout(() => { $("toast").hidden = true; }, 4000);
}

// ---- dark and light
const dark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : dark.matches;
}

function switchTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("theme", document.documentElement.dataset.theme);
  } catch { /* a browser that keeps nothing */ }
  repaint();
}

function repaint() {
  forgetColours();
  charts.repaint();
  signal.repaint();
}

try {
  const chosen = localStorage.getItem("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* a browser that keeps nothing */ }
dark.addEventListener("change", repaint);
$("theme").addEventListener("click", switchTheme);

// ---- keyboard
$("help-button").addEventListener("click", () => $("help").showModal());
$("help").addEventListener("click", (event) => event.target === $("help") && $("help").close());

function move(step) {
  const current = signal.open ? signal.name : table.selected;
  const next = table.neighbour(current, step);
  if (!next) return;
  if (signal.open) {
    if (next !== current) signal.show(next);
  } else table.select(next);
}

const KEYS = {
  j: () => move(1),
  ArrowDown: () => move(1),
  k: () => move(-1),
  ArrowUp: () => move(-1),
  p: () => pin(signal.open ? signal.name : table.selected),
  Enter: () => table.selected && !signal.open && signal.show(table.selected),
  t: switchTheme,
  "/": () => $("filter").focus(),
  "?": () => $("help").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  const within = event.target.closest?.("input, button, a, pre");
  if (event.target === $("filter")) {
    if (event.key === "Escape" || event.key === "ArrowDown") $("filter").blur();
    if (event.key === "Escape") { $("filter").value = ""; table.draw(); }
    if (event.key !== "ArrowDown") return;
  } else if (within && ["Enter", "ArrowUp", "ArrowDown"].includes(event.key)) return;
  // In an opened key, arrows scroll.
  if (signal.open && event.key.startsWith("Arrow")) return;
  const action = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
  if (!action) return;
  event.preventDefault();
  action();
});

listen();
