import { html, nothing, type TemplateResult } from "lit";
import type { Predicate } from "../model/predicate.js";
import { type Field, filterKindOf, isSortableType, valueType } from "../model/schema.js";
import type { Arranger } from "./arranger.js";
import {
  choiceOfForm,
  conjunctsOfForm,
  EMPTY_FORM,
  type FilterForm,
  type FormContent,
  formOfChoice,
  formOfConjuncts,
  isSame,
  type TextOp,
} from "./filter-form.js";
import { FilterValueError } from "./filter-values.js";
import { conjunctsOfColumn } from "./filters.js";
import { closePanel } from "./panel.js";
import { describePredicate } from "./predicate-words.js";
import { ValueList } from "./value-list.js";

/** The column of a menu, and its state. */
export interface ColumnMenuSubject {
  field: Field;
  direction: "ascending" | "descending" | undefined;
  filter: Predicate | null;
}

/** What the menu needs: the rows, to count their values, and who is called for the choices. */
export interface ColumnMenuHost {
  arranger: Arranger;
  onSort(column: string, direction: "ascending" | "descending" | undefined): void;
  onFilter(column: string, conjuncts: readonly Predicate[]): void;
  /** The menu has to be drawn again. */
  onChange(): void;
  onClose(): void;
}

const NO_FIELD: Field = { name: "", type: "null", nullable: true, metadata: {} };

/** The menu of a column: a dialog in the page's top layer, below the header. */
export class ColumnMenu {
  readonly #host: ColumnMenuHost;
  #subject: ColumnMenuSubject | undefined;
  /** The filter of the column when the menu was opened. */
  #content: FormContent = formOfConjuncts(NO_FIELD, []);
  /** The form as it was changed since. */
  #form: FilterForm = EMPTY_FORM;
  /** The values of a column of text or booleans. */
  #values: ValueList | undefined;
  /** Why the form was refused. */
  #refusal = "";

  constructor(host: ColumnMenuHost) {
    this.#host = host;
  }

  /** Makes {@link render} show the menu of a column. */
  open(subject: ColumnMenuSubject): void {
    const { field, filter } = subject;
    const { arranger, onChange } = this.#host;
    this.#subject = subject;
    this.#refusal = "";
    this.#content = formOfConjuncts(field, conjunctsOfColumn(filter, field.name));
    this.#form = this.#content.form;
    this.#values?.close();
    const isListed = ["text", "boolean"].includes(filterKindOf(field.type));
    this.#values = isListed ? new ValueList(arranger, field.name, onChange) : undefined;
  }

  /** @param actions further actions on the column */
  render(actions: () => TemplateResult | undefined): TemplateResult | typeof nothing {
    const subject = this.#subject;
    if (subject === undefined) return nothing;
    const { field } = subject;
    return html`<div
      class="panel column"
      popover
      role="dialog"
      aria-label=${`Column ${field.name}`}
      @toggle=${(event: ToggleEvent) => this.#onToggle(event)}
    >
      ${isSortableType(field.type) ? this.#sorting(subject) : nothing} ${this.#filter(subject)}
      ${actions()}
    </div>`;
  }

  #sorting({ field, direction }: ColumnMenuSubject): TemplateResult {
    const button = (label: string, wanted: typeof direction) => html`<button
      aria-pressed=${direction === wanted}
      @click=${(event: Event) => {
        closePanel(event);
        this.#host.onSort(field.name, direction === wanted ? undefined : wanted);
      }}
    >
      ${label}
    </button>`;
    return html`<div class="choices" role="group" aria-label="Sort">
      ${button("↑ Ascending", "ascending")} ${button("↓ Descending", "descending")}
    </div>`;
  }

  #filter({ field }: ColumnMenuSubject): TemplateResult {
    const kind = filterKindOf(field.type);
    const { edited, others } = this.#content;
    const form = this.#form;
    const set = (event: Event, changed: readonly Predicate[]) => {
      closePanel(event);
      this.#host.onFilter(field.name, changed);
    };
    const onInput = ({ target, currentTarget }: Event) => {
      const { name } = target as HTMLInputElement;
      if (name === "") return;
      const read = readForm(new FormData(currentTarget as HTMLFormElement));
      // A chosen value may have line breaks, which the field does not show.
      this.#form = name === "text" ? read : { ...read, text: this.#form.text };
      this.#host.onChange();
    };
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault();
      const made = this.#conjunctsOf(field, this.#form);
      if (made === undefined) return;
      if (isSame(made, edited)) closePanel(event);
      else set(event, [...others, ...made]);
    };
    return html`<form aria-label="Filter" @input=${onInput} @submit=${onSubmit}>
      ${others.map((conjunct) => {
        const text = describePredicate(conjunct);
        const left = [...edited, ...others].filter((other) => other !== conjunct);
        return html`<span class="chip"
          ><span title=${text}>${text}</span
          ><button type="button" aria-label=${`Remove: ${text}`} @click=${(event: Event) => set(event, left)}>
            ×
          </button></span
        >`;
      })}
      ${kind === "range" ? rangeFields(form, field) : nothing}
      ${kind === "text" ? textFields(form) : nothing}
      ${
        kind === "text"
          ? this.#values?.render(choiceOfForm(form), (choice) => {
              this.#form = formOfChoice(choice);
              this.#host.onChange();
            })
          : nothing
      }
      ${kind === "boolean" ? valueFields(form, this.#values) : nullFields(form, kind === "text")}
      ${this.#refusal === "" ? nothing : html`<p class="warning" role="alert">${this.#refusal}</p>`}
      <div class="choices">
        <button type="submit" class="main">Apply filter</button>
        ${
          edited.length + others.length === 0
            ? nothing
            : html`<button type="button" @click=${(event: Event) => set(event, [])}>
                Remove filter
              </button>`
        }
      </div>
    </form>`;
  }

  /** The conjuncts of the form; undefined if it is refused, and then what was typed stays. */
  #conjunctsOf(field: Field, form: FilterForm): Predicate[] | undefined {
    try {
      return conjunctsOfForm(field, form);
    } catch (thrown) {
      if (!(thrown instanceof FilterValueError)) throw thrown;
      this.#refusal = thrown.message;
      this.#host.onChange();
      return undefined;
    }
  }

  #onToggle({ currentTarget }: ToggleEvent): void {
    const panel = currentTarget as Element;
    if (panel.matches(":popover-open") || this.#subject === undefined) return;
    this.#subject = undefined;
    this.#values?.close();
    this.#host.onClose();
  }
}

function rangeFields({ from, to, not }: FilterForm, { type }: Field): TemplateResult {
  const values = valueType(type);
  const isDate = values.startsWith("date");
  const hasDays = isDate || values.startsWith("timestamp");
  const example = isDate ? "2024-07-01" : hasDays ? "2024-07-01 12:00" : "";
  const picker = (label: string, value: string) => html`<input
    type="date"
    aria-label=${label}
    .value=${/^\d{4}-\d\d-\d\d/.exec(value)?.[0] ?? ""}
    @change=${onPick}
  />`;
  const field = (
    label: string,
    day: string,
    name: string,
    value: string,
  ) => html`<div class="bound">
    <label
      ><span>${label}</span
      ><input name=${name} .value=${value} placeholder=${example} autocomplete="off" spellcheck="false"
    /></label>
    ${hasDays ? picker(day, value) : nothing}
  </div>`;
  return html`${field("From", "Pick the first day", "from", from)}
    ${field("To", "Pick the last day", "to", to)} ${field("Not", "Pick a day to exclude", "not", not)}`;
}

/** Writes a day that was picked into the field beside the calendar. */
function onPick({ currentTarget }: Event): void {
  const picker = currentTarget as HTMLInputElement;
  const field = picker.parentElement?.querySelector<HTMLInputElement>("input[name]");
  if (field == null || picker.value === "") return;
  field.value = picker.value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

const TEXT_OPS: [TextOp, string][] = [
  ["contains", "Contains"],
  ["not_contains", "Does not contain"],
  ["starts_with", "Starts with"],
  ["eq", "Is exactly"],
  ["ne", "Is not"],
  ["in", "Is one of"],
  ["not_in", "Is none of"],
  ["empty", "Is empty"],
  ["not_empty", "Is not empty"],
];

function textFields({ op, text }: FilterForm): TemplateResult {
  const isList = op === "in" || op === "not_in";
  return html`<div class="choices">
    <select name="op" aria-label="Condition" .value=${op}>
      ${TEXT_OPS.map(([value, label]) => html`<option value=${value} ?selected=${value === op}>${label}</option>`)}
    </select>
    <input
      name="text"
      aria-label="Text"
      title=${isList ? "Separate the values by commas. A value in double quotes may hold commas." : nothing}
      placeholder=${isList ? "a, b, c" : ""}
      ?disabled=${op === "empty" || op === "not_empty"}
      .value=${text}
      autocomplete="off"
      spellcheck="false"
    />
  </div>`;
}

function valueFields({ values }: FilterForm, list: ValueList | undefined): TemplateResult {
  return html`<div class="choices" role="group" aria-label="Values">
      ${["true", "false", "null"].map(
        (value) => html`<label class="check"
          ><input type="checkbox" name="values" value=${value} .checked=${values.includes(value)} />${value}
          <small>${list?.countOf(value === "null" ? null : value)}</small></label
        >`,
      )}
    </div>
    ${list?.renderNote()}`;
}

const NULLS: [FilterForm["nulls"], string][] = [
  ["any", "Any"],
  ["none", "Not null"],
  ["only", "Only null"],
];

function nullFields({ nulls }: FilterForm, isOfTexts: boolean): TemplateResult {
  const choices: typeof NULLS = isOfTexts ? [...NULLS, ["also", "Or null"]] : NULLS;
  return html`<div class="choices" role="radiogroup" aria-label="Nulls">
    ${choices.map(
      ([value, label]) => html`<label class="check"
        ><input type="radio" name="nulls" value=${value} .checked=${value === nulls} />${label}</label
      >`,
    )}
  </div>`;
}

function readForm(data: FormData): FilterForm {
  const text = (name: string) => String(data.get(name) ?? "");
  return {
    from: text("from"),
    to: text("to"),
    not: text("not"),
    op: (text("op") || "contains") as TextOp,
    text: text("text"),
    values: data.getAll("values").map(String),
    nulls: (text("nulls") || "any") as FilterForm["nulls"],
  };
}
