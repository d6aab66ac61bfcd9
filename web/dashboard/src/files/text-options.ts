/** How a text file is written; the keys are parameters of `PUT /v1/tables/{name}`. */
export type TextOption =
  | "delimiter"
  | "quote"
  | "escape"
  | "comment"
  | "header"
  | "decimal"
  | "thousands"
  | "dates"
  | "null"
  | "nan"
  | "encoding"
  | "types";

/** Options of a text file; the server detects what is left out. */
export type TextOptions = Readonly<Partial<Record<TextOption, string>>>;

/** The options with one of them changed, or left out if the value is undefined. */
export function withOption(
  options: TextOptions,
  key: TextOption,
  value: string | undefined,
): TextOptions {
  const { [key]: _, ...others } = options;
  return value === undefined ? others : { ...others, [key]: value };
}

/** The options as a query string with `?`; empty without options. */
export function optionsQuery(options: TextOptions): string {
  const query = new URLSearchParams(options).toString();
  return query === "" ? "" : `?${query}`;
}

/** Reads options from a query string, e.g. from the header `X-Text-Options`. */
export function parseOptions(query: string): TextOptions {
  return Object.fromEntries(new URLSearchParams(query));
}

/** The options as a text for the user, e.g. `delimiter=; decimal=,`. */
export function optionsText(options: TextOptions): string {
  return Object.entries(options)
    .map(([key, value]) => `${key}=${value === "\t" ? "tab" : value}`)
    .join(" ");
}

/** A list of words as typed, with no spaces around its commas. */
export function trimList(text: string): string {
  return splitList(text).join(",");
}

/** Splits at commas outside of parentheses: `a:text, t:timestamp(us, UTC)` has two items. */
function splitList(text: string): string[] {
  return text.split(/,(?![^()]*\))/).map((item) => item.trim());
}
