import type { Bins } from "./bins.js";

const shortFormat = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumSignificantDigits: 4,
});
const plainFormat = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const countFormat = new Intl.NumberFormat("en");

/** A number for an axis or beside a bar: `0.05`, `1,200`, `3.2M`. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return value.toExponential(2).replace("e+", "e");
  return size >= 10_000 ? shortFormat.format(value) : plainFormat.format(value);
}

/** An exact value with its integer digits in groups of three. */
export function exactNumber(text: string): string {
  const match = /^(-?)(\d{4,})(\.\d+)?$/.exec(text);
  return match ? `${match[1]}${countFormat.format(BigInt(match[2] ?? 0))}${match[3] ?? ""}` : text;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** The label of a time tick, as short as possible; the year on its first day. */
export function timeTick(date: Date): string {
  const iso = date.toISOString();
  const [day = "", time = ""] = iso.split("T");
  if (!time.startsWith("00:00:00.000")) {
    return time.endsWith("00.000Z") ? time.slice(0, 5) : time.replace(/(\.000)?Z$/, "");
  }
  const month = MONTHS[date.getUTCMonth()];
  if (date.getUTCDate() > 1) return `${date.getUTCDate()} ${month}`;
  return day.endsWith("-01-01") ? String(date.getUTCFullYear()) : (month ?? "");
}

/** The label of a bin: `1998-12`, `week of 2001-01-01`, `10 to 20`. */
export function binLabel(bins: Bins, bin: number): string {
  if (!bins.isTime) {
    if (bins.isSingle) return exactNumber(bins.text(bin));
    const bound = (at: number) => exactNumber(bins.label?.(at) ?? bins.text(at));
    return `${bound(bin)} to ${bound(bin + 1)}`;
  }
  const iso = new Date(bins.at(bin)).toISOString();
  const [day = "", time = ""] = iso.split("T");
  const [, year = "", month = ""] = /^([+-]?\d+)-(\d\d)/.exec(day) ?? [];
  switch (bins.width) {
    case "month":
      return `${year}-${month}`;
    case "quarter":
      return `${year} Q${(Number(month) + 2) / 3}`;
    case "year":
      return year;
    case "day":
      return day;
    case "week":
      return `week of ${day}`;
    default:
      if (/year|century|millennium/.test(bins.width)) return `${bins.width} from ${year}`;
      return `${day} ${time.replace(/(:00)?(\.000)?Z$/, "")}`;
  }
}

/** The label of a category. */
export function categoryLabel(value: string | null | undefined): string {
  if (value === undefined) return "others";
  if (value === null) return "null";
  return value === "" ? "empty text" : value;
}
