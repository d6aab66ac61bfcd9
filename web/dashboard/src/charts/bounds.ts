import { type ChartField, isInteger, valueType } from "./fields.js";

/** The fraction bits, least exponent and greatest value of floats narrower than a double. */
const NARROW: Record<string, readonly [digits: number, leastExponent: number, greatest: number]> = {
  float: [23, -126, 2 ** 128 - 2 ** 104],
  halffloat: [10, -14, 65_504],
};

/**
 * A number as a bound of a column: the least value of the column's type that is not less. Comparing
 * in the column's type then gives the same result as comparing doubles.
 */
export function boundText(field: ChartField, bound: number): string {
  const narrow = NARROW[valueType(field.type)];
  if (narrow === undefined || bound === 0) return String(bound);
  const [digits, leastExponent, greatest] = narrow;
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(bound))), leastExponent);
  const unit = 2 ** (exponent - digits);
  const value = Math.max(Math.ceil(bound / unit) * unit, -greatest);
  return value > greatest ? "Infinity" : String(value);
}

/** The earliest timestamp in nanoseconds, in ms since 1970. */
const LEAST_NS_MS = -9_223_372_036_854;

/** Whether a predicate's bound is outside the range of the column's type. */
export function isBeyondType(field: ChartField, text: string): boolean {
  const type = valueType(field.type);
  if (isInteger(field)) {
    if (!/^-?\d+$/.test(text)) return false;
    const bits = Number(/\d+$/.exec(type)?.[0]);
    const value = BigInt(text);
    return value !== (type.startsWith("u") ? BigInt.asUintN : BigInt.asIntN)(bits, value);
  }
  if (!type.startsWith("timestamp[ns")) return false;
  const ms = Date.parse(/Z$/.test(text) ? text : `${text}Z`);
  return ms < LEAST_NS_MS || ms > -LEAST_NS_MS;
}
