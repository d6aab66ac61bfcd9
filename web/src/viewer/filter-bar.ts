import { html, nothing } from "lit";
import type { Predicate } from "../model/predicate.js";
import { conjuncts, describePredicate, withoutPart } from "./filters.js";

/** What rows are filtered by, above them; each part goes with its button. */
export function filterBar(filter: Predicate | null, onFilter: (filter: Predicate | null) => void) {
  if (filter === null) return nothing;
  return html`<div class="chips" role="group" aria-label="Filters">
    ${conjuncts(filter).map((part) => {
      const text = describePredicate(part);
      return html`<span class="chip"
        ><span title=${text}>${text}</span
        ><button
          aria-label=${`Remove filter: ${text}`}
          @click=${() => onFilter(withoutPart(filter, part))}
        >
          ×
        </button></span
      >`;
    })}
    <button @click=${() => onFilter(null)}>Remove all</button>
  </div>`;
}
