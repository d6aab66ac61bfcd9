import type { Predicate } from "colonnade";
import { isBeyondType } from "./bounds.js";
import { type ChartField, chartFields, isCategorical, isInteger, roleOf } from "./fields.js";

/** The kinds of charts. */
export const KINDS = ["line", "area", "bar", "histogram", "scatter", "box"] as const;
export type ChartKind = (typeof KINDS)[number];

/** How the values of a column at one position are aggregated. */
export const AGGREGATES = ["count", "sum", "mean", "min", "max", "median"] as const;
export type Aggregate = (typeof AGGREGATES)[number];

/**
 * The brush of a chart: ranges with exclusive ends, as values of a predicate, or categories;
 * `isOthers` means all categories except those.
 */
export type Brush =
  | { x: readonly [string, string]; y?: readonly [string, string] }
  | { values: readonly (string | null)[]; isOthers?: boolean };

/** One chart. */
export interface ChartSpec {
  kind: ChartKind;
  x: string;
  /** The column that is aggregated, or the y axis of a scatter chart; undefined for counts. */
  y?: string | undefined;
  aggregate: Aggregate;
  /** The column whose values are the series. */
  group?: string | undefined;
  brush?: Brush | undefined;
}

/** The columns that a kind of chart can use for each axis and for series. */
export function choicesOf(kind: ChartKind, fields: readonly ChartField[]) {
  const all = chartFields(fields);
  const numbers = all.filter((field) => roleOf(field) === "number");
  const ordered = all.filter((field) => roleOf(field) !== "category");
  const categories = all.filter(isCategorical);
  const byKind = {
    line: { x: ordered, y: numbers, groups: categories },
    area: { x: ordered, y: numbers, groups: categories },
    bar: { x: categories, y: numbers, groups: categories },
    histogram: { x: ordered, y: [], groups: categories },
    scatter: { x: numbers, y: numbers, groups: [] },
    box: { x: categories, y: numbers, groups: [] },
  };
  return byKind[kind];
}

/** Whether a kind of chart shows an aggregate of its y column. */
export function hasAggregate(kind: ChartKind): boolean {
  return kind === "line" || kind === "area" || kind === "bar";
}

/**
 * Replaces columns that a chart cannot use; undefined if the fields allow no chart of its kind.
 */
export function fitToFields(spec: ChartSpec, fields: readonly ChartField[]): ChartSpec | undefined {
  const { x, y, groups } = choicesOf(spec.kind, fields);
  const xField = best(x, spec.x);
  if (xField === undefined) return undefined;
  const isCount = hasAggregate(spec.kind) && spec.aggregate === "count";
  const wantsY = spec.kind !== "histogram" && !isCount;
  const others = y.filter(({ name }) => name !== xField.name);
  const value = wantsY ? best(others.length > 0 ? others : y, spec.y) : undefined;
  if (wantsY && value === undefined) {
    return hasAggregate(spec.kind)
      ? fitToFields({ ...spec, aggregate: "count" }, fields)
      : undefined;
  }
  const group = groups.find(({ name }) => name === spec.group && name !== xField.name);
  const isSame = xField.name === spec.x && (spec.kind !== "scatter" || value?.name === spec.y);
  return {
    kind: spec.kind,
    x: xField.name,
    y: value?.name,
    aggregate: spec.aggregate,
    group: group?.name,
    brush: isSame ? spec.brush : undefined,
  };
}

function best(fields: readonly ChartField[], wanted: string | undefined): ChartField | undefined {
  const exact = fields.find(({ name }) => name === wanted);
  if (exact !== undefined) return exact;
  return [...fields].sort((a, b) => weight(b) - weight(a))[0];
}

/** Ranks columns: measures before integers, keys and free texts last. */
function weight(field: ChartField): number {
  if (/(^|_)(id|key|code|number|row)$|(key|id)$/i.test(field.name)) return 0;
  if (/comment|description|text|url/i.test(field.name)) return 0;
  return isInteger(field) ? 1 : 2;
}

/**
 * Charts to suggest for these columns, the most useful first.
 *
 * @param grouping a column with few distinct values, if one is known
 */
export function suggestions(
  fields: readonly ChartField[],
  grouping?: string | undefined,
): ChartSpec[] {
  const roles = new Set(chartFields(fields).map(roleOf));
  const wanted: [ChartKind, Aggregate][] = [];
  if (grouping !== undefined) wanted.push(["bar", "count"]);
  if (roles.has("time")) wanted.push(["line", roles.has("number") ? "mean" : "count"]);
  if (grouping === undefined && roles.has("category")) wanted.push(["bar", "count"]);
  wanted.push(["histogram", "count"], ["scatter", "count"], ["box", "count"]);
  return wanted.flatMap(([kind, aggregate]) => {
    // Times are preferred for the axis of a line, numbers for that of a histogram.
    const role = kind === "line" ? "time" : kind === "histogram" ? "number" : undefined;
    const { x } = choicesOf(kind, fields);
    const xField = best(
      x.filter((field) => role === undefined || roleOf(field) === role),
      undefined,
    );
    const isGrouped = grouping !== undefined && (kind === "bar" || kind === "box");
    const name = isGrouped ? grouping : xField?.name;
    const spec = fitToFields({ kind, aggregate, x: name ?? "" }, fields);
    const isPair = spec?.kind !== "scatter" || spec.x !== spec.y;
    return spec !== undefined && isPair ? [spec] : [];
  });
}

/** The predicate of a chart's brush over these columns; undefined without a brush. */
export function brushPredicate(
  { kind, x, y, brush }: ChartSpec,
  fields: readonly ChartField[],
): Predicate | undefined {
  if (brush === undefined) return undefined;
  if ("values" in brush) return valuesPredicate(x, brush.values, brush.isOthers === true);
  const field = (name: string) => fields.find((each) => each.name === name);
  const ranges = rangeParts(x, field(x), brush.x);
  if (kind === "scatter" && y !== undefined && brush.y) {
    ranges.push(...rangeParts(y, field(y), brush.y));
  }
  return { and: ranges };
}

/** Omits bounds outside the range of the column's type, because no value is beyond them. */
function rangeParts(
  column: string,
  field: ChartField | undefined,
  [from, to]: readonly [string, string],
): Predicate[] {
  const parts: Predicate[] = [];
  const isBound = (text: string) => field === undefined || !isBeyondType(field, text);
  if (isBound(from)) parts.push({ op: "ge", column, value: from });
  if (isBound(to)) parts.push({ op: "lt", column, value: to });
  return parts.length > 0 ? parts : [{ op: "not_null", column }];
}

function valuesPredicate(
  column: string,
  all: readonly (string | null)[],
  isOthers: boolean,
): Predicate {
  const values = all.filter((value) => value !== null);
  const hasNull = values.length < all.length;
  const list: Predicate =
    values.length === 1 && values[0] !== undefined
      ? { op: "eq", column, value: values[0] }
      : { op: "in", column, value: values };
  if (isOthers) {
    const parts: Predicate[] = values.length > 0 ? [{ not: list }] : [];
    // `not` is null for null, so nulls need their own predicate.
    if (hasNull) return { and: [...parts, { op: "not_null", column }] };
    return parts.length > 0 ? { or: [...parts, { op: "is_null", column }] } : { and: [] };
  }
  if (!hasNull) return list;
  const isNull: Predicate = { op: "is_null", column };
  return values.length > 0 ? { or: [list, isNull] } : isNull;
}

/** Encodes the charts of a panel as a compact text; empty for none. */
export function encodeState(charts: readonly ChartSpec[]): string {
  if (charts.length === 0) return "";
  return JSON.stringify(
    charts.map(({ kind, x, y, aggregate, group, brush }) => {
      const parts = [kind, x, y ?? 0, aggregate, group ?? 0, brush ?? 0];
      while (parts.at(-1) === 0) parts.pop();
      return parts;
    }),
  );
}

/** Decodes a text of {@link encodeState}; ignores what is not a chart. */
export function decodeState(state: string): ChartSpec[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(state);
  } catch {
    return [];
  }
  return Array.isArray(parsed) ? parsed.flatMap(specOf).slice(0, MAX_CHARTS) : [];
}

/** The largest number of charts in a panel. */
export const MAX_CHARTS = 8;

function specOf(parts: unknown): ChartSpec[] {
  if (!Array.isArray(parts)) return [];
  const kind = KINDS.find((each) => each === parts[0]);
  const aggregate = AGGREGATES.find((each) => each === parts[3]) ?? "count";
  const [, x, y, , group, brush] = parts as unknown[];
  if (kind === undefined || typeof x !== "string") return [];
  return [{ kind, x, y: name(y), aggregate, group: name(group), brush: brushOf(brush) }];
}

function name(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function brushOf(value: unknown): Brush | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { x, y, values, isOthers } = value as Record<string, unknown>;
  if (Array.isArray(values) && values.every((each) => each === null || typeof each === "string")) {
    return { values, isOthers: isOthers === true };
  }
  if (!isRange(x)) return undefined;
  return isRange(y) ? { x, y } : { x };
}

function isRange(value: unknown): value is [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((v) => typeof v === "string");
}
