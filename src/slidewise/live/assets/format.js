// Numbers, sizes and times as a person reads them; live/words.py writes the same.

const PREFIXES = ["", "k", "M", "G", "T", "P"];

const round = (number, digits) => Number(number.toFixed(digits));
const trimmed = (number, digits) => String(round(number, digits));

export function count(number) {
  let step = 0;
  while (Math.abs(round(number / 1000 ** step, 1)) >= 1000 && step < PREFIXES.length - 1) step += 1;
  const scaled = number / 1000 ** step;
  return trimmed(scaled, Math.abs(scaled) >= 99.95 ? 0 : 1) + PREFIXES[step];
}

export function size(number) {
  const text = count(number);
  const digits = text.replace(/[kMGTP]$/, "");
  return `${digits} ${text.slice(digits.length)}B`;
}

export function span(seconds) {
  if (seconds < 0) return `-${span(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 0.1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 1) return `${trimmed(seconds, 2)} s`;
  if (seconds < 9.95) return `${trimmed(seconds, 1)} s`;
  const whole = Math.floor(seconds + 0.5);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return twoUnits(whole, 60, "min", 10, 1, "s");
  if (whole < 86400) return twoUnits(whole, 3600, "h", 24, 60, "min");
  return twoUnits(whole, 86400, "d", 7, 3600, "h");
}

function twoUnits(whole, length, name, most, part, partName) {
  const many = Math.floor(whole / length);
  const few = Math.floor((whole % length) / part);
  return `${many} ${name}` + (few && many < most ? ` ${few} ${partName}` : "");
}

/** A time of day in UTC, with its date where that is not the day of `now`. */
export function clock(seconds, now = Date.now() / 1000) {
  const text = new Date(Math.floor(seconds) * 1000).toISOString();
  const today = new Date(now * 1000).toISOString().slice(0, 10) === text.slice(0, 10);
  return today ? text.slice(11, 19) : `${text.slice(0, 10)} ${text.slice(11, 19)}`;
}

/** An ISO time as seconds since 1970, or null; one without a zone is in UTC. */
export function secondsOf(text) {
  if (typeof text !== "string" || !/^\d{4}-/.test(text)) return null;
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text.replace(" ", "T")}Z`;
  const time = Date.parse(zoned);
  return Number.isNaN(time) ? null : time / 1000;
}

/** The own property of an object from the log: a feature may be called "constructor". */
export const own = (object, name) => (object && Object.hasOwn(object, name) ? object[name] : undefined);

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** How many decimals the numbers of a column need to be read side by side. */
export function decimalsOf(values) {
  const numbers = values.filter(isNumber);
  const largest = Math.max(...numbers.map(Math.abs));
  const most = largest >= 10000 ? 0 : largest >= 1000 ? 1 : largest >= 0.1 ? 2 : 4;
  for (let decimals = 0; decimals < most; decimals += 1) {
    if (numbers.every((number) => round(number, decimals) === number)) return decimals;
  }
  return most;
}

/** A value of a row or a result, of any type. */
export function value(given, decimals = 2) {
  if (given === null || given === undefined) return "–";
  if (typeof given === "number") {
    const large = Math.abs(given);
    if (large >= 1e9 || (large > 0 && large < 1e-4)) return given.toExponential(3);
    return given.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  }
  return typeof given === "string" ? given : JSON.stringify(given);
}

/** A key in words: its values. */
export const keyText = (key) => key.map((part) => (part === null ? "null" : typeof part === "string" ? part : JSON.stringify(part))).join(" · ");

export const plural = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
