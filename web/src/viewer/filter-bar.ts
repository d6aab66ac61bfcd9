import { html, nothing } from "lit";
import type { Predicate } from "../model/predicate.js";
import { conjunctsOf, withoutConjunct } from "./filters.js";
import { describePredicate } from "./predicate-words.js";

export { filterBarStyles as styles } from "./filter-bar-styles.js";

/** The filter bar above the rows. Each conjunct has a button that removes it. */
export function filterBar(filter: Predicate | null, onFilter: (filter: Predicate | null) => void) {
  if (filter === null) return nothing;
  return html`<div class="chips" role="group" aria-label="Filters">
    ${conjunctsOf(filter).map((conjunct) => {
      const text = describePredicate(conjunct);
      return html`<span class="chip"
        ><span title=${text}>${text}</span
        ><button
          aria-label=${`Remove filter: ${text}`}
          @click=${() => onFilter(withoutConjunct(filter, conjunct))}
        >
          ×
        </button></span
      >`;
    })}
    <button @click=${() => onFilter(null)}>Remove all</button>
  </div>`;
}
