// Loaded at the first selection.

import type { ColumnValues } from "../api/row-reader.js";
import type { CellRect } from "../grid/cache.js";
import { groupDigits } from "../model/counts.js";
import { isNumericType } from "../model/schema.js";
import { yieldToEventLoop } from "../rpc/event-loop.js";
import type { ShownRows } from "./clipboard.js";

/** Totals of the numbers in a selection. Texts are exact unless their flag is set. */
export interface Totals {
  /** How many numbers there are, without nulls and NaN. */
  count: number;
  sum: string;
  /** Whether the sum is rounded, as sums of floats are. */
  isSumRounded: boolean;
  mean: string;
  isMeanRounded: boolean;
  min: string;
  max: string;
}

/** The totals of the numbers in a rectangle as texts; none without numbers. */
export async function totalsWords(
  shown: ShownRows,
  rect: CellRect,
  signal: AbortSignal,
): Promise<string[]> {
  const totals = await totalsOf(shown, rect, signal);
  if (totals === undefined) return [];
  const about = (text: string, isRounded: boolean) =>
    `${isRounded ? "≈ " : ""}${groupDigits(text)}`;
  return [
    `sum ${about(totals.sum, totals.isSumRounded)}`,
    `mean ${about(totals.mean, totals.isMeanRounded)}`,
    `min ${groupDigits(totals.min)}`,
    `max ${groupDigits(totals.max)}`,
  ];
}

/** A finite number: `digits` / 10^`scale`. */
interface Decimal {
  digits: bigint;
  scale: number;
}

const VALUES_PER_SLICE = 16_384;

/** Totals of the numbers among the cells, computed in slices; undefined if there are none, or on abort. */
async function totalsOf(
  { rows, fields, columns }: ShownRows,
  rect: CellRect,
  signal: AbortSignal,
): Promise<Totals | undefined> {
  const counter = new TotalsCounter();
  for (const column of columns.slice(rect.columnStart, rect.columnEnd)) {
    const type = fields[column]?.type ?? "";
    // An extension type's values need not be the numbers that store them.
    if (type.startsWith("extension<") || !isNumericType(type)) continue;
    for (let start = rect.rowStart; start < rect.rowEnd; start += VALUES_PER_SLICE) {
      const end = Math.min(start + VALUES_PER_SLICE, rect.rowEnd);
      const values = await rows.values(column, { start, end });
      if (signal.aborted) return undefined;
      counter.add(values);
      await yieldToEventLoop();
    }
  }
  return counter.totals;
}

/** Decimal places of a mean that would need more. */
const MEAN_DIGITS = 6;

/**
 * Sums numbers: integers and decimals exactly, floats as doubles with Neumaier's compensated summation.
 * If both are added, the sum is rounded.
 */
export class TotalsCounter {
  #count = 0;
  #exact: Decimal = { digits: 0n, scale: 0 };
  #floats = 0;
  #sum = 0;
  #lost = 0;
  #min: Decimal | number | undefined;
  #max: Decimal | number | undefined;

  /** Adds the values of a column, as returned by `values`. */
  add({ values, validity }: ColumnValues): void {
    for (let index = 0; index < validity.length; index++) {
      const value = values[index];
      if (validity[index] === 0 || value === undefined) continue;
      if (typeof value === "bigint") this.#addExact({ digits: value, scale: 0 });
      else if (typeof value === "string") this.#addText(value);
      else if (values instanceof Float64Array || values instanceof Float32Array) {
        this.#addFloat(value);
      } else this.#addExact({ digits: BigInt(value), scale: 0 });
    }
  }

  /** The totals; undefined if there was no number. */
  get totals(): Totals | undefined {
    if (this.#count === 0) return undefined;
    const { digits, scale } = this.#exact;
    const isFloat = this.#floats > 0;
    const sum = this.#sum + this.#lost + toDouble(this.#exact);
    const mean = divided(this.#exact, BigInt(this.#count));
    return {
      count: this.#count,
      sum: isFloat ? String(sum) : decimalText(digits, scale),
      isSumRounded: isFloat,
      mean: isFloat ? String(sum / this.#count) : mean.text,
      isMeanRounded: isFloat || mean.isRounded,
      min: numberText(this.#min),
      max: numberText(this.#max),
    };
  }

  #addText(text: string): void {
    const match = /^(-?\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text);
    if (match === null) return;
    const [, whole = "", fraction = "", exponent = "0"] = match;
    const scale = fraction.length - Number(exponent);
    const digits = BigInt(whole + fraction);
    this.#addExact(
      scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale },
    );
  }

  #addExact(value: Decimal): void {
    this.#count++;
    const [a, b, scale] = aligned(this.#exact, value);
    this.#exact = { digits: a + b, scale };
    this.#bound(value);
  }

  #addFloat(value: number): void {
    if (Number.isNaN(value)) return;
    this.#count++;
    this.#floats++;
    const sum = this.#sum + value;
    if (Number.isFinite(sum)) {
      this.#lost +=
        Math.abs(this.#sum) >= Math.abs(value) ? this.#sum - sum + value : value - sum + this.#sum;
    }
    this.#sum = sum;
    this.#bound(value);
  }

  #bound(value: Decimal | number): void {
    if (this.#min === undefined || isLess(value, this.#min)) this.#min = value;
    if (this.#max === undefined || isLess(this.#max, value)) this.#max = value;
  }
}

function aligned(a: Decimal, b: Decimal): [bigint, bigint, number] {
  if (a.scale === b.scale) return [a.digits, b.digits, a.scale];
  const scale = Math.max(a.scale, b.scale);
  const raised = ({ digits, scale: own }: Decimal) => digits * 10n ** BigInt(scale - own);
  return [raised(a), raised(b), scale];
}

function isLess(a: Decimal | number, b: Decimal | number): boolean {
  if (typeof a === "number" || typeof b === "number") return toDouble(a) < toDouble(b);
  const [left, right] = aligned(a, b);
  return left < right;
}

function toDouble(value: Decimal | number): number {
  return typeof value === "number" ? value : Number(decimalText(value.digits, value.scale));
}

function numberText(value: Decimal | number | undefined): string {
  if (value === undefined) return "";
  return typeof value === "number" ? String(value) : decimalText(value.digits, value.scale);
}

/** `digits` / 10^`scale` as decimal text. */
function decimalText(digits: bigint, scale: number): string {
  if (scale === 0) return digits.toString();
  const sign = digits < 0n ? "-" : "";
  const padded = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, "0");
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}

function divided({ digits, scale }: Decimal, count: bigint): { text: string; isRounded: boolean } {
  const meanScale = Math.max(scale, MEAN_DIGITS);
  const raised = digits * 10n ** BigInt(meanScale - scale);
  const rest = raised % count;
  const isUp = 2n * (rest < 0n ? -rest : rest) >= count;
  const rounded = raised / count + (isUp ? (digits < 0n ? -1n : 1n) : 0n);
  const text = decimalText(rounded, meanScale).replace(/\.?0+$/, "");
  return { text, isRounded: rest !== 0n };
}
