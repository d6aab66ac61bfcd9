// The menu of a cell, loaded when one first opens.
import { css, html, render, type TemplateResult } from "lit";
import type { CellRect } from "../grid/cache.js";
import type { Grid } from "../grid/grid.js";
import type { CellPosition } from "../grid/keyboard.js";
import { formatCount } from "../model/counts.js";
import type { Predicate } from "../model/predicate.js";
import { CellKind } from "../model/row-window.js";
import { distinctFields, type Field } from "../model/schema.js";
import { type CellChoice, cellChoices, valuesChoice, withChoice } from "./cell-choices.js";
import type { ShownRows } from "./clipboard.js";
import { openPanel } from "./panel.js";
import { panelStyles } from "./panel-styles.js";

/** A finger that rests for so long, and moves less, opens the menu. */
const LONG_PRESS_MS = 500;
const PRESS_PX = 10;
/** More selected rows than this get no filter by their values. */
const MAX_ROWS = 1000;

export const styles = css`
  ${panelStyles}
  .cell-menu {
    width: max-content;
    padding: 4px;
  }
  .cell-menu > button {
    display: block;
    width: 100%;
    padding: 0 10px;
    overflow: hidden;
    border: 0;
    text-align: start;
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .cell-menu > button:is(:hover, :focus-visible) {
    background: var(--_hover);
  }
`;

/** What the menu needs of the viewer. */
export interface CellMenuHost {
  grid: Grid;
  viewer: { filter: Predicate | null; readonly shadowRoot: ShadowRoot | null };
  /** Copies the selected cells. */
  copy(): Promise<void>;
  /** Shows a whole cell. */
  inspect(position: CellPosition): Promise<void>;
  shown(): ShownRows | undefined;
  rect(): CellRect | undefined;
}

/** Opens the menu of a cell: for a press, once the finger has rested there. */
export function cellMenu(
  host: CellMenuHost,
  position: CellPosition,
  cell: HTMLElement,
  isPress: boolean,
): void {
  if (isPress) afterLongPress(() => void open(host, position, cell));
  else void open(host, position, cell);
}

function afterLongPress(act: () => void): void {
  const listening = new AbortController();
  const { signal } = listening;
  const timer = setTimeout(() => {
    listening.abort();
    // Lifting the finger would click the cell, and so close the menu.
    const lifting = new AbortController();
    const onLift = (event: TouchEvent) => {
      lifting.abort();
      if (event.type === "touchend") event.preventDefault();
    };
    const options = { signal: lifting.signal, capture: true, passive: false };
    addEventListener("touchend", onLift, options);
    addEventListener("touchcancel", onLift, options);
    act();
  }, LONG_PRESS_MS);
  const end = () => {
    clearTimeout(timer);
    listening.abort();
  };
  let first: PointerEvent | undefined;
  const onMove = (event: PointerEvent) => {
    first ??= event;
    const { clientX, clientY } = first;
    if (Math.hypot(event.clientX - clientX, event.clientY - clientY) > PRESS_PX) end();
  };
  addEventListener("pointermove", onMove, { signal });
  for (const type of ["pointerup", "pointercancel", "scroll"]) {
    addEventListener(type, end, { signal, capture: true });
  }
}

async function open(host: CellMenuHost, position: CellPosition, cell: HTMLElement): Promise<void> {
  const { grid, viewer } = host;
  const shown = host.shown();
  const root = viewer.shadowRoot;
  const at = shown?.columns[position.column];
  const field = distinctFields(shown?.fields ?? [])[at ?? -1];
  if (shown === undefined || root === null || at === undefined || field === undefined) return;
  const selected = host.rect();
  const isSelected =
    selected !== undefined &&
    position.row >= selected.rowStart &&
    position.row < selected.rowEnd &&
    position.column >= selected.columnStart &&
    position.column < selected.columnEnd;
  if (!isSelected) grid.show(position);
  grid.focus();
  const rows = isSelected ? selected : { rowStart: position.row, rowEnd: position.row + 1 };
  const choices = await choicesOf(shown, at, field, position.row, rows);
  // Other rows may be shown by now.
  if (host.shown()?.rows !== shown.rows) return;
  root.querySelector<HTMLElement>(".cell-menu")?.hidePopover();
  const panel = document.createElement("div");
  panel.className = "panel cell-menu";
  // An automatic popover would close when the button or the finger that opened it is released.
  panel.popover = "manual";
  panel.role = "menu";
  panel.ariaLabel = `${field.name}, row ${formatCount(position.row + 1)}`;
  const choose = (choice: CellChoice) => {
    viewer.filter = withChoice(viewer.filter, field, choice);
  };
  const item = (label: string, value: string, act: () => void): TemplateResult => html`<button
    role="menuitem"
    tabindex="-1"
    @click=${() => {
      panel.hidePopover();
      act();
    }}
  >
    ${label}${value === "" ? "" : html` <bdi>${value}</bdi>`}
  </button>`;
  render(
    html`${choices.map((choice) => item(choice.label, choice.value, () => choose(choice)))}
    ${item("Copy", "", () => void host.copy().catch(() => undefined))}
    ${item("Inspect", "", () => void host.inspect(position))}`,
    panel,
  );
  listen(panel);
  root.append(panel);
  openPanel(panel, cell.isConnected ? cell : grid.element, () => grid.focus());
}

/** The filters by a cell and by the selected cells of its column; none of them if they cannot be read. */
async function choicesOf(
  { rows }: ShownRows,
  column: number,
  field: Field,
  row: number,
  { rowStart, rowEnd }: Pick<CellRect, "rowStart" | "rowEnd">,
): Promise<CellChoice[]> {
  const textsOf = async (start: number, end: number) => {
    const window = await rows.window({ start, end }, Uint32Array.of(column), 0);
    return Array.from({ length: window.end - window.start }, (_, index) => {
      const kind = window.kind(start + index, 0);
      if (kind === CellKind.null) return null;
      return kind === CellKind.raw ? undefined : window.text(start + index, 0);
    });
  };
  try {
    const [text] = await textsOf(row, row + 1);
    const numRows = rowEnd - rowStart;
    const texts = numRows > 1 && numRows <= MAX_ROWS ? await textsOf(rowStart, rowEnd) : [];
    const chosen = valuesChoice(field, texts);
    return [...cellChoices(field, text), ...(chosen === undefined ? [] : [chosen])];
  } catch {
    return [];
  }
}

/** Keys of the ARIA menu pattern, and what closes the menu. */
function listen(panel: HTMLElement): void {
  const listening = new AbortController();
  const { signal } = listening;
  panel.addEventListener("toggle", ({ newState }) => {
    if (newState === "open") return;
    listening.abort();
    panel.remove();
  });
  panel.addEventListener("contextmenu", (event) => event.preventDefault());
  panel.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !panel.contains(relatedTarget)) panel.hidePopover();
  });
  panel.addEventListener("keydown", (event) => {
    const items = [...panel.querySelectorAll<HTMLElement>("button")];
    const at = items.indexOf((panel.getRootNode() as ShadowRoot).activeElement as HTMLElement);
    const targets: Record<string, number> = {
      ArrowDown: (at + 1) % items.length,
      ArrowUp: (at || items.length) - 1,
      Home: 0,
      End: items.length - 1,
    };
    const to = targets[event.key];
    if (to !== undefined) items[to]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") panel.hidePopover();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const onPress = (event: Event) => {
    if (!event.composedPath().includes(panel)) panel.hidePopover();
  };
  for (const type of ["pointerdown", "wheel"]) {
    addEventListener(type, onPress, { signal, capture: true });
  }
  addEventListener("blur", onPress, { signal });
}
