import { tickIncrement } from "d3-array";
import { quoteName } from "../text/quote.js";
import { boundText } from "./bounds.js";
import {
  type ChartField,
  isFloat,
  isInteger,
  roleOf,
  unitsPerSecond,
  valueType,
} from "./fields.js";

/**
 * Ranges of equal width over a column, numbered by integers. The SQL puts each row into the bin whose
 * bounds, compared as a predicate compares them, contain its value.
 */
export interface Bins {
  /** The number of the first bin, and of the one after the last. */
  from: number;
  to: number;
  isTime: boolean;
  /** The width of a bin as a text: `month`, `10`. */
  width: string;
  /** Whether each bin holds a single integer. */
  isSingle: boolean;
  /** SQL for the bin's number; null for null, NaN and infinities. */
  sql: string;
  /** The lower bound of a bin: a number, or milliseconds since 1970. */
  at(bin: number): number;
  /** The lower bound as an exact value of a predicate. */
  text(bin: number): string;
  /** The lower bound as it is displayed, if that differs from its text. */
  label?(bin: number): string;
}

/** The minimum and maximum of a column as texts; times as integers of their unit. */
export interface Extent {
  low: string;
  high: string;
}

/** SQL for a column's value as {@link Extent} has it; null for values that no axis can show. */
export function extentSql(field: ChartField): string {
  const column = quoteName(field.name);
  if (roleOf(field) === "time") return `arrow_cast(${column}, 'Int64')`;
  if (!isFloat(field)) return column;
  return `CASE WHEN ${finite(column)} THEN CAST(${column} AS DOUBLE) END`;
}

/** About `count` bins over a column's extent. */
export function binsOf(field: ChartField, { low, high }: Extent, count: number): Bins {
  if (roleOf(field) === "time") return timeBins(field, BigInt(low), BigInt(high), count);
  if (isInteger(field)) {
    const span = BigInt(high) - BigInt(low);
    if (span < 1n << 62n) return integerBins(field, BigInt(low), BigInt(high), count);
  }
  return numberBins(field, Number(low), Number(high), count);
}

/** The value of a predicate's bound: a number, or milliseconds since 1970. */
export function boundValue(bins: Bins, text: string): number {
  if (!bins.isTime) return Number(text);
  // Date.parse reads a date as UTC, but a time without a zone as the browser's local time.
  const isZoneless = text.includes("T") && !/(Z|[+-]\d\d:?\d\d)$/.test(text);
  return Date.parse(isZoneless ? `${text}Z` : text);
}

/** SQL that is false for NaN and infinities; NaN compares greater than infinity. */
function finite(column: string): string {
  const infinity = (sign: string) => `arrow_cast('${sign}inf', 'Float64')`;
  return `CAST(${column} AS DOUBLE) > ${infinity("-")} AND CAST(${column} AS DOUBLE) < ${infinity("")}`;
}

/**
 * Bounds are k × step or k ÷ divisor of integers, so that they are the doubles nearest to their
 * decimal texts, here and at the server. Division rounds, so values are compared with both bounds.
 */
function numberBins(field: ChartField, low: number, high: number, count: number): Bins {
  const spread = high > low ? high - low : Math.max(Math.abs(low) / 10, 1e-300);
  const least = Math.max(Math.abs(low), Math.abs(high)) * 2 ** -40;
  const increment = tickIncrement(0, Math.max(spread, least * count), count) || 1;
  const [step, divisor] = increment > 0 ? [increment, 1] : [1, -increment];
  const at = (bin: number) => (divisor === 1 ? bin * step : bin / divisor);
  const column = `CAST(${quoteName(field.name)} AS DOUBLE)`;
  const value = isFloat(field) ? `CASE WHEN ${finite(column)} THEN ${column} END` : column;
  const scale = `arrow_cast('${divisor === 1 ? step : divisor}', 'Float64')`;
  const bound = (k: string) => (divisor === 1 ? `(${k} * ${scale})` : `(${k} / ${scale})`);
  const rough = divisor === 1 ? `floor(${value} / ${scale})` : `floor(${value} * ${scale})`;
  const next = `(${rough} + 1.0)`;
  let from = Math.floor(low / at(1));
  if (low < at(from)) from--;
  if (low >= at(from + 1)) from++;
  let last = Math.floor(high / at(1));
  if (high < at(last)) last--;
  if (high >= at(last + 1)) last++;
  return {
    from,
    to: last + 1,
    isTime: false,
    width: String(at(1)),
    isSingle: false,
    sql: `CASE WHEN ${value} < ${bound(rough)} THEN ${rough} - 1.0 WHEN ${value} >= ${bound(next)} THEN ${next} ELSE ${rough} END`,
    at,
    text: (bin) => boundText(field, at(bin)),
    label: (bin) => String(at(bin)),
  };
}

/** Bins counted from the first bound, so that 64-bit integers stay exact. */
function integerBins(field: ChartField, low: bigint, high: bigint, count: number): Bins {
  const step = BigInt(Math.max(1, tickIncrement(0, Number(high - low) || 1, count)));
  const origin = floorTo(low, step);
  const column = quoteName(field.name);
  const isUnsigned = valueType(field.type) === "uint64";
  const type = isUnsigned ? "UInt64" : "Int64";
  return {
    from: 0,
    to: Number((high - origin) / step) + 1,
    isTime: false,
    width: String(step),
    isSingle: step === 1n,
    sql: fixedSql(`arrow_cast(${column}, '${type}')`, type, origin, step),
    at: (bin) => Number(origin + BigInt(bin) * step),
    text: (bin) => String(origin + BigInt(bin) * step),
  };
}

/** No row is below the first bound, so integer division, which truncates, rounds down. */
function fixedSql(value: string, type: string, origin: bigint, step: bigint): string {
  const literal = (number: bigint) => `arrow_cast('${number}', '${type}')`;
  return `(${value} - ${literal(origin)}) / ${literal(step)}`;
}

const SECOND_MS = 1000;
const DAY_MS = 86_400 * SECOND_MS;
/** Bin widths of fixed length in milliseconds; weeks begin on Monday. */
const FIXED: readonly (readonly [widthMs: number, words: string])[] = [
  [1, "millisecond"],
  [10, "10 milliseconds"],
  [100, "100 milliseconds"],
  [SECOND_MS, "second"],
  [5 * SECOND_MS, "5 seconds"],
  [15 * SECOND_MS, "15 seconds"],
  [60 * SECOND_MS, "minute"],
  [300 * SECOND_MS, "5 minutes"],
  [900 * SECOND_MS, "15 minutes"],
  [3600 * SECOND_MS, "hour"],
  [3 * 3600 * SECOND_MS, "3 hours"],
  [6 * 3600 * SECOND_MS, "6 hours"],
  [DAY_MS, "day"],
  [7 * DAY_MS, "week"],
];
const MONTHS: readonly (readonly [months: number, words: string])[] = [
  [1, "month"],
  [3, "quarter"],
  [12, "year"],
  [60, "5 years"],
  [120, "10 years"],
  [600, "50 years"],
  [1200, "century"],
  [12_000, "millennium"],
];
/** 1970-01-05, a Monday. */
const MONDAY_MS = 4 * DAY_MS;
const MONTH_MS = (DAY_MS * 146_097) / 4800;
/** The largest absolute time of a Date. */
const MAX_MS = 8_640_000_000_000_000n;

function timeBins(field: ChartField, low: bigint, high: bigint, count: number): Bins {
  const perSecond = unitsPerSecond(field.type);
  const toMs = (value: bigint) =>
    perSecond === 0n ? value * BigInt(DAY_MS) : floorTo(value * 1000n, perSecond) / perSecond;
  const [lowMs, highMs] = [toMs(low), toMs(high)];
  if (lowMs < -MAX_MS || highMs > MAX_MS) {
    throw new Error(
      `${field.name} has times outside the calendar's range; filter them out to chart it.`,
    );
  }
  const spanMs = Number(highMs - lowMs);
  const leastMs = perSecond === 0n ? DAY_MS : perSecond === 1n ? SECOND_MS : 1;
  const fixed = FIXED.find(([widthMs]) => widthMs >= leastMs && spanMs / widthMs <= count);
  if (fixed) return fixedTimeBins(field, Number(lowMs), Number(highMs), fixed);
  const months = MONTHS.find(([width]) => spanMs / (width * MONTH_MS) <= count);
  return monthBins(field, Number(lowMs), Number(highMs), months ?? [12_000, "millennium"]);
}

function fixedTimeBins(
  field: ChartField,
  lowMs: number,
  highMs: number,
  [widthMs, width]: readonly [number, string],
): Bins {
  const offsetMs = width === "week" ? MONDAY_MS : 0;
  const originMs = Math.floor((lowMs - offsetMs) / widthMs) * widthMs + offsetMs;
  const perSecond = unitsPerSecond(field.type);
  const toUnits = (ms: number) =>
    perSecond === 0n ? BigInt(ms / DAY_MS) : (BigInt(ms) * perSecond) / 1000n;
  const at = (bin: number) => originMs + bin * widthMs;
  const value = `arrow_cast(${quoteName(field.name)}, 'Int64')`;
  return {
    from: 0,
    to: Math.floor((highMs - originMs) / widthMs) + 1,
    isTime: true,
    width,
    isSingle: false,
    sql: fixedSql(value, "Int64", toUnits(originMs), toUnits(widthMs)),
    at,
    text: (bin) => timeText(field, at(bin)),
  };
}

function monthBins(
  field: ChartField,
  lowMs: number,
  highMs: number,
  [months, width]: readonly [number, string],
): Bins {
  const origin = Math.floor(monthOf(lowMs) / months) * months;
  const at = (bin: number) => {
    const month = origin + bin * months;
    const date = new Date(0);
    date.setUTCFullYear(Math.floor(month / 12), month - Math.floor(month / 12) * 12, 1);
    return date.getTime();
  };
  const utc = utcSql(field);
  const month = `date_part('year', ${utc}) * 12 + date_part('month', ${utc}) - 1`;
  return {
    from: 0,
    to: Math.floor((monthOf(highMs) - origin) / months) + 1,
    isTime: true,
    width,
    isSingle: false,
    sql: `CAST(${month} - (${origin}) AS BIGINT) / ${months}`,
    at,
    text: (bin) => timeText(field, at(bin)),
  };
}

function monthOf(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** SQL for a time column in UTC, without its zone. */
function utcSql(field: ChartField): string {
  const column = quoteName(field.name);
  const unit = /^timestamp\[(s|ms|us|ns), tz=/.exec(valueType(field.type))?.[1];
  if (unit === undefined) return column;
  const name = { s: "Second", ms: "Millisecond", us: "Microsecond", ns: "Nanosecond" }[unit];
  return `arrow_cast(${column}, 'Timestamp(${name}, None)')`;
}

/** A bound as a predicate's value: a date or a time, with a zone if the column has one. */
function timeText({ type }: ChartField, ms: number): string {
  const iso = new Date(ms).toISOString().replace(/\.000Z$/, "Z");
  if (valueType(type).startsWith("date32")) return iso.replace(/T.*$/, "");
  return valueType(type).includes("tz=") ? iso : iso.replace(/Z$/, "");
}

function floorTo(value: bigint, step: bigint): bigint {
  const rest = value % step;
  return value - rest - (rest < 0n ? step : 0n);
}
