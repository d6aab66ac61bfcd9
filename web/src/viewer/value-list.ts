import { html, nothing, type TemplateResult } from "lit";
import { formatCount } from "../model/counts.js";
import { ColonnadeError } from "../model/errors.js";
import type { Arranger } from "./arranger.js";
import type { Choice } from "./filter-form.js";
import { formatRows } from "./status.js";
import { countValues, isCountingCostly, MAX_LISTED, type ValueCounts } from "./value-counts.js";

/** The pause in typing before the search starts. */
const REST_MS = 250;
/** Longer texts are cut. */
const MAX_CHARS = 200;

type Value = string | null;

/** The values of a column with their counts, to be checked; counted while the column's menu is open. */
export class ValueList {
  readonly #arranger: Arranger;
  readonly #column: string;
  readonly #onChange: () => void;
  #search = "";
  #counts: ValueCounts | undefined;
  /** The search that was counted last; until the present one is counted, its values are searched. */
  #counted = "";
  #error = "";
  #work: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether the user has to ask for the counts. */
  #isCostly: boolean;

  /** @param onChange the list has to be drawn again */
  constructor(arranger: Arranger, column: string, onChange: () => void) {
    this.#arranger = arranger;
    this.#column = column;
    this.#onChange = onChange;
    this.#isCostly = isCountingCostly(arranger);
    if (!this.#isCostly) void this.#ask();
  }

  /** Stops counting. */
  close(): void {
    clearTimeout(this.#timer);
    this.#work?.abort();
    this.#work = undefined;
  }

  /** The number of rows with a value; empty if it is not known. */
  countOf(wanted: Value): string {
    const { values, numDistinct = 0 } = this.#counts ?? {};
    if (values === undefined) return "";
    const found = values.find(({ value }) => value === wanted);
    const isWhole = wanted === null || numDistinct <= values.length;
    return found || isWhole ? formatCount(found?.count ?? 0) : "";
  }

  /** The list, with what is checked of all values. */
  render(choice: Choice, onChoice: (choice: Choice) => void): TemplateResult {
    const listed = this.#listed(choice);
    const check = (isChecked: boolean, values: readonly Value[]) =>
      onChoice(withChecked(choice, isChecked, values));
    const all = (isChecked: boolean) => {
      if (this.#search !== "") check(isChecked, listed);
      else onChoice({ isExcluding: isChecked, values: new Set(), hasNull: isChecked });
    };
    return html`<div class="values" role="group" aria-label="Values">
      <div class="choices">
        <input
          type="search"
          aria-label="Search values"
          placeholder="Search values"
          autocomplete="off"
          spellcheck="false"
          .value=${this.#search}
          @input=${this.#onInput}
          @keydown=${onKey}
        />
        <button type="button" @click=${() => all(true)}>All</button>
        <button type="button" @click=${() => all(false)}>None</button>
      </div>
      <div class="list" role="group" aria-label="Checked values" aria-busy=${this.#work !== undefined}>
        ${listed.map(
          (value) => html`<label class="check" title=${shortened(value ?? "null")}
            ><input
              type="checkbox"
              .checked=${isChosen(choice, value)}
              @change=${(event: Event) => check((event.currentTarget as HTMLInputElement).checked, [value])}
            /><b class=${value ? nothing : "unusual"}>${wordOf(value)}</b><small>${this.countOf(value)}</small></label
          >`,
        )}
      </div>
      ${this.renderNote()}
    </div>`;
  }

  /** What is to be known about the counts: their progress, their limits, an error. */
  renderNote(): TemplateResult {
    if (this.#error !== "") return html`<p class="warning" role="alert">${this.#error}</p>`;
    if (this.#isCostly) {
      return html`<button type="button" @click=${() => void this.#ask()}>Count the values</button>`;
    }
    return html`<p class="note" aria-live="polite">${this.#work ? "Counting…" : this.#words()}</p>`;
  }

  #words(): string {
    if (this.#counts === undefined) return "";
    const { values, numDistinct, numFirstRows } = this.#counts;
    if (values === undefined) return "Too many different values to count. Type to search.";
    const first = numFirstRows === undefined ? "" : ` of the first ${formatRows(numFirstRows)}`;
    const isSearch = this.#search !== "";
    if (values.length === 0) return isSearch ? `No values match${first}.` : `No values${first}.`;
    const numListed = values.filter(({ value }) => value !== null).length;
    if (numDistinct > numListed) {
      const of = `${formatCount(numDistinct)} ${isSearch ? "values that match" : "values"}`;
      const hint = isSearch ? "" : " Type to search the others.";
      return `The ${formatCount(numListed)} most frequent of ${of}${first}.${hint}`;
    }
    return first === "" ? "" : `Counts${first}.`;
  }

  /** The counted values; without a search, then those that are chosen but not among them. */
  #listed({ values, isExcluding, hasNull }: Choice): Value[] {
    const counted = (this.#counts?.values ?? []).map(({ value }) => value);
    const text = this.#search.toLowerCase();
    if (this.#counted !== this.#search) {
      return counted.filter((value) => value?.toLowerCase().includes(text));
    }
    if (text !== "") return counted;
    const isNullChosen = isExcluding !== hasNull;
    const chosen: Value[] = [...values, ...(isNullChosen ? [null] : [])];
    const known = new Set(counted);
    return [...counted, ...chosen.filter((value) => !known.has(value)).slice(0, MAX_LISTED)];
  }

  readonly #onInput = (event: InputEvent) => {
    this.close();
    this.#search = (event.currentTarget as HTMLInputElement).value;
    this.#timer = setTimeout(() => void this.#ask(), REST_MS);
    this.#onChange();
  };

  async #ask(): Promise<void> {
    const work = new AbortController();
    this.#work = work;
    this.#error = "";
    this.#isCostly = false;
    this.#onChange();
    try {
      const counts = await countValues(this.#arranger, this.#column, this.#search, work.signal);
      if (work !== this.#work) return;
      this.#counts = counts;
      this.#counted = this.#search;
    } catch (thrown) {
      if (work === this.#work) this.#error = ColonnadeError.from(thrown, "cannot_count").message;
    }
    if (work !== this.#work) return;
    this.#work = undefined;
    this.#onChange();
  }
}

/** Enter in the search does not apply the filter. */
function onKey(event: KeyboardEvent): void {
  if (event.key === "Enter") event.preventDefault();
}

function isChosen({ isExcluding, values, hasNull }: Choice, value: Value): boolean {
  return value === null ? hasNull : values.has(value) !== isExcluding;
}

/** A choice after some values were checked or unchecked. */
export function withChecked(choice: Choice, isChecked: boolean, changed: readonly Value[]): Choice {
  const values = new Set(choice.values);
  let { hasNull } = choice;
  for (const value of changed) {
    if (value === null) hasNull = isChecked;
    else if (isChecked !== choice.isExcluding) values.add(value);
    else values.delete(value);
  }
  return { ...choice, values, hasNull };
}

function wordOf(value: Value): string {
  if (value === null) return "null";
  return value === "" ? "(empty)" : shortened(value).replace(/\r\n?|\n/g, "↵");
}

function shortened(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}
