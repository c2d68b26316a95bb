// The windows' values: a line per key, a cell per feature with its newest result and a sparkline of the last ones.

import { $, element, featureColour, say, svg } from "./dom.js";
import { clock, decimalsOf, isNumber, keyText, own, plural, secondsOf, value } from "./format.js";

const LAST = 40;
const WIDTH = 72;
const HEIGHT = 20;

export class Table {
  /** `actions` has open(name) and pin(name). */
  constructor(store, actions) {
    this.store = store;
    this.actions = actions;
    this.lines = new Map();
    this.selected = null;
    $("filter").addEventListener("input", () => this.draw());
    $("rows").addEventListener("focusin", (event) => this.select(event.target.closest("tr")?.dataset.name, false));
  }

  /** The names of the keys that are shown, in order. */
  shown() {
    const wanted = $("filter").value.trim().toLowerCase();
    return this.store.order.filter((name) => keyText(this.store.keys.get(name).key).toLowerCase().includes(wanted));
  }

  /** Begin anew: the features may be others. */
  reset() {
    this.lines.clear();
    $("rows").replaceChildren();
    const features = this.store.start?.features ?? [];
    const heads = features.map((feature) => element("th", { role: "columnheader", scope: "col", title: feature.text },
      element("span", { text: feature.name }), element("small", { text: feature.text })));
    const keys = (this.store.start?.keys ?? ["key"]).join(" · ");
    $("head").replaceChildren(element("th", { role: "columnheader", scope: "col" }, element("span", { text: keys })),
      element("th", { role: "columnheader", scope: "col", class: "when" }, element("span", { text: "newest row" })), ...heads);
    this.draw();
  }

  draw() {
    const names = this.shown();
    const body = $("rows");
    for (const [name, line] of this.lines) {
      if (!names.includes(name)) {
        line.row.remove();
        this.lines.delete(name);
      }
    }
    const features = this.store.start?.features ?? [];
    const results = (feature) => names.flatMap((name) => lastResults(this.store.keys.get(name).rows, feature.name));
    this.decimals = features.map((feature) => decimalsOf(results(feature)));
    names.forEach((name, place) => {
      if (!this.lines.has(name)) this.lines.set(name, this.build(name));
      const { row } = this.lines.get(name);
      if (body.children[place] !== row) body.insertBefore(row, body.children[place] ?? null);
      this.update(name);
    });
    if (!names.includes(this.selected)) this.selected = null;
    for (const [name, { row }] of this.lines) {
      row.tabIndex = name === (this.selected ?? names[0]) ? 0 : -1;
      row.setAttribute("aria-selected", String(name === this.selected));
    }
    this.describe(names);
  }

  describe(names) {
    const typed = $("filter").value.trim();
    const pinned = names.filter((name) => this.store.pinned.has(name)).length;
    const some = names.length ? plural(names.length, "key", "keys") : "";
    say($("keys-note"), some && pinned ? `${some}, ${pinned} pinned` : some);
    $("table").hidden = !names.length;
    $("empty").hidden = Boolean(names.length);
    say($("empty"), typed ? `No such key among the newest. Pin “${typed}” to see it as soon as it has rows.` : "No values yet.");
    $("pin-typed").hidden = Boolean(names.length) || !typed;
  }

  build(name) {
    const key = this.store.keys.get(name).key;
    const pin = element("button", { class: "pin", type: "button", tabindex: "-1", onclick: (event) => {
      event.stopPropagation();
      this.actions.pin(name);
    } }, svg("svg", { class: "icon", "aria-hidden": "true" }, svg("use", { href: "#icon-pin" })));
    const when = element("span", { class: "number" });
    const wait = element("small", {});
    const features = this.store.start?.features ?? [];
    const cells = features.map((feature, place) => new Cell(feature, place));
    const row = element("tr", { role: "row", tabindex: "-1", onclick: () => this.actions.open(name) },
      element("th", { role: "rowheader", scope: "row" }, pin, element("span", { class: "name", text: keyText(key) })),
      element("td", { role: "gridcell", class: "when" }, when, wait), ...cells.map((cell) => cell.root));
    row.dataset.name = name;
    return { row, pin, when, wait, cells };
  }

  update(name) {
    const { row, pin, when, wait, cells } = this.lines.get(name);
    const { key, rows, pending } = this.store.keys.get(name);
    const pinned = this.store.pinned.has(name);
    row.classList.toggle("pinned", pinned);
    pin.setAttribute("aria-pressed", String(pinned));
    pin.setAttribute("aria-label", `${pinned ? "Unpin" : "Pin"} ${keyText(key)}`);
    const newest = secondsOf(rows.at(-1)?.time);
    say(when, newest === null ? "–" : clock(newest, this.store.now()));
    say(wait, pending.length ? `${pending.length} waiting` : "");
    cells.forEach((cell, place) => cell.update(rows, this.decimals[place]));
  }

  // ---- keyboard
  select(name, focus = true) {
    if (!name || !this.lines.has(name)) return;
    this.selected = name;
    for (const [its, { row }] of this.lines) {
      row.tabIndex = its === name ? 0 : -1;
      row.setAttribute("aria-selected", String(its === name));
    }
    if (focus) {
      this.lines.get(name).row.focus({ preventScroll: true });
      this.lines.get(name).row.scrollIntoView({ block: "nearest" });
    }
  }

  /** The key before or after one, which stays where there is no other. */
  neighbour(name, step) {
    const names = this.shown();
    const place = names.indexOf(name);
    return names[place < 0 ? 0 : Math.min(names.length - 1, Math.max(0, place + step))];
  }
}

class Cell {
  constructor(feature, place) {
    this.name = feature.name;
    this.number = element("span", { class: "number" });
    this.line = svg("polyline", { class: "spark-line" });
    this.area = svg("polygon", { class: "spark-area" });
    this.dot = svg("circle", { r: 1.8, class: "spark-dot" });
    this.spark = svg("svg", { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" }, this.area, this.line, this.dot);
    this.spark.style.color = `var(--${featureColour(place)})`;
    this.root = element("td", { role: "gridcell", "data-label": feature.name }, this.spark, this.number);
  }

  update(rows, decimals) {
    const results = lastResults(rows, this.name);
    const text = value(results.at(-1), decimals);
    if (this.number.textContent !== text) {
      if (this.number.textContent) flash(this.root);
      this.number.textContent = text;
    }
    const points = sparkPoints(results);
    this.spark.classList.toggle("none", points.length < 2);
    if (points.length < 2) return;
    const drawn = points.map((point) => point.join(",")).join(" ");
    this.line.setAttribute("points", drawn);
    this.area.setAttribute("points", `${points[0][0]},${HEIGHT} ${drawn} ${points.at(-1)[0]},${HEIGHT}`);
    this.dot.setAttribute("cx", points.at(-1)[0]);
    this.dot.setAttribute("cy", points.at(-1)[1]);
  }
}

const lastResults = (rows, name) => rows.slice(-LAST).map((row) => own(row.results, name));

function sparkPoints(results) {
  const numbers = results.filter(isNumber);
  const low = Math.min(...numbers);
  const range = Math.max(...numbers) - low;
  const step = (WIDTH - 4) / Math.max(1, numbers.length - 1);
  return numbers.map((number, k) => {
    const height = range ? (number - low) / range : 0.5;
    return [round(1 + k * step), round(HEIGHT - 3 - height * (HEIGHT - 6))];
  });
}

const round = (number) => Math.round(number * 10) / 10;

function flash(target) {
  target.classList.remove("fresh");
  requestAnimationFrame(() => target.classList.add("fresh"));
}
