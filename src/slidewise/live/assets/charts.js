// The charts of micro-batches, one line or two each, over one axis of time.

import uPlot from "./uplot/uPlot.esm.js";
import { $, colour, element, say } from "./dom.js";
import { count, isNumber, size, span } from "./format.js";

const RANGES = [["15 min", 900], ["1 h", 3600], ["all", Infinity]];
const HEIGHT = 124;
// Steps of an axis of durations, in seconds: those of a clock.
const STEPS = [0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400, 604800];

export const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

const lag = (columns, name) => columns.at.map((at, k) => (isNumber(columns[name][k]) ? at - columns[name][k] : null));

// A line: its label, colour, values, and how a value is written. `filled` is the main one, `dashed` one to compare with.
const CHARTS = [
  { title: "Rows per second", lines: [
    { label: "in", colour: "blue", of: (c) => c.in_rate, write: (v) => `${count(v)}/s`, filled: true },
    { label: "out", colour: "green", of: (c) => c.out_rate, write: (v) => `${count(v)}/s` } ] },
  { title: "Batch duration", lines: [
    { label: "took", colour: "blue", of: (c) => c.seconds, write: span, filled: true },
    { label: "trigger", colour: "muted", of: (c) => c.trigger, write: span, dashed: true } ] },
  { title: "Watermark’s lag", none: "No watermark yet.", lines: [
    { label: "watermark", colour: "purple", of: (c) => lag(c, "watermark"), write: span, filled: true },
    { label: "newest row", colour: "blue", of: (c) => lag(c, "newest"), write: span } ] },
  { title: "State", none: "No state is kept.", lines: [
    { label: "rows", colour: "green", of: (c) => c.state_rows, write: count, filled: true },
    { label: "bytes", colour: "yellow", of: (c) => c.state_bytes, write: size, scale: "bytes" } ] },
  { title: "Rows left out", stacked: true, lines: [
    { label: "late", colour: "orange", of: (c) => c.late, write: count, bars: true },
    { label: "ahead", colour: "purple", of: (c) => c.ahead, write: count, bars: true },
    { label: "untimed", colour: "yellow", of: (c) => c.untimed, write: count, bars: true },
    { label: "unparsed", colour: "red", of: (c) => c.unparsed, write: count, bars: true },
    { label: "in history", colour: "muted", of: (c) => c.in_history, write: count, bars: true } ] },
  { title: "Backlog", none: "The source does not tell what is still to be read.", lines: [
    { label: "to be read", colour: "orange", of: (c) => c.backlog, write: count, filled: true },
    { label: "waiting", colour: "purple", of: (c) => c.waiting, write: count, dashed: true } ] },
];

export class Charts {
  constructor() {
    this.columns = {};
    this.range = 3600;
    this.hovered = null;
    this.charts = CHARTS.map((spec) => new Chart(spec, this));
    $("chart-grid").append(...this.charts.map((chart) => chart.card));
    this.buttons = RANGES.map(([label, seconds]) => {
      const button = element("button", { type: "button", text: label, onclick: () => this.setRange(seconds) });
      return [button, seconds];
    });
    $("range").append(...this.buttons.map(([button]) => button));
    this.setRange(this.range);
  }

  setRange(seconds) {
    this.range = seconds;
    for (const [button, its] of this.buttons) button.setAttribute("aria-pressed", String(its === seconds));
    this.draw();
  }

  replace(columns) {
    this.columns = columns;
    this.draw();
  }

  add(columns) {
    for (const [name, values] of Object.entries(columns)) {
      this.columns[name] = [...(this.columns[name] ?? []), ...values].slice(-2000);
    }
    this.draw();
  }

  draw() {
    const columns = withGaps(this.columns);
    for (const chart of this.charts) chart.draw(columns);
  }

  repaint() {
    for (const chart of this.charts) chart.repaint();
  }

  /** The limits of the axis of time; a young run does not fill it. */
  limits() {
    const at = this.columns.at ?? [];
    const last = at.at(-1) ?? 0;
    const first = Math.max(at[0] ?? 0, last - this.range);
    return [Math.min(first, last - 60), last];
  }

  hover(index) {
    this.hovered = index;
    for (const chart of this.charts) chart.tell(index);
  }
}

/** Put an empty point between two runs, so that no line joins them. */
function withGaps(columns) {
  const runs = columns.run ?? [];
  const breaks = runs.flatMap((run, k) => (k && run !== runs[k - 1] ? [k] : []));
  if (!breaks.length) return columns;
  const gapped = {};
  for (const [name, values] of Object.entries(columns)) {
    gapped[name] = values.flatMap((its, k) => {
      if (!breaks.includes(k)) return [its];
      return [name === "at" ? (values[k - 1] + its) / 2 : null, its];
    });
  }
  return gapped;
}

/** Put bars on top of each other: the first is drawn as high as all of them, and the others over it. */
function stack(lines) {
  return lines.map((_, first) => lines[0].map((__, k) => lines.slice(first).reduce((sum, line) => sum + (line[k] ?? 0), 0) || null));
}

class Chart {
  constructor(spec, all) {
    this.spec = spec;
    this.all = all;
    this.numbers = spec.lines.map(() => element("b", { class: "number" }));
    const legend = spec.lines.map((line, k) => {
      const mark = element("i", { class: `mark ${line.dashed ? "dashed" : ""}`, "aria-hidden": "true" });
      mark.style.color = `var(--${line.colour})`;
      return element("span", {}, mark, element("span", { class: "muted", text: line.label }), this.numbers[k]);
    });
    this.note = element("p", { class: "empty", text: spec.none ?? "", hidden: "" });
    this.plotted = element("div", { class: "plot", role: "img" });
    this.card = element("figure", { class: "card chart" },
      element("figcaption", {}, element("h3", { text: spec.title }), element("div", { class: "key" }, ...legend)),
      this.plotted, this.note);
    this.values = [];
    this.data = null;
    new ResizeObserver(() => this.resize()).observe(this.plotted);
  }

  draw(columns) {
    const at = columns.at ?? [];
    const lines = this.spec.lines.map((line) => (at.length ? line.of(columns) : []));
    this.values = lines;
    this.data = [at, ...(this.spec.stacked ? stack(lines) : lines)];
    const known = lines.some((values) => values.some(isNumber));
    this.note.hidden = known || !at.length || !this.spec.none;
    this.plotted.hidden = !this.note.hidden;
    if (this.plotted.hidden) return;
    if (this.plot) this.plot.setData(this.data);
    else if (this.plotted.clientWidth && at.length) this.build();
    this.tell(this.all.hovered);
  }

  build() {
    this.plot = new uPlot(this.options(), this.data, this.plotted);
  }

  options() {
    const right = this.spec.lines.some((line) => line.scale);
    const bars = uPlot.paths.bars({ size: [0.7, 6] });
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const axis = {
      font, stroke: () => colour("muted"), ticks: { show: false }, gap: 4,
      grid: { stroke: () => colour("line"), width: 1 },
    };
    const y = (scale, side, line) => ({
      ...axis, scale, side, size: 50, space: 30, grid: { ...axis.grid, show: side === 3 },
      values: (_, splits) => splits.map((split) => (split === null ? "" : line.write(split))),
      ...(line.write === span ? { incrs: STEPS } : {}),
    });
    const zeroBased = { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.08] };
    return {
      width: this.plotted.clientWidth, height: HEIGHT, legend: { show: false }, padding: [6, right ? 0 : 24, 0, 0],
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
      scales: { x: { range: () => this.all.limits() }, y: zeroBased, bytes: zeroBased },
      axes: [
        { ...axis, grid: { show: false }, size: 22, space: 64, incrs: TIMES, values: (_, splits, __, ___, step) => writeTimes(splits, step) },
        y("y", 3, this.spec.lines[0]),
        ...(right ? [y("bytes", 1, this.spec.lines.find((line) => line.scale))] : []),
      ],
      series: [{}, ...this.spec.lines.map((line) => ({
        scale: line.scale ?? "y", width: line.bars ? 0 : line.filled ? 1.75 : 1.5, dash: line.dashed ? [5, 4] : undefined,
        stroke: () => colour(line.colour), fill: line.filled || line.bars ? () => colour(line.colour, line.bars ? 1 : 0.1) : undefined,
        paths: line.bars ? bars : undefined, points: { show: false }, spanGaps: false,
      }))],
      cursor: {
        y: false, drag: { x: false, y: false }, sync: { key: "batches" },
        points: { size: 6, width: 0, fill: (_, k) => colour(this.spec.lines[k - 1].colour) },
      },
      hooks: { setCursor: [(plot) => this.all.hover(plot.cursor.left < 0 ? null : plot.cursor.idx)] },
    };
  }

  /** Write the values of a point, or of the last one. */
  tell(index) {
    const texts = this.spec.lines.map((line, k) => {
      const values = this.values[k] ?? [];
      const its = index === null || index === undefined ? values.at(-1) : values[index];
      return isNumber(its) ? line.write(its) : "–";
    });
    texts.forEach((text, k) => say(this.numbers[k], text));
    const told = this.spec.lines.map((line, k) => `${line.label} ${texts[k]}`).join(", ");
    this.plotted.setAttribute("aria-label", `${this.spec.title}: ${told}`);
  }

  resize() {
    const width = this.plotted.clientWidth;
    if (!width) return;
    if (this.plot) this.plot.setSize({ width, height: HEIGHT });
    else if (this.data?.[0].length) this.build();
  }

  repaint() {
    this.plot?.redraw(false);
  }
}

export function writeTimes(splits, step) {
  return splits.map((seconds) => new Date(seconds * 1000).toISOString().slice(11, step < 60 ? 19 : 16));
}
