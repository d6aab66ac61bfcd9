import type { Field } from "colonnade";

/** A way to read a column. */
export interface ReadingChoice {
  /** As the server takes it, e.g. `number(,)`. */
  word: string;
  label: string;
  /** A value and how it is read; undefined if it cannot be. */
  example: string | undefined;
}

/** Two groups of digits between three separators are a date, with the year first or last. */
const DATE =
  /^(?<a>\d{1,4})(?<separator>[./-])(?<space> ?)(?<b>\d\d?)\k<separator> ?(?<c>\d{1,4})\.?(?<time>(?:$|,?[ \u202fT]).*)$/s;

/**
 * The ways to read a column: as text, as the server offers, and as any number or date.
 *
 * @param offered the words of the field's `colonnade.readings`
 * @param values the first values, as texts
 */
export function readingChoices(
  offered: readonly string[],
  values: readonly string[],
): ReadingChoice[] {
  const differs = (value: string) =>
    new Set(offered.map((word) => readValue(word, value))).size > 1;
  const value = values.find(differs) ?? values[0];
  const { separator = ".", a = "", c = "" } = DATE.exec(value ?? "")?.groups ?? {};
  const year = a.length > 2 || c.length !== 2 ? "YYYY" : "YY";
  const dates = ["DD MM Y", "MM DD Y", "Y MM DD"].map((order) =>
    order.replace("Y", year).replaceAll(" ", separator),
  );
  const words = [...offered, "number(.)", "number(,)", ...dates.map((date) => `date(${date})`)];
  return ["text", ...new Set(words)].map((word) => {
    const read = value === undefined ? undefined : readValue(word, value);
    return { word, label: labelOf(word), example: read && `${value} → ${read}` };
  });
}

/** The readings that fit all values that the server has seen; none if there are not several. */
export function offeredReadings({ metadata }: Field): string[] {
  try {
    const words: unknown = JSON.parse(metadata["colonnade.readings"] ?? "[]");
    return Array.isArray(words) ? words.map(String) : [];
  } catch {
    return [];
  }
}

/** What is to be chosen, for a question to the user. */
export function isDateReading(word: string): boolean {
  return word.startsWith("date(");
}

function labelOf(word: string): string {
  const known = {
    text: "Text",
    "number(.)": "Number, decimal point",
    "number(,)": "Number, decimal comma",
  };
  return (
    known[word as keyof typeof known] ?? (isDateReading(word) ? `Date ${word.slice(5, -1)}` : word)
  );
}

/** What the server reads from a text; undefined if it does not fit. */
function readValue(word: string, text: string): string | undefined {
  if (word === "text") return undefined;
  return isDateReading(word) ? readDate(word.slice(5, -1), text) : readNumber(word, text);
}

function readNumber(word: string, text: string): string | undefined {
  const [decimal, group] = word === "number(,)" ? [",", "."] : ["\\.", ","];
  const number = new RegExp(
    `^([-−]?)(?!0\\d)(\\d+|\\d{1,3}([${group} \\u00a0\\u202f'’])\\d{3}(?:\\3\\d{3})*)(?:${decimal}(\\d+))?$`,
  );
  const [, sign, whole, , fraction] = number.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return `${sign && "-"}${whole.replace(/\D/g, "")}${fraction === undefined ? "" : `.${fraction}`}`;
}

function readDate(pattern: string, text: string): string | undefined {
  const { a, b, c, separator, time = "" } = DATE.exec(text)?.groups ?? {};
  const [first = "", second = "", third = ""] = pattern.match(/[A-Z]+/g) ?? [];
  if (!pattern.includes(separator ?? "?")) return undefined;
  const parts = { [first]: a, [second]: b, [third]: c } as Record<string, string | undefined>;
  const [day, month] = [Number(parts.DD), Number(parts.MM)];
  const short = parts.YY?.length === 2 ? Number(parts.YY) : Number.NaN;
  const year = parts.YYYY?.length === 4 ? Number(parts.YYYY) : short + (short < 69 ? 2000 : 1900);
  const date = new Date(Date.UTC(year, month - 1, day));
  if (date.getUTCDate() !== day || date.getUTCMonth() !== month - 1) return undefined;
  const format = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
  return `${format.format(date)}${time.replace(/^,?[ \u202fT]+/, ", ")}`;
}
