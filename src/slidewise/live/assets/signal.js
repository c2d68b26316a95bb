// A key opened: its signal, the results of its rows, and the windows of one row shaded; and why rows still wait.

import uPlot from "./uplot/uPlot.esm.js";
import { TIMES, writeTimes } from "./charts.js";
import { $, colour, element, featureColour, say } from "./dom.js";
import { clock, decimalsOf, isNumber, keyText, own, plural, secondsOf, span, value } from "./format.js";

const TALL = 260;
const LOW = 76;
const NEWEST_ROWS = 8;
const WAITING_ROWS = 5;

export class Signal {
  constructor(store, actions) {
    this.store = store;
    this.actions = actions;
    this.name = null;
    this.input = null;
    this.plots = [];
    $("key-close").addEventListener("click", () => $("key").close());
    $("key-pin").addEventListener("click", () => actions.pin(this.name));
    $("key").addEventListener("close", () => this.closed());
    $("key").addEventListener("click", (event) => event.target === $("key") && $("key").close());
    new ResizeObserver(() => this.resize()).observe($("signal"));
  }

  get open() {
    return $("key").open;
  }

  show(name) {
    this.name = name;
    this.hovered = null;
    this.layout = null;
    if (!this.open) $("key").showModal();
    this.draw();
    $("key").scrollTop = 0;
  }

  closed() {
    this.destroy();
    this.actions.closed(this.name);
    this.name = null;
  }

  destroy() {
    for (const { plot } of this.plots) plot.destroy();
    this.plots = [];
    this.layout = null;
    $("signal").replaceChildren();
  }

  /** Draw what is known now; the plots are built anew only where other lines belong to them. */
  draw() {
    const key = this.name === null ? null : this.store.keys.get(this.name);
    if (!this.open) return;
    if (!key) {
      $("key").close();
      return;
    }
    const start = this.store.start;
    say($("key-title"), keyText(key.key));
    say($("key-columns"), (start?.keys ?? []).join(" · "));
    const pinned = this.store.pinned.has(this.name);
    $("key-pin").setAttribute("aria-pressed", String(pinned));
    say($("key-pin").querySelector("span"), pinned ? "Pinned" : "Pin");
    this.data = new KeyData(key, start?.features ?? [], this.input);
    this.input = this.data.input;
    this.drawInputs();
    const layout = JSON.stringify([this.name, this.input, this.data.groups.map((group) => group.map((line) => line.name))]);
    if (layout !== this.layout) {
      this.destroy();
      this.layout = layout;
      this.build();
    } else {
      this.plots.forEach(({ plot }, k) => plot.setData(this.data.tables[k]));
    }
    this.tell();
    this.explain(key);
    this.list(key);
  }

  drawInputs() {
    const names = this.data.drawn;
    $("key-inputs").hidden = names.length < 2;
    const buttons = names.map((name) => element("button", { type: "button", text: name, "aria-pressed": String(name === this.input),
      onclick: () => {
        this.input = name;
        this.draw();
      } }));
    if ($("key-inputs").textContent !== names.join("") || $("key-inputs").querySelector("[aria-pressed=true]")?.textContent !== this.input) {
      $("key-inputs").replaceChildren(...buttons);
    }
  }

  build() {
    const width = $("signal").clientWidth;
    this.plots = this.data.groups.map((lines, k) => {
      const root = element("div", { class: "strip", role: "img" });
      if (!lines.some((line) => line.dots)) root.append(element("h4", { text: lines.map((line) => line.name).join(", ") }));
      $("signal").append(root);
      return { root, plot: new uPlot(this.options(lines, k, width), this.data.tables[k], root) };
    });
  }

  options(lines, k, width) {
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const axis = { font, stroke: () => colour("muted"), ticks: { show: false }, gap: 4, grid: { stroke: () => colour("line"), width: 1 } };
    const last = k === this.data.groups.length - 1;
    const decimals = decimalsOf(lines.flatMap((line) => line.values));
    return {
      width, height: (k ? LOW : TALL) + (last ? 22 : 0), legend: { show: false }, padding: [8, 12, last ? 0 : 6, 0],
      scales: {
        x: { range: () => this.data.limits },
        y: { range: (_, low, high) => (low === null ? [0, 1] : k ? widen(low, high, 0.2, 0.3) : widen(low, high, 0.1, 0.38)) },
      },
      axes: [
        { ...axis, show: last, grid: { show: false }, size: 22, space: 70, incrs: TIMES, values: (_, splits, __, ___, step) => writeTimes(splits, step) },
        { ...axis, size: 52, space: k ? 24 : 36, values: (_, splits) => splits.map((split) => value(split, splits.every(Number.isInteger) ? 0 : Math.max(1, decimals))) },
      ],
      series: [{}, ...lines.map((line) => this.series(line, k))],
      cursor: { y: false, drag: { x: false, y: false }, sync: { key: "signal" }, points: { size: 7, width: 0, fill: (_, i) => colour(lines[i - 1].colour) } },
      hooks: {
        drawClear: [(plot) => this.shade(plot)],
        draw: k ? [] : [(plot) => this.label(plot)],
        setCursor: [(plot) => this.hover(plot.cursor.left < 0 ? null : plot.cursor.idx)],
      },
    };
  }

  series(line, k) {
    const stroke = () => colour(line.colour);
    if (line.dots) {
      const hollow = line.dots === "hollow";
      return { stroke, paths: () => null, points: { show: true, size: hollow ? 6 : 4.5, width: hollow ? 1.4 : 0, stroke, fill: hollow ? () => colour("card") : () => colour(line.colour, 0.75) } };
    }
    return { stroke, width: 1.75, paths: k ? uPlot.paths.stepped({ align: 1 }) : undefined, points: { show: false },
      gaps: (plot, _, from, to, gaps) => this.data.breakLines(plot, from, to, gaps),
      fill: k ? () => colour(line.colour, 0.1) : undefined };
  }

  hover(index) {
    if (index !== null && index >= this.data.rows.length) index = null;
    if (index === this.hovered) return;
    this.hovered = index;
    for (const { plot } of this.plots) plot.redraw(false);
    this.tell();
  }

  /** The row whose windows are shaded: the one under the cursor, or the newest. */
  get focus() {
    return this.hovered ?? this.data.rows.length - 1;
  }

  /** Shade the windows of the row in focus, and what is after the watermark. */
  shade(plot) {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    const right = bbox.left + bbox.width;
    const x = (seconds) => Math.min(right, Math.max(bbox.left, plot.valToPos(seconds, "x", true)));
    ctx.save();
    const watermark = this.store.watermark();
    if (watermark !== null && watermark < this.data.limits[1]) {
      const from = x(watermark);
      ctx.fillStyle = colour("muted", 0.07);
      ctx.fillRect(from, bbox.top, right - from, bbox.height);
      ctx.strokeStyle = colour("muted", 0.6);
      ctx.setLineDash([4 * ratio, 4 * ratio]);
      ctx.lineWidth = ratio;
      ctx.beginPath();
      ctx.moveTo(from, bbox.top);
      ctx.lineTo(from, bbox.top + bbox.height);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    for (const { from, to, name } of this.data.windowsOf(this.focus)) {
      ctx.fillStyle = colour(name, 0.08);
      ctx.fillRect(x(from), bbox.top, x(to) - x(from), bbox.height);
    }
    ctx.restore();
  }

  /** Write how long the windows of the row in focus are. */
  label({ ctx, bbox, valToPos }) {
    const right = bbox.left + bbox.width;
    const ratio = devicePixelRatio;
    ctx.save();
    this.data.windowsOf(this.focus).forEach(({ from, to, name, label }, place) => {
      const [left, end] = [valToPos(from, "x", true), valToPos(to, "x", true)];
      const y = bbox.top + bbox.height - (8 + 18 * place) * ratio;
      bracket(ctx, Math.max(left, bbox.left), Math.min(end, right), left >= bbox.left, y, colour(name), label, ratio);
    });
    ctx.restore();
  }

  tell() {
    const { rows, features } = this.data;
    const row = rows[this.focus];
    if (!row) {
      say($("key-focus"), "No results yet.");
      $("legend").replaceChildren();
      return;
    }
    const when = this.data.times[this.focus];
    const which = this.hovered === null ? "The newest result" : "The row under the cursor";
    say($("key-focus"), `${which}, of ${when === null ? "an unknown time" : clock(when, this.store.now())}: its windows are shaded.`);
    const items = features.map((feature, place) => {
      const swatch = element("i", { class: "mark", "aria-hidden": "true" });
      swatch.style.color = `var(--${featureColour(place)})`;
      const results = rows.map((its) => own(its.results, feature.name));
      return element("li", {}, swatch, element("span", { class: "name", text: feature.name }),
        element("b", { class: "number", text: value(own(row.results, feature.name), decimalsOf(results)) }),
        element("small", { class: "muted", text: feature.text }));
    });
    const inputs = this.data.inputs.map((name) => {
      const swatch = element("i", { class: "mark dot", "aria-hidden": "true" });
      swatch.style.color = "var(--signal)";
      return element("li", {}, swatch, element("span", { class: "name", text: name }),
        element("b", { class: "number", text: value(own(row.inputs, name), decimalsOf(rows.map((its) => own(its.inputs, name)))) }),
        element("small", { class: "muted", text: "of the row itself" }));
    });
    $("legend").replaceChildren(...inputs, ...items);
    this.plots.forEach(({ root }, k) => {
      const told = this.data.groups[k].map((line) => `${line.name} ${value(line.values[this.focus])}`).join(", ");
      root.setAttribute("aria-label", `At ${when === null ? "?" : clock(when, this.store.now())}: ${told}`);
    });
  }

  /** Say why rows of this key have no results yet. */
  explain(key) {
    const now = this.store.now();
    const watermark = this.store.watermark();
    const pending = key.pending.slice(0, WAITING_ROWS);
    const told = this.store.verdict?.waiting ?? [];
    $("why").hidden = !told.length && !pending.length;
    const last = secondsOf(key.rows.at(-1)?.time ?? null);
    const latest = last === null ? "" : ` The last of this key that was emitted is of ${clock(last, now)}.`;
    say($("why-text"), `${told.join(" ")}${latest}`);
    $("why-rows").replaceChildren(...pending.map((row) => {
      const [time, due] = [secondsOf(row.time), secondsOf(row.due)];
      const left = watermark !== null && due !== null ? Math.max(0, due - watermark) : null;
      const ends = due === null ? "its windows are not full yet" : `its windows end at ${clock(due, now)}`;
      const more = left === null ? "" : left > 0 ? `, ${span(left)} after the watermark` : ": it comes with the next micro-batch";
      return element("li", {}, element("b", { class: "number", text: time === null ? "–" : clock(time, now) }), ` ${ends}${more}`);
    }));
    const others = key.pending.length - pending.length;
    if (others) $("why-rows").append(element("li", { class: "muted", text: `and ${plural(others, "later row", "later rows")}` }));
  }

  list(key) {
    const now = this.store.now();
    const { inputs, features } = this.data;
    const rows = key.rows.slice(-NEWEST_ROWS).reverse();
    const decimals = (field, name) => decimalsOf(key.rows.map((row) => own(row[field], name)));
    const cell = (text) => element("td", { class: "number", text });
    const head = element("tr", {}, ...[this.store.start?.time ?? "time", ...inputs, ...features.map((feature) => feature.name)]
      .map((text) => element("th", { scope: "col", text })));
    $("key-rows").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows.map((row) => {
      const time = secondsOf(row.time);
      return element("tr", {}, cell(time === null ? "–" : clock(time, now)),
        ...inputs.map((name) => cell(value(own(row.inputs, name), decimals("inputs", name)))),
        ...features.map(({ name }) => cell(value(own(row.results, name), decimals("results", name)))));
    })));
  }

  resize() {
    const width = $("signal").clientWidth;
    if (width) for (const { plot } of this.plots) plot.setSize({ width, height: plot.height });
  }

  repaint() {
    for (const { plot } of this.plots) plot.redraw(false);
  }
}

/** The rows of a key as tables for plots: the signal with the features that fit its scale, and a strip for each other. */
class KeyData {
  constructor(key, features, wanted) {
    const timed = key.rows.filter((row) => secondsOf(row.time) !== null);
    this.rows = timed.toSorted((a, b) => secondsOf(a.time) - secondsOf(b.time));
    this.times = this.rows.map((row) => secondsOf(row.time));
    this.features = features;
    const pending = key.pending.filter((row) => secondsOf(row.time) !== null).toSorted((a, b) => secondsOf(a.time) - secondsOf(b.time));
    this.inputs = [...new Set([...this.rows, ...pending].flatMap((row) => Object.keys(row.inputs)))];
    const numeric = (name) => this.rows.some((row) => isNumber(own(row.inputs, name)));
    this.drawn = this.inputs.filter(numeric);
    this.input = this.drawn.includes(wanted) ? wanted : (this.drawn[0] ?? null);
    const times = [...this.times, ...pending.map((row) => secondsOf(row.time))];
    const first = times[0] ?? 0;
    const last = times.at(-1) ?? 1;
    this.limits = [first, last + Math.max(1, 0.015 * (last - first))];
    this.groups = this.group(pending);
    this.tables = this.groups.map((lines) => [times, ...lines.map((line) => line.values)]);
  }

  group(pending) {
    const padded = (values) => [...values, ...pending.map(() => null)];
    const numbers = (values) => values.map((its) => (isNumber(its) ? its : null));
    const signal = numbers(this.rows.map((row) => own(row.inputs, this.input)));
    const waiting = numbers(pending.map((row) => own(row.inputs, this.input)));
    const main = [];
    const strips = [];
    const known = signal.filter(isNumber);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const room = 0.5 * (high - low || 1);
    this.features.forEach((feature, place) => {
      const values = numbers(this.rows.map((row) => own(row.results, feature.name)));
      const its = values.filter(isNumber);
      if (!its.length) return;
      const fits = known.length && Math.min(...its) >= low - room && Math.max(...its) <= high + room;
      const reads = !feature.of || feature.of.includes(this.input);
      const line = { name: feature.name, colour: featureColour(place), values: padded(values) };
      if (fits && reads) main.push(line);
      else strips.push([line]);
    });
    if (known.length || waiting.some(isNumber)) {
      main.unshift({ name: this.input, colour: "signal", dots: "full", values: padded(signal) });
      main.push({ name: "waiting", colour: "signal", dots: "hollow", values: [...signal.map(() => null), ...waiting] });
    }
    return main.length ? [main, ...strips] : strips;
  }

  /** Break lines where the key was silent for long, as measured by its usual pauses. */
  breakLines(plot, from, to, gaps) {
    const pauses = this.times.slice(1).map((time, k) => time - this.times[k]);
    const long = 8 * (pauses.toSorted((a, b) => a - b)[Math.floor(pauses.length / 2)] ?? 0);
    for (let k = from; k < Math.min(to, pauses.length); k += 1) {
      if (long && pauses[k] > long) {
        uPlot.addGap(gaps, Math.round(plot.valToPos(this.times[k], "x", true)), Math.round(plot.valToPos(this.times[k + 1], "x", true)));
      }
    }
    return gaps;
  }

  /** The different windows of a row, the narrowest first. */
  windowsOf(place) {
    const at = this.times[place];
    if (at === undefined) return [];
    const windows = new Map();
    this.features.forEach((feature, k) => {
      if (!isNumber(feature.back) && !isNumber(feature.ahead)) return;
      const [back, ahead] = [feature.back ?? 0, feature.ahead ?? 0];
      const rows = feature.unit === "rows";
      const from = rows ? this.times[Math.max(0, place - back)] : at - back;
      const to = rows ? this.times[Math.min(this.times.length - 1, place + ahead)] : at + ahead;
      const label = rows ? plural(back + ahead + 1, "row", "rows") : span(back + ahead);
      if (!windows.has(label)) windows.set(label, { from, to, label, name: featureColour(k) });
    });
    return [...windows.values()].toSorted((a, b) => b.to - b.from - (a.to - a.from)).slice(0, 4).reverse();
  }
}

/** Leave room above and below; below the signal are the brackets of its windows. */
function widen(low, high, above, below) {
  const range = high - low || Math.abs(high) || 1;
  return [low - range * below, high + range * above];
}

/** Draw how far a window reaches; one that begins before the picture is open on its left. */
function bracket(ctx, left, right, whole, y, stroke, label, ratio) {
  const tick = 3 * ratio;
  ctx.strokeStyle = stroke;
  ctx.fillStyle = stroke;
  ctx.lineWidth = 1.4 * ratio;
  ctx.beginPath();
  if (whole) {
    ctx.moveTo(left, y - tick);
    ctx.lineTo(left, y + tick);
  }
  ctx.moveTo(left, y);
  ctx.lineTo(right, y);
  ctx.moveTo(right, y - tick);
  ctx.lineTo(right, y + tick);
  ctx.stroke();
  ctx.font = `600 ${11 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textBaseline = "bottom";
  ctx.textAlign = "left";
  const room = ctx.measureText(label).width;
  ctx.fillText(label, Math.min(left + 4 * ratio, right - room), y - 2 * ratio);
}
