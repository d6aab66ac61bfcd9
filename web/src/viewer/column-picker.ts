import { html } from "lit";
import type { Field } from "../model/schema.js";

/** The most columns to list, since a table may have thousands; the search finds the others. */
const MAX_LISTED = 200;

/** A list of the columns whose names contain a text, to show or hide them. */
export function columnPicker({
  fields,
  shown,
  search,
  onSearch,
  onToggle,
  summaries,
  onAll,
  onClose,
}: {
  fields: readonly Field[];
  shown: readonly string[];
  search: string;
  onSearch: (text: string) => void;
  onToggle: (name: string, isShown: boolean) => void;
  summaries: { isShown: boolean };
  onAll: () => void;
  onClose: () => void;
}) {
  const isShown = new Set(shown);
  const text = search.toLowerCase();
  const found = fields.filter(({ name }) => name.toLowerCase().includes(text));
  return html`<div class="panel picker"
    popover
    role="dialog"
    aria-label="Columns"
    @toggle=${({ currentTarget }: ToggleEvent) => {
      if (!(currentTarget as Element).matches(":popover-open")) onClose();
    }}
  >
    <div class="choices">
      <input
        type="search"
        aria-label="Search columns"
        placeholder="Search columns"
        autocomplete="off"
        spellcheck="false"
        .value=${search}
        @input=${(event: InputEvent) => onSearch((event.currentTarget as HTMLInputElement).value)}
      />
      <button ?disabled=${shown.length === fields.length} @click=${onAll}>Show all</button>
    </div>
    <label class="check"
      ><input
        type="checkbox"
        .checked=${summaries.isShown}
        @change=${({ currentTarget }: Event) => {
          summaries.isShown = (currentTarget as HTMLInputElement).checked;
        }}
      />Column summaries</label
    >
    <div class="list" role="group" aria-label="Shown columns">
      ${found.slice(0, MAX_LISTED).map(
        ({ name, type }) => html`<label class="check"
          ><input
            type="checkbox"
            .checked=${isShown.has(name)}
            ?disabled=${shown.length === 1 && isShown.has(name)}
            @change=${(event: Event) => onToggle(name, (event.currentTarget as HTMLInputElement).checked)}
          /><b>${name}</b><small>${type}</small></label
        >`,
      )}
      ${found.length > MAX_LISTED ? html`<small>${found.length - MAX_LISTED} more. Search to find them.</small>` : ""}
      ${found.length === 0 ? html`<small>No matching columns</small>` : ""}
    </div>
  </div>`;
}
