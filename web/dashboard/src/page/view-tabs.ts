import { html, nothing } from "lit";
import type { Subject, View } from "../address/address.js";
import { moveAmongTabs } from "../ui/tab-keys.js";

const VIEWS: Record<"table" | "sql" | "file", readonly View[]> = {
  table: ["rows", "details"],
  sql: ["rows", "plan"],
  file: ["rows"],
};
const LABELS: Record<View, string> = { rows: "Rows", details: "Details", plan: "Plan" };

/** The views of a subject, as tabs. */
export function viewTabs(subject: Subject, current: View, switchView: (view: View) => void) {
  const [kind = "sql"] = Object.keys(subject ?? {}) as (keyof typeof VIEWS)[];
  const views = VIEWS[kind];
  return html`<div class="tabs" role="tablist" aria-label="Views">
    ${views.map(
      (view) => html`<button
        role="tab"
        class="tab"
        aria-selected=${view === current}
        aria-controls=${view === current ? "view" : nothing}
        tabindex=${view === current ? 0 : -1}
        @click=${() => switchView(view)}
        @keydown=${moveAmongTabs}
      >
        ${LABELS[view]}
      </button>`,
    )}
  </div>`;
}
