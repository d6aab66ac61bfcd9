import { load, store } from "../shell/storage.js";

const KEY = "colonnade-csv";

/** How an export writes CSV. */
export interface CsvOptions {
  delimiter: "," | ";" | "tab";
  decimal: "." | ",";
  /** Whether the file begins with UTF-8's byte order mark. */
  bom: boolean;
  /** Whether the file has `'` before texts that a spreadsheet would run as formulas. */
  escapesFormulas: boolean;
}

/** The server's defaults. */
export const PLAIN_CSV: CsvOptions = {
  delimiter: ",",
  decimal: ".",
  bom: false,
  escapesFormulas: false,
};

/** The choices of each program that needs its own; whether formulas are escaped is not part of them. */
export const CSV_PRESETS: readonly {
  label: string;
  options: Omit<CsvOptions, "escapesFormulas">;
}[] = [
  { label: "Most programs", options: { delimiter: ",", decimal: ".", bom: false } },
  { label: "Excel in English", options: { delimiter: ",", decimal: ".", bom: true } },
  {
    label: "Excel in most of Europe",
    options: { delimiter: ";", decimal: ",", bom: true },
  },
];

/** The preset with these choices; undefined if there is none. */
export function presetOf(csv: CsvOptions): (typeof CSV_PRESETS)[number] | undefined {
  return CSV_PRESETS.find(
    ({ options }) =>
      options.delimiter === csv.delimiter &&
      options.decimal === csv.decimal &&
      options.bom === csv.bom,
  );
}

/** The parameters of `GET /v1/query/{id}/export` that differ from the server's defaults. */
export function csvParameters({ delimiter, decimal, bom, escapesFormulas }: CsvOptions) {
  return {
    ...(delimiter === "," ? {} : { delimiter }),
    ...(decimal === "." ? {} : { decimal }),
    ...(bom ? { bom: "true" } : {}),
    ...(escapesFormulas ? { escape_formulas: "true" } : {}),
  };
}

/** The options that were last stored in this browser, or the server's defaults. */
export function loadCsvOptions(): CsvOptions {
  const stored = (load(KEY) ?? {}) as Partial<CsvOptions>;
  const { delimiter, decimal, bom, escapesFormulas } = stored;
  return {
    delimiter: delimiter === ";" || delimiter === "tab" ? delimiter : ",",
    decimal: decimal === "," ? decimal : ".",
    bom: bom === true,
    escapesFormulas: escapesFormulas === true,
  };
}

/** Stores the options in this browser. */
export function storeCsvOptions(csv: CsvOptions): void {
  store(KEY, csv);
}
