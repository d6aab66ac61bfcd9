import type { ColonnadeViewer } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { formatCount, formatRows } from "../text/format.js";
import { predicateText } from "./predicate-text.js";

/** The visible cells, to be printed. */
interface VisibleRows {
  title: string;
  headers: { name: string; isNumber: boolean }[];
  rows: { number: number; cells: string[] }[];
  /** Texts for the filter and the order. */
  notes: string[];
}

/** The visible rows as a plain table; a print of the page shows nothing else. */
export class PrintSheet extends LitElement {
  static override properties: PropertyDeclarations = {
    viewer: { attribute: false },
    visible: { state: true },
  };

  /** The viewer of the rows. */
  declare viewer: ColonnadeViewer;
  declare visible: VisibleRows | undefined;
  readonly #media = matchMedia("print");
  readonly #onPrint = () => {
    this.visible = this.viewer.table === undefined ? undefined : visibleRowsOf(this.viewer);
    // The browser prints the page as it is when this listener returns.
    this.performUpdate();
  };
  readonly #onMedia = ({ matches }: MediaQueryListEvent) => {
    if (matches) this.#onPrint();
  };

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("beforeprint", this.#onPrint);
    this.#media.addEventListener("change", this.#onMedia);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("beforeprint", this.#onPrint);
    this.#media.removeEventListener("change", this.#onMedia);
  }

  protected override render() {
    const { visible } = this;
    if (visible === undefined) return nothing;
    return html`<h1>${visible.title}</h1>
      ${visible.notes.map((note) => html`<p>${note}</p>`)}
      <table>
        <thead>
          <tr>
            <th scope="col">Row</th>
            ${visible.headers.map(
              ({ name, isNumber }) =>
                html`<th scope="col" class=${isNumber ? "number" : ""}>${name}</th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${visible.rows.map(
            ({ number, cells }) =>
              html`<tr>
                <th scope="row">${formatCount(number)}</th>
                ${cells.map(
                  (cell, index) =>
                    html`<td class=${visible.headers[index]?.isNumber ? "number" : ""}>${cell}</td>`,
                )}
              </tr>`,
          )}
        </tbody>
      </table>`;
  }
}

/** Reads the visible cells of the grid by their ARIA roles. */
function visibleRowsOf(viewer: ColonnadeViewer): VisibleRows {
  const grid = viewer.shadowRoot?.querySelector("[role=grid]");
  const headers = inOrder(grid, "[role=columnheader]", "aria-colindex");
  const stage = grid?.getBoundingClientRect() ?? new DOMRect();
  const top = Math.max(
    stage.top,
    ...headers.map((header) => header.getBoundingClientRect().bottom),
  );
  const columns = headers.map((header) => header.getAttribute("aria-colindex"));
  const rows = inOrder(grid, "[role=row]", "aria-rowindex").flatMap((row) => {
    const cells = inOrder(row, "[role=gridcell]", "aria-colindex");
    const box = (cells[0] ?? row).getBoundingClientRect();
    const middle = (box.top + box.bottom) / 2;
    if (cells.length === 0 || middle < top || middle > stage.bottom) return [];
    const byColumn = new Map(cells.map((cell) => [cell.getAttribute("aria-colindex"), cell]));
    // The header is the first row of the grid.
    const number = Number(row.getAttribute("aria-rowindex")) - 1;
    return [{ number, cells: columns.map((column) => textOf(byColumn.get(column))) }];
  });
  const numColumns = Number(grid?.getAttribute("aria-colcount"));
  return {
    title: document.title.replace(/ – Colonnade$/, ""),
    headers: headers.map((header) => headerOf(header, viewer)),
    rows,
    notes: notesOf(viewer, rows, columns.length, numColumns),
  };
}

function inOrder(root: Element | null | undefined, selector: string, index: string): HTMLElement[] {
  return [...(root?.querySelectorAll<HTMLElement>(selector) ?? [])]
    .filter((element) => element.hasAttribute(index) && element.checkVisibility())
    .sort((a, b) => Number(a.getAttribute(index)) - Number(b.getAttribute(index)));
}

function headerOf(header: Element, viewer: ColonnadeViewer): VisibleRows["headers"][number] {
  const name = viewer.columns[Number(header.getAttribute("aria-colindex")) - 1] ?? textOf(header);
  const type = viewer.table?.schema.fields.find((field) => field.name === name)?.type ?? "";
  return { name, isNumber: /^(?:u?int|halffloat|float|double|decimal)/.test(type) };
}

function textOf(element: Element | undefined): string {
  return element?.textContent?.trim() ?? "";
}

function notesOf(
  viewer: ColonnadeViewer,
  rows: VisibleRows["rows"],
  numShown: number,
  numColumns: number,
): string[] {
  const { sort, filter } = viewer;
  const total = viewer.shadowRoot?.querySelector("[part=status] .count")?.textContent?.trim();
  const [first, last] = [rows[0]?.number, rows.at(-1)?.number];
  const notes: string[] = [];
  if (first !== undefined && last !== undefined) {
    const of = total === undefined ? "" : ` of ${total}`;
    const columns = numShown < numColumns ? `, ${numShown} of ${numColumns} columns` : "";
    notes.push(
      `Rows ${formatCount(first)} to ${formatCount(last)}${of} (${formatRows(rows.length)}${columns})`,
    );
  }
  if (filter !== null) notes.push(`Filter: ${predicateText(filter)}`);
  if (sort.length > 0) {
    const keys = sort.map(
      ({ column, descending }) => `${column}${descending ? ", descending" : ""}`,
    );
    notes.push(`Sorted by ${keys.join("; then ")}`);
  }
  return notes;
}
