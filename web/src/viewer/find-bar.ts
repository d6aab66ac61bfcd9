import { html, nothing } from "lit";
import type { CellRect } from "../grid/cache.js";
import type { CellPosition } from "../grid/keyboard.js";
import { type CellMark, markKey } from "../grid/rows.js";
import { formatCount } from "../model/counts.js";
import { distinctNames } from "../model/distinct-names.js";
import { ColonnadeError } from "../model/errors.js";
import type { Predicate } from "../model/predicate.js";
import type { ShownRows } from "./clipboard.js";
import { conjunction, conjunctsOf } from "./filters.js";
import { Matches } from "./matches.js";

export { findStyles as styles } from "./find-styles.js";

/** What the find bar needs of the viewer. */
export interface FindBarHost {
  /** The viewer, whose filter can be changed. */
  readonly viewer: { filter: Predicate | null; readonly shadowRoot: ShadowRoot | null };
  requestUpdate(): void;
  /** Resolves when rendering is done. */
  whenUpdated(): Promise<boolean>;
  shown(): ShownRows | undefined;
  /** The selected cells; undefined if nothing is selected. */
  rect(): CellRect | undefined;
  /** The cell where the search begins. */
  active(): CellPosition;
  /** Scrolls a cell into view and selects it. */
  goTo(position: CellPosition): void;
  mark(marks: ReadonlyMap<string, CellMark>): void;
  /** Called when the bar is closed. */
  onClose(): void;
}

/** Matching rows per request. */
const ROWS_PER_REQUEST = 1000;
/** The search stops at this many matches. */
const MAX_MATCHES = 100_000;
/** The pause in typing before the search starts. */
const REST_MS = 250;

/** The find bar above the rows: finds a text in cells and column names. */
export class FindBar {
  readonly #host: FindBarHost;
  #isOpen = false;
  #text = "";
  #matchCase = false;
  /** The names of the columns to search; undefined for all. */
  #within: readonly string[] | undefined;
  #matches = new Matches();
  #marks = new Map<string, CellMark>();
  #numMarked = 0;
  /** The mark of the current match. */
  #marked: string | undefined;
  #columns: number[] = [];
  #search: AbortController | undefined;
  #searchedRows = 0;
  #isStopped = false;
  /** Whether the search for the typed text has not started yet. */
  #isAwaited = false;
  #error: ColonnadeError | undefined;
  #restTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: FindBarHost) {
    this.#host = host;
  }

  get #input(): HTMLInputElement | null | undefined {
    return this.#host.viewer.shadowRoot?.querySelector(".find input");
  }

  /** Opens the bar, or gives it the focus again. */
  async open(): Promise<void> {
    if (!this.#isOpen) this.#begin(false);
    this.#isOpen = true;
    this.#host.requestUpdate();
    await this.#host.whenUpdated();
    this.#input?.focus();
    this.#input?.select();
  }

  /** Closes the bar, stops the search and removes the marks. */
  close(): void {
    if (!this.#isOpen) return;
    this.#reset();
    this.#isOpen = false;
    this.#host.requestUpdate();
    this.#host.onClose();
  }

  #reset(): void {
    clearTimeout(this.#restTimer);
    this.#search?.abort();
    this.#search = undefined;
    this.#matches = new Matches();
    this.#columns = [];
    this.#searchedRows = 0;
    this.#isStopped = false;
    this.#error = undefined;
    this.#marks = new Map();
    this.#numMarked = 0;
    this.#marked = undefined;
    this.#host.mark(this.#marks);
  }

  /** Searches the same text in other rows, without moving to a match. */
  again(): void {
    this.#begin(false);
  }

  /** Renders the bar; nothing while it is closed. */
  render() {
    if (!this.#isOpen) return nothing;
    const isSearching = this.#search !== undefined;
    return html`<search class="find" part="find" @keydown=${this.#onKey}>
      <input
        aria-label="Find in cells and column names"
        placeholder="Find"
        autocomplete="off"
        spellcheck="false"
        .value=${this.#text}
        @input=${this.#onInput}
      />
      <label><input type="checkbox" .checked=${this.#matchCase} @change=${this.#onCase} />Match case</label>
      <label title="Search only the selected columns">
        <input type="checkbox" .checked=${this.#within !== undefined} @change=${this.#onWithin} />${
          this.#within === undefined
            ? "Selected columns only"
            : `In ${this.#within.length === 1 ? this.#within[0] : `${this.#within.length} columns`} only`
        }</label
      >
      <span class="found" aria-live="polite">${this.#words()}</span>
      <button
        title="Filter: rows with a cell that contains the text"
        ?disabled=${this.#text === ""}
        @click=${() => this.#filter()}
      >
        Only these rows
      </button>
      ${isSearching ? html`<button @click=${() => this.#stop()}>Stop</button>` : nothing}
      <button aria-label="Previous match" title="Previous match (Shift+Enter)" @click=${() => this.#go(-1)}>↑</button>
      <button aria-label="Next match" title="Next match (Enter)" @click=${() => this.#go(1)}>↓</button>
      <button aria-label="Close find" title="Close (Escape)" @click=${() => this.close()}>✕</button>
    </search>`;
  }

  #words(): string {
    if (this.#text === "" || this.#isAwaited) return "";
    if (this.#error !== undefined) return this.#error.message;
    const { count, number } = this.#matches;
    const isSearching = this.#search !== undefined;
    const isPartial = isSearching || this.#isStopped || count >= MAX_MATCHES;
    const total = `${formatCount(count)}${isPartial ? "+" : ""}`;
    const names = this.#columns.length;
    const inNames = names === 0 ? "" : `, ${names} column ${names === 1 ? "name" : "names"}`;
    const progress = isSearching ? `, ${formatCount(this.#searchedRows)} rows searched…` : "";
    if (count === 0 && !isSearching) return `No match${this.#isStopped ? " so far" : ""}${inNames}`;
    const words = number === 0 ? `${total} matches` : `match ${formatCount(number)} of ${total}`;
    return words + inNames + progress;
  }

  readonly #onInput = (event: InputEvent) => {
    this.#text = (event.currentTarget as HTMLInputElement).value;
    this.#begin();
  };

  readonly #onCase = (event: Event) => {
    this.#matchCase = (event.currentTarget as HTMLInputElement).checked;
    this.#begin();
  };

  readonly #onWithin = (event: Event) => {
    const box = event.currentTarget as HTMLInputElement;
    const { columnStart = 0, columnEnd = 0 } = this.#host.rect() ?? {};
    const length = box.checked ? columnEnd - columnStart : 0;
    const names = this.#namesOf(Array.from({ length }, (_, index) => columnStart + index));
    this.#within = names.length === 0 ? undefined : names;
    box.checked = this.#within !== undefined;
    this.#begin();
  };

  /** The distinct names of columns, by their position on the screen. */
  #namesOf(positions: readonly number[]): string[] {
    const shown = this.#host.shown();
    const all = distinctNames((shown?.fields ?? []).map(({ name }) => name));
    return positions.flatMap((position) => all[shown?.columns[position] ?? -1] ?? []);
  }

  readonly #onKey = (event: KeyboardEvent) => {
    // In Safari, the key that ends the composition of an input method comes after its end, with this code.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && event.target === this.#input) {
      this.#go(event.shiftKey ? -1 : 1);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  /** @param isGone whether to move to the first match */
  #begin(isGone = true): void {
    this.#reset();
    this.#isAwaited = true;
    this.#restTimer = setTimeout(() => void this.#find(isGone), REST_MS);
    this.#host.requestUpdate();
  }

  #stop(): void {
    this.#search?.abort();
    this.#search = undefined;
    this.#isStopped = true;
    this.#host.requestUpdate();
  }

  /** Adds the search to the filter. Hidden columns are not searched. */
  #filter(): void {
    const { viewer } = this.#host;
    const { columns = [], fields = [] } = this.#host.shown() ?? {};
    const isAll = columns.length === fields.length;
    const within = this.#within ?? (isAll ? undefined : this.#namesOf([...columns.keys()]));
    const matches: Predicate = {
      op: "matches",
      value: this.#text,
      ...(within && { columns: within }),
      ...(this.#matchCase && { match_case: true }),
    };
    viewer.filter = conjunction([...conjunctsOf(viewer.filter), matches]);
  }

  #go(by: 1 | -1): void {
    const position = this.#matches.step(by);
    if (position !== undefined) {
      this.#show(position);
      return;
    }
    // Only column names contain the text, so this moves to the first one.
    const [column] = this.#columns;
    if (column !== undefined) this.#host.goTo({ row: this.#host.active().row, column });
  }

  #show(position: CellPosition): void {
    this.#host.goTo(position);
    this.#mark();
    this.#host.requestUpdate();
  }

  /** Marks the new matches, and the current one. */
  #mark(): void {
    const { cells, current } = this.#matches;
    for (let index = this.#numMarked; index < cells.length; index++) {
      const cell = cells[index];
      if (cell !== undefined) this.#marks.set(markKey(cell.row, cell.column), "match");
    }
    this.#numMarked = cells.length;
    if (this.#marked !== undefined) this.#marks.set(this.#marked, "match");
    this.#marked = current && markKey(current.row, current.column);
    if (this.#marked !== undefined) this.#marks.set(this.#marked, "current");
    this.#host.mark(this.#marks);
  }

  async #find(isGone: boolean): Promise<void> {
    const shown = this.#host.shown();
    if (!this.#isOpen || shown === undefined || this.#text === "") return;
    this.#isAwaited = false;
    const search = new AbortController();
    this.#search = search;
    const names = shown.columns.map((column) => shown.fields[column]?.name ?? "");
    const distinct = this.#namesOf([...shown.columns.keys()]);
    const within = this.#within?.filter((name) => distinct.includes(name)) ?? [];
    // If none of these columns exists, as in another table, all are searched.
    this.#within = within.length === 0 ? undefined : within;
    const isSearched = (at: number) => this.#within?.includes(distinct[at] ?? "") ?? true;
    const folded = (text: string) => (this.#matchCase ? text : text.toLowerCase());
    const wanted = folded(this.#text);
    this.#columns = [...names.keys()].filter(
      (at) => isSearched(at) && folded(names[at] ?? "").includes(wanted),
    );
    const begin = this.#host.active();
    const matches = this.#matches;
    try {
      for (let from: number | null = 0; from !== null && matches.count < MAX_MATCHES; ) {
        const { signal } = search;
        const options = {
          from,
          limit: ROWS_PER_REQUEST,
          matchCase: this.#matchCase,
          columns: this.#within,
          signal,
        };
        const found = await shown.rows.find(this.#text, options);
        if (signal.aborted) return;
        matches.add(found, distinct);
        this.#searchedRows += found.searched;
        from = found.next;
        this.#mark();
        const isFirst = isGone && matches.number === 0;
        if (isFirst && matches.goFrom(begin)) this.#show(matches.current ?? begin);
        this.#host.requestUpdate();
      }
      if (isGone && matches.number === 0) this.#go(1);
    } catch (thrown) {
      if (!search.signal.aborted) this.#error = ColonnadeError.from(thrown, "find_failed");
    } finally {
      if (this.#search === search) this.#search = undefined;
      this.#host.requestUpdate();
    }
  }
}
