import { html, type TemplateResult } from "lit";
import type { ColumnsState } from "./column-order.js";
import { closePanel } from "./panel.js";

/**
 * The buttons of a column's menu that move, pin, fit and hide it, and the page's own: children of the element with
 * `slot="column NAME"`.
 */
export function columnActions({
  name,
  state: { shown, pinned },
  onMove,
  onPin,
  onFit,
  onHide,
}: {
  name: string;
  state: ColumnsState;
  /** Columns are counted from 0, as shown. */
  onMove(column: number, to: number): void;
  onPin(isPinned: boolean): void;
  onFit(column: number): void;
  onHide(): void;
}): TemplateResult {
  const isPinned = pinned.includes(name);
  const column = shown.indexOf(name);
  const action = (label: string, act: () => void, isDisabled = false) => html`<button
      ?disabled=${isDisabled}
      @click=${(event: Event) => {
        closePanel(event);
        act();
      }}
    >
      ${label}
    </button>`;
  const [first, last] = isPinned ? [0, pinned.length - 1] : [pinned.length, shown.length - 1];
  // Columns run from left to right in every page, and so do these buttons.
  return html`<div class="choices" role="group" aria-label="Column" dir="ltr">
      ${action("← Move left", () => onMove(column, column - 1), column <= first)}
      ${action("Move right →", () => onMove(column, column + 1), column >= last)}
      ${action(isPinned ? "Unpin" : "Pin left", () => onPin(!isPinned))}
      ${action("Fit width", () => onFit(column))}
      ${action("Hide", onHide, shown.length === 1)}
      <slot name=${`column ${name}`}></slot>
    </div>`;
}
