import { isNumericType, valueType } from "../model/schema.js";

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$|^[+-]?(?:inf|infinity)$|^nan$/i;
const TIME = /^(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?$/;
const OFFSET = /^(.*?)\s*(Z|[+-]\d\d:?\d\d)?$/i;
const ISO_DATE = /^([+-]?\d{4,})-(\d{1,2})-(\d{1,2})(?:[T ]+(.*))?$/;
const OTHER_DATE = /^(\d{1,4})([./-])\s?(\d{1,2})\2\s?(\d{1,4})\.?(?:,?\s+(.*))?$/;

/** A bound that cannot be read. The message names a form that works. */
export class FilterValueError extends Error {}

/**
 * A bound that the user typed for a column of this type, as a predicate writes it. Dates may have the order of the
 * page's language.
 *
 * @throws FilterValueError if it is none
 */
export function filterValue(typed: string, type: string, language = ""): string {
  const values = valueType(type);
  if (isNumericType(type)) {
    if (NUMBER.test(typed)) return typed;
    throw new FilterValueError(`“${typed}” is not a number. Write it like 1234.5`);
  }
  if (/^time(?:32|64)/.test(values)) {
    if (TIME.test(typed)) return withTwoDigits(typed);
    throw new FilterValueError(`“${typed}” is not a time. Write it like 12:30:00`);
  }
  const isDate = values.startsWith("date");
  const parts = datePartsOf(typed, language || pageLanguage());
  if (parts === undefined || (isDate && parts.time !== undefined)) {
    const example = isDate ? "2025-03-01" : "2025-03-01 or 2025-03-01 12:30:00";
    const local = dateFormat(language || pageLanguage()).format(new Date(2025, 2, 1));
    throw new FilterValueError(
      `“${typed}” is not a date${isDate ? "" : " or a time"}. Write it like ${example}, or ${local}`,
    );
  }
  return parts.time === undefined ? parts.day : `${parts.day} ${parts.time}`;
}

/** The years that a Date of JavaScript has; the bounds of other years are not looked at. */
const MAX_YEAR = 200_000;

/** Whether a bound of a predicate is a day: in a column of timestamps, its first instant. */
export function isDay(value: string): boolean {
  return /^-?\d{4,5}-\d\d-\d\d$/.test(value);
}

/** The day that is `count` days after another one. */
export function dayAfter(day: string, count: number): string {
  const [, year = "", month = "", dayOfMonth = ""] = /^(-?\d+)-(\d+)-(\d+)$/.exec(day) ?? [];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(dayOfMonth) + count);
  return dayText(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate());
}

function datePartsOf(
  typed: string,
  language: string,
): { day: string; time: string | undefined } | undefined {
  const found = orderedParts(typed, language);
  if (found === undefined) return undefined;
  const [year, month, day, time] = found;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isDate = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!isDate && Math.abs(year) < MAX_YEAR) return undefined;
  const [, clock = "", offset = ""] = OFFSET.exec(time ?? "") ?? [];
  if (time !== undefined && !TIME.test(clock)) return undefined;
  const isoOffset = offset.replace(/^([+-]\d\d)(\d\d)$/, "$1:$2").toUpperCase();
  return {
    day: dayText(year, month, day),
    time: time === undefined ? undefined : withTwoDigits(clock) + isoOffset,
  };
}

/** A time whose hour has two digits. */
function withTwoDigits(time: string): string {
  return time.indexOf(":") === 1 ? `0${time}` : time;
}

type Parts = [year: number, month: number, day: number, time: string | undefined];

function orderedParts(typed: string, language: string): Parts | undefined {
  const iso = ISO_DATE.exec(typed);
  if (iso !== null) return [Number(iso[1]), Number(iso[2]), Number(iso[3]), iso[4]];
  const [, first = "", separator, second = "", third = "", time] = OTHER_DATE.exec(typed) ?? [];
  const order = separator === "." ? "day month year" : dateOrder(language);
  const names = first.length === 4 ? ["year", "month", "day"] : order.split(" ");
  const parts = new Map([first, second, third].map((digits, at) => [names[at], digits]));
  const year = parts.get("year");
  if (year?.length !== 4) return undefined;
  return [Number(year), Number(parts.get("month")), Number(parts.get("day")), time];
}

function dateFormat(language: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(language, { calendar: "gregory", numberingSystem: "latn" });
}

/** The order of a date's parts in a language. */
function dateOrder(language: string): string {
  const parts = dateFormat(language).formatToParts(0);
  return parts
    .map(({ type }) => type)
    .filter((type) => type !== "literal")
    .join(" ");
}

/** The language of the page, or else of the browser. */
function pageLanguage(): string {
  const { document, navigator } = globalThis;
  try {
    const [stated] = Intl.getCanonicalLocales(document?.documentElement.lang);
    if (stated !== undefined) return stated;
  } catch {
    // The page states no known language.
  }
  return navigator?.language ?? "en";
}

function dayText(year: number, month: number, day: number): string {
  const digits = (count: number, size: number) => String(Math.abs(count)).padStart(size, "0");
  return `${year < 0 ? "-" : ""}${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}`;
}
