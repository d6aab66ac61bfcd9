import { html, nothing, type TemplateResult } from "lit";
import type { Predicate } from "../model/predicate.js";
import { type Field, filterKindOf, isSortableType, valueType } from "../model/schema.js";
import {
  conjunctsOfForm,
  type FilterForm,
  formOfConjuncts,
  isSame,
  type TextOp,
} from "./filter-form.js";
import { FilterValueError } from "./filter-values.js";
import { conjunctsOfColumn, describePredicate } from "./filters.js";
import { closePanel } from "./panel.js";

/** The column of a menu, and its state. */
export interface ColumnMenuSubject {
  field: Field;
  direction: "ascending" | "descending" | undefined;
  filter: Predicate | null;
}

/** Called for the choices in the menu. */
export interface ColumnMenuCallbacks {
  onSort(column: string, direction: "ascending" | "descending" | undefined): void;
  onFilter(column: string, conjuncts: readonly Predicate[]): void;
  /** The menu has to be drawn again. */
  onChange(): void;
  onClose(): void;
}

/** The menu of a column: a dialog in the page's top layer, below the header. */
export class ColumnMenu {
  readonly #callbacks: ColumnMenuCallbacks;
  #subject: ColumnMenuSubject | undefined;
  /** Why the form was refused. */
  #refusal = "";

  constructor(callbacks: ColumnMenuCallbacks) {
    this.#callbacks = callbacks;
  }

  /** Makes {@link render} show the menu of a column. */
  open(subject: ColumnMenuSubject): void {
    this.#subject = subject;
    this.#refusal = "";
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
        this.#callbacks.onSort(field.name, direction === wanted ? undefined : wanted);
      }}
    >
      ${label}
    </button>`;
    return html`<div class="choices" role="group" aria-label="Sort">
      ${button("↑ Ascending", "ascending")} ${button("↓ Descending", "descending")}
    </div>`;
  }

  #filter({ field, filter }: ColumnMenuSubject): TemplateResult {
    const kind = filterKindOf(field.type);
    const conjuncts = conjunctsOfColumn(filter, field.name);
    const { form, edited, others } = formOfConjuncts(field, conjuncts);
    const set = (event: Event, changed: readonly Predicate[]) => {
      closePanel(event);
      this.#callbacks.onFilter(field.name, changed);
    };
    const onSubmit = (event: SubmitEvent) => {
      event.preventDefault();
      const read = readForm(new FormData(event.currentTarget as HTMLFormElement));
      const made = this.#conjunctsOf(field, read);
      if (made === undefined) return;
      if (isSame(made, edited)) closePanel(event);
      else set(event, [...others, ...made]);
    };
    return html`<form aria-label="Filter" @submit=${onSubmit}>
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
      ${kind === "boolean" ? valueFields(form) : nullFields(form)}
      ${this.#refusal === "" ? nothing : html`<p class="warning" role="alert">${this.#refusal}</p>`}
      <div class="choices">
        <button type="submit" class="main">Apply filter</button>
        ${
          conjuncts.length === 0
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
      this.#callbacks.onChange();
      return undefined;
    }
  }

  #onToggle({ currentTarget }: ToggleEvent): void {
    const panel = currentTarget as Element;
    if (panel.matches(":popover-open") || this.#subject === undefined) return;
    this.#subject = undefined;
    this.#callbacks.onClose();
  }
}

function rangeFields({ from, to }: FilterForm, { type }: Field): TemplateResult {
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
    ${field("To", "Pick the last day", "to", to)}`;
}

/** Writes a day that was picked into the field beside the calendar. */
function onPick({ currentTarget }: Event): void {
  const picker = currentTarget as HTMLInputElement;
  const field = picker.parentElement?.querySelector<HTMLInputElement>("input[name]");
  if (field != null && picker.value !== "") field.value = picker.value;
}

const TEXT_OPS: [TextOp, string][] = [
  ["contains", "Contains"],
  ["starts_with", "Starts with"],
  ["eq", "Is exactly"],
];

function textFields({ op, text }: FilterForm): TemplateResult {
  return html`<div class="choices">
    <select name="op" aria-label="Condition">
      ${TEXT_OPS.map(([value, label]) => html`<option value=${value} ?selected=${value === op}>${label}</option>`)}
    </select>
    <input name="text" aria-label="Text" .value=${text} autocomplete="off" spellcheck="false" />
  </div>`;
}

function valueFields({ values }: FilterForm): TemplateResult {
  return html`<div class="choices" role="group" aria-label="Values">
    ${["true", "false", "null"].map(
      (value) => html`<label class="check"
        ><input type="checkbox" name="values" value=${value} .checked=${values.includes(value)} />${value}</label
      >`,
    )}
  </div>`;
}

const NULLS: [FilterForm["nulls"], string][] = [
  ["any", "Any"],
  ["none", "Not null"],
  ["only", "Only null"],
];

function nullFields({ nulls }: FilterForm): TemplateResult {
  return html`<div class="choices" role="radiogroup" aria-label="Nulls">
    ${NULLS.map(
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
    op: (text("op") || "contains") as TextOp,
    text: text("text"),
    values: data.getAll("values").map(String),
    nulls: (text("nulls") || "any") as FilterForm["nulls"],
  };
}
