import { html, nothing } from "lit";
import type { FileType } from "./file-type.js";
import type { TextOption, TextOptions } from "./text-options.js";

/** The options of a dialog, and how its fields change them. */
export interface OptionsForm {
  fileType: FileType | undefined;
  /** The options that the user changed. */
  options: TextOptions;
  /** What the server detected; empty until the first preview. */
  detected: TextOptions;
  /** The options for which another character than the listed ones is typed. */
  typed: ReadonlySet<TextOption>;
  /** Chooses a listed value; undefined leaves the option to the server. */
  choose(key: TextOption, value: string | undefined): void;
  /** Takes what was typed; undefined leaves the option to the server. */
  type(key: TextOption, value: string | undefined): void;
  /** Shows the field for another character. */
  typeCharacter(key: TextOption): void;
}

type Choices = readonly (readonly [value: string, label: string])[];

const DELIMITERS: Choices = [
  [",", "Comma (,)"],
  [";", "Semicolon (;)"],
  ["\t", "Tab"],
  ["|", "Vertical bar (|)"],
  [" ", "Space"],
];
const QUOTES: Choices = [
  ['"', 'Double (")'],
  ["'", "Single (')"],
  ["", "None"],
];
const YES_OR_NO: Choices = [
  ["true", "Yes"],
  ["false", "No"],
];
const DECIMALS: Choices = [
  [".", "Point (1.5)"],
  [",", "Comma (1,5)"],
];
const THOUSANDS: Choices = [
  [".", "Point (1.234)"],
  [",", "Comma (1,234)"],
  ["space", "Space (1 234)"],
  ["'", "Apostrophe (1'234)"],
  ["none", "None (1234)"],
];
const DATES: Choices = [
  ["dmy", "Day first (31.12.2026)"],
  ["mdy", "Month first (12/31/2026)"],
  ["ymd", "Year first (2026/12/31)"],
];
const ENCODINGS: Choices = [
  ["UTF-8", "UTF-8"],
  ["UTF-16LE", "UTF-16 little-endian"],
  ["UTF-16BE", "UTF-16 big-endian"],
  ["latin-1", "Latin-1 (ISO 8859-1)"],
  ["windows-1252", "Windows-1252 (Western)"],
  ["ISO-8859-15", "Latin-9 (ISO 8859-15)"],
  ["windows-1250", "Windows-1250 (Central)"],
  ["ISO-8859-2", "Latin-2 (ISO 8859-2)"],
  ["windows-1251", "Windows-1251 (Cyrillic)"],
  ["KOI8-R", "KOI8-R (Cyrillic)"],
  ["windows-1253", "Windows-1253 (Greek)"],
  ["windows-1254", "Windows-1254 (Turkish)"],
  ["macintosh", "Mac Roman"],
  ["Shift_JIS", "Shift_JIS (Japanese)"],
  ["EUC-JP", "EUC-JP (Japanese)"],
  ["gb18030", "GB 18030, GBK (Chinese)"],
  ["Big5", "Big5 (Chinese)"],
  ["EUC-KR", "EUC-KR (Korean)"],
];

/** The fields of all options that a file of this type has. */
export function optionFields(form: OptionsForm) {
  const { fileType } = form;
  const isDelimited = fileType === "csv" || fileType === "tsv";
  return html`<div class="options">
    ${
      isDelimited
        ? html`${characterField(form, "delimiter", "Delimiter", DELIMITERS)}
          ${characterField(form, "quote", "Quote character", QUOTES)}
          ${choiceField(form, "header", "Header line", YES_OR_NO)}`
        : nothing
    }
    ${choiceField(form, "encoding", "Encoding", ENCODINGS)}
    ${
      isDelimited
        ? html`${choiceField(form, "decimal", "Decimal separator", DECIMALS)}
          ${choiceField(form, "thousands", "Thousands separator", THOUSANDS)}
          ${choiceField(form, "dates", "Dates", DATES)}
          ${textField(form, "escape", "Escape character", "none, e.g. \\")}
          ${textField(form, "comment", "Comment character", "none, e.g. #")}
          ${textField(form, "null", "Words for null", "none, e.g. NA,NULL")}`
        : choiceField(form, "nan", "NaN and Infinity", [["true", "Read as numbers"]], "Refuse")
    }
    ${textField(form, "types", "Column types", "detected, e.g. id:text,price:decimal(12,2)", "wide")}
  </div>`;
}

/** A list of choices, of which the first leaves the option out. */
function choiceField(
  form: OptionsForm,
  key: TextOption,
  label: string,
  choices: Choices,
  otherwise = automatic(form, key, choices),
) {
  const value = form.options[key];
  return html`<label class="option"
    ><span>${label}</span
    ><select
      @change=${(event: Event) => {
        const { value } = event.currentTarget as HTMLSelectElement;
        form.choose(key, value === "" ? undefined : value);
      }}
    >
      <option value="" .selected=${value === undefined}>${otherwise}</option>
      ${choices.map(
        ([choice, text]) =>
          html`<option value=${choice} .selected=${choice === value}>${text}</option>`,
      )}
    </select></label
  >`;
}

/** A list of characters, and a field for another one. */
function characterField(form: OptionsForm, key: TextOption, label: string, choices: Choices) {
  const value = form.options[key];
  const isTyped = form.typed.has(key);
  return html`<div class="option">
    <label
      ><span>${label}</span
      ><select
        @change=${(event: Event) => {
          const { value } = event.currentTarget as HTMLSelectElement;
          if (value === "other") form.typeCharacter(key);
          // The values of choices begin with "=", because a choice may be empty.
          else form.choose(key, value.startsWith("=") ? value.slice(1) : undefined);
        }}
      >
        <option value="auto" .selected=${!isTyped && value === undefined}>
          ${automatic(form, key, choices)}
        </option>
        ${choices.map(
          ([choice, text]) =>
            html`<option value=${`=${choice}`} .selected=${!isTyped && choice === value}>${text}</option>`,
        )}
        <option value="other" .selected=${isTyped}>Other…</option>
      </select></label
    >${isTyped ? textInput(form, key, `${label}: other character`, "one character") : nothing}
  </div>`;
}

function textField(
  form: OptionsForm,
  key: TextOption,
  label: string,
  placeholder: string,
  width = "",
) {
  return html`<label class="option ${width}"
    ><span>${label}</span>${textInput(form, key, label, placeholder)}</label
  >`;
}

function textInput(form: OptionsForm, key: TextOption, label: string, placeholder: string) {
  return html`<input
    type="text"
    data-option=${key}
    aria-label=${label}
    placeholder=${placeholder}
    autocomplete="off"
    autocapitalize="off"
    spellcheck="false"
    .value=${form.options[key] ?? ""}
    @input=${(event: InputEvent) => {
      const { value } = event.currentTarget as HTMLInputElement;
      form.type(key, value === "" ? undefined : value);
    }}
  />`;
}

/** The label of the choice that leaves an option to the server. */
function automatic({ options, detected }: OptionsForm, key: TextOption, choices: Choices): string {
  const value = options[key] === undefined ? detected[key] : undefined;
  if (value === undefined) return "Automatic";
  const label = choices.find(([choice]) => choice === value)?.[1] ?? value;
  return `Automatic: ${/^UTF/.test(label) ? label : label.charAt(0).toLowerCase() + label.slice(1)}`;
}
