import { type ColumnSummary, SummaryPlot } from "../grid/summary-plot.js";
import { formatCount } from "../model/counts.js";
import type { Predicate } from "../model/predicate.js";
import { type Field, filterKindOf, isNumericType } from "../model/schema.js";
import type { Summary } from "../model/summary.js";
import { conjunctsOfColumn } from "./filters.js";
import { formatRows } from "./status.js";

export { SummaryPlot };

const POWERS = ["", "K", "M", "B", "T"] as const;
/** Where room is little, counts from here on are shortened. */
const MAX_WRITTEN = 100_000;

/**
 * Longer numbers are rounded below the plot; if both of them are long together, shorter ones too, unless that makes them
 * equal.
 */
const MAX_NUMBER_CHARS = 9;
const MAX_NUMBERS_CHARS = 10;
const MAX_OF_LONG_CHARS = 5;
/** Texts longer than this are cut. */
const MAX_TEXT_CHARS = 100;

/** A column and its summary, to be shown below its name. */
export interface Summarised {
  field: Field;
  /** The summary of all rows. */
  summary: Summary;
  /** The summary of the rows that pass the filter, with the same bins. */
  within: Summary | undefined;
  filter: Predicate | null;
  /** Whether more rows may arrive. */
  isGrowing: boolean;
}

/** A column summary as the texts and bins to show. */
export function columnSummary(subject: Summarised): ColumnSummary {
  const { field, summary, within, filter } = subject;
  const { histogram, top } = summary;
  const counts = histogram?.counts ?? top?.map(({ count }) => count) ?? [];
  const countsWithin = countsOf(summary, within);
  const bins = counts.map((count, bin) => ({ count, numShown: countsWithin?.[bin] }));
  const sum = (list: readonly number[], first: number, last: number) =>
    list.slice(first, last + 1).reduce((total, count) => total + count, 0);
  const details = detailsOf(subject);
  const canChoose = canFilterByBins(field) && bins.length > 0;
  const words = (first: number, last: number) => {
    const count = sum(counts, first, last);
    const of = countsWithin && sum(countsWithin, first, last);
    const written =
      of === undefined
        ? `${formatRows(count)} (${percent(count, summary.rows)})`
        : `${formatCount(of)} of ${formatRows(count)} (${percent(of, count)})`;
    return [labelOf(summary, first, last), written];
  };
  const [start, end] = axisOf(summary, within ?? summary);
  return {
    title: `${histogram ? "Histogram" : "Most frequent values"} of ${field.name}`,
    bins,
    words,
    canChoose,
    chosen: canChoose ? chosenBins(summary, field, filter) : undefined,
    start,
    end,
    caption: captionOf(within ?? summary),
    description: details.join(", "),
    details,
  };
}

/** Not for durations, which cannot be compared, nor for decimal256, whose bin edges are floats. */
function canFilterByBins({ type }: Field): boolean {
  return filterKindOf(type) !== "nulls" && !type.includes("decimal256");
}

/** The predicates for the values of bins `[first, last]`; none if there are no such bins. */
export function conjunctsOfBins(
  { histogram, top, max }: Summary,
  { name, type }: Field,
  first: number,
  last: number,
): Predicate[] {
  if (histogram !== undefined) {
    const { edges, counts } = histogram;
    const [from, to] = [edges[first], edges[last + 1]];
    if (from === undefined || to === undefined) return [];
    const isLast = last === counts.length - 1 && max !== null;
    return [
      { op: "ge", column: name, value: from },
      isLast ? { op: "le", column: name, value: max } : { op: "lt", column: name, value: to },
    ];
  }
  const isBoolean = filterKindOf(type) === "boolean";
  const values = (top ?? [])
    .slice(first, last + 1)
    .map(({ value }) => (isBoolean ? value === "true" : value));
  const [value] = values;
  if (value === undefined) return [];
  return [
    values.length === 1
      ? { op: "eq", column: name, value }
      : { op: "in", column: name, value: values },
  ];
}

/** The bins of a filter, if {@link conjunctsOfBins} made it. */
export function chosenBins(
  summary: Summary,
  field: Field,
  filter: Predicate | null,
): [number, number] | undefined {
  const conjuncts = conjunctsOfColumn(filter, field.name);
  if (conjuncts.length === 0) return undefined;
  const { histogram, top, max } = summary;
  const boundOf = (op: "ge" | "le" | "lt" | "eq") => {
    const found = conjuncts.find((conjunct) => "op" in conjunct && conjunct.op === op);
    return found !== undefined && "value" in found ? String(found.value) : "";
  };
  let bins: [number, number];
  if (histogram !== undefined) {
    const { edges } = histogram;
    const isToMax = boundOf("le") === max;
    bins = [
      edges.indexOf(boundOf("ge")),
      (isToMax ? edges.length - 1 : edges.indexOf(boundOf("lt"))) - 1,
    ];
  } else {
    const [conjunct] = conjuncts;
    const values =
      conjunct && "op" in conjunct && conjunct.op === "in"
        ? conjunct.value.map(String)
        : [boundOf("eq")];
    const indices = values.map((value) => (top ?? []).findIndex((each) => each.value === value));
    bins = [Math.min(...indices), Math.max(...indices)];
  }
  const [first, last] = bins;
  if (!(first >= 0 && last >= first)) return undefined;
  const wanted = conjunctsOfBins(summary, field, first, last);
  return JSON.stringify(wanted) === JSON.stringify(conjuncts) ? bins : undefined;
}

/** How many filtered rows are in each bin, or have each frequent value, of all rows. */
function countsOf({ top }: Summary, within: Summary | undefined): number[] | undefined {
  if (within === undefined) return undefined;
  if (within.histogram !== undefined) return within.histogram.counts;
  const counts = new Map(within.top?.map(({ value, count }) => [value, count]));
  return top?.map(({ value }) => counts.get(value) ?? 0);
}

function labelOf({ histogram, top, max }: Summary, first: number, last: number): string {
  if (histogram !== undefined) {
    const { edges, counts } = histogram;
    const isLast = last === counts.length - 1;
    if (isLast && edges[first] === max) return max ?? "";
    return `${edges[first]} to ${isLast ? max : `below ${edges[last + 1]}`}`;
  }
  const values = (top ?? []).slice(first, last + 1).map(({ value }) => quoted(value));
  return values.join(", ");
}

/** The texts below the plot: its first and last value, or the most frequent one of the shown rows and its share. */
function axisOf({ type, top, min, max }: Summary, shown: Summary): [string, string] {
  if (top !== undefined && top.length > 0) {
    const [most] = [...(shown.top ?? [])].sort((a, b) => b.count - a.count);
    if (most === undefined || most.count === 0) return ["", ""];
    return [quoted(most.value), percent(most.count, shown.rows)];
  }
  if (min === null || max === null) return ["", ""];
  const number = (text: string) => shortNumber(text, MAX_NUMBER_CHARS);
  const short = isNumericType(type) ? number : isOnOneDay(min, max) ? quoted : dayOf;
  if (min === max) return [short(min), ""];
  if (isNumericType(type) && min.length + max.length > MAX_NUMBERS_CHARS) {
    const [least, most] = [min, max].map((text) => shortNumber(text, MAX_OF_LONG_CHARS));
    if (least !== undefined && most !== undefined && least !== most) return [least, most];
  }
  return [short(min), short(max)];
}

/** A number as text; if it is longer than `maxChars`, it is rounded to three digits. */
function shortNumber(text: string, maxChars: number): string {
  const value = Number(text);
  const size = Math.abs(value);
  if (text.length <= maxChars) return text;
  return size !== 0 && (size < 1e-3 || size >= 1e15)
    ? value.toExponential(2)
    : compactNumber(value);
}

/** A number below 10^15 with three digits, e.g. `12.3M`. */
function compactNumber(value: number): string {
  let rounded = Number(value.toPrecision(3));
  let power = 0;
  for (; Math.abs(rounded) >= 1000 && power < POWERS.length - 1; power++) rounded /= 1000;
  return `${rounded}${POWERS[power]}`;
}

const INSTANT = /^([+-]?\d{4,}-\d\d-\d\d) /;

function dayOf(text: string): string {
  return INSTANT.exec(text)?.[1] ?? quoted(text);
}

function isOnOneDay(min: string, max: string): boolean {
  return dayOf(min) === dayOf(max);
}

/** The pieces of the line above the plot; as many are shown as fit. */
function captionOf(summary: Summary): string[] {
  const { nulls, rows } = summary;
  const isNull = nulls > 0 ? [`${percent(nulls, rows)} null`] : [];
  const short = (count: number) =>
    count < MAX_WRITTEN ? formatCount(count) : compactNumber(count);
  const distinct = distinctOf(summary, short);
  return [...isNull, ...(distinct === undefined ? [] : [distinct, "distinct"])];
}

/** The number of distinct values, with `≈` if it is estimated; undefined if it is not known. */
function distinctOf(
  { nulls, rows, distinct, distinct_is_approximate, min, max, nan, infinite, top = [] }: Summary,
  format: (count: number) => string,
): string | undefined {
  const counts = top.map(({ count }) => count).filter((count) => count > 0);
  const numValues = rows - nulls;
  if (counts.reduce((total, count) => total + count, 0) === numValues) return format(counts.length);
  if (distinct === null) return undefined;
  if (min !== null && min === max && !nan && !infinite) return format(1);
  return about(format(Math.min(distinct, numValues)), distinct_is_approximate);
}

/** The whole summary as exact texts. */
function detailsOf({ summary, within, isGrowing }: Summarised): string[] {
  const shown = within ?? summary;
  const { rows, nulls, min, max, mean, nan = 0, infinite = 0, empties = 0 } = shown;
  const distinct = distinctOf(shown, formatCount);
  const counted = isGrowing ? `the first ${formatRows(summary.rows)}` : formatRows(rows);
  const counts = [
    ...(distinct === undefined ? [] : [`${distinct} distinct`]),
    nulls === 0 ? "no nulls" : `${formatCount(nulls)} null (${percent(nulls, rows)})`,
    ...(empties > 0 ? [`${formatCount(empties)} empty`] : []),
    ...(nan > 0 ? [`${formatCount(nan)} NaN`] : []),
    ...(infinite > 0 ? [`${formatCount(infinite)} infinite`] : []),
  ];
  return [
    ...(min === null || max === null
      ? []
      : [min === max ? `all ${quoted(min)}` : `${quoted(min)} to ${quoted(max)}`]),
    ...spreadOf(shown),
    ...(mean === null ? [] : [`mean ${mean}`]),
    counts.join(", "),
    within === undefined ? counted : `${counted} shown`,
  ];
}

/** The quartiles of values, or the lengths of texts. */
function spreadOf({ quartiles, lengths, min, max }: Summary): string[] {
  const texts: string[] = [];
  if (quartiles !== undefined && min !== max) {
    const { lower, median, upper, is_approximate } = quartiles;
    texts.push(`quartiles ${about([lower, median, upper].join(", "), is_approximate)}`);
  }
  if (lengths !== undefined) {
    const { min, median, max, is_approximate } = lengths;
    const [least, most] = [formatCount(min), formatCount(max)];
    texts.push(
      min === max
        ? `length ${least}`
        : `lengths ${least} to ${most}, median ${about(formatCount(median), is_approximate)}`,
    );
  }
  return texts;
}

function about(text: string, isApproximate: boolean): string {
  return isApproximate ? `≈ ${text}` : text;
}

/** A share as percentage: `14 %`; `0 %` only for none, `100 %` only for all. */
export function percent(count: number, whole: number): string {
  if (count === 0 || whole === 0) return "0 %";
  if (count === whole) return "100 %";
  const share = (100 * count) / whole;
  if (share < 0.1) return "< 0.1 %";
  if (share > 99.9) return "> 99.9 %";
  return `${share < 10 || share > 99 ? share.toFixed(1) : Math.round(share)} %`;
}

/** A text, cut if it is long and in quotation marks if it is blank. */
function quoted(value: string): string {
  if (value.length > MAX_TEXT_CHARS) return `${value.slice(0, MAX_TEXT_CHARS)}…`;
  return value.trim() === "" ? `“${value}”` : value;
}
