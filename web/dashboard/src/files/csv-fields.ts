import { html } from "lit";
import { CSV_PRESETS, type CsvOptions, presetOf } from "./csv-options.js";

type Choices<Value extends string> = readonly (readonly [Value, string])[];

const DELIMITERS: Choices<CsvOptions["delimiter"]> = [
  [",", "Comma"],
  [";", "Semicolon"],
  ["tab", "Tab"],
];
const DECIMALS: Choices<CsvOptions["decimal"]> = [
  [".", "Point (1.5)"],
  [",", "Comma (1,5)"],
];

/** The fields for the options of CSV. */
export function csvFields(csv: CsvOptions, change: (csv: CsvOptions) => void) {
  const preset = presetOf(csv)?.label ?? "";
  const presets: Choices<string> = CSV_PRESETS.map(({ label }) => [label, label]);
  const all: Choices<string> = preset === "" ? [["", "As chosen below"], ...presets] : presets;
  const choosePreset = (label: string) =>
    change({ ...csv, ...CSV_PRESETS.find((each) => each.label === label)?.options });
  return html`<fieldset class="csv-options">
    <legend>CSV options</legend>
    ${choice("Program", all, preset, choosePreset, "wide")}
    ${choice("Delimiter", DELIMITERS, csv.delimiter, (delimiter) => change({ ...csv, delimiter }))}
    ${choice("Decimal sign", DECIMALS, csv.decimal, (decimal) => change({ ...csv, decimal }))}
    ${check("Byte order mark", "Tells Excel that the file is UTF-8", csv.bom, (bom) => change({ ...csv, bom }))}
    ${check(
      "Escape formulas",
      "Puts ' before texts that spreadsheets would run",
      csv.escapesFormulas,
      (escapesFormulas) => change({ ...csv, escapesFormulas }),
    )}
  </fieldset>`;
}

function choice<Value extends string>(
  label: string,
  choices: Choices<Value>,
  chosen: Value,
  change: (value: Value) => void,
  width = "",
) {
  return html`<label class="option ${width}"
    ><span>${label}</span
    ><select
      @change=${(event: Event) => change((event.currentTarget as HTMLSelectElement).value as Value)}
    >
      ${choices.map(
        ([value, text]) =>
          html`<option value=${value} .selected=${value === chosen}>${text}</option>`,
      )}
    </select></label
  >`;
}

function check(
  label: string,
  about: string,
  isChecked: boolean,
  change: (isChecked: boolean) => void,
) {
  return html`<label class="menu-check"
    ><input
      type="checkbox"
      .checked=${isChecked}
      @change=${(event: Event) => change((event.currentTarget as HTMLInputElement).checked)}
    /><span>${label}<span class="minor">${about}</span></span></label
  >`;
}
