import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { cross, grid, plus } from "../ui/icons.js";
import { moveAmongTabs } from "../ui/tab-keys.js";

/** A tab. */
export interface StatementTab {
  /** The id of the statement; undefined for the tab of a table or file. */
  id: number | undefined;
  label: string;
  /** The tooltip. */
  title: string;
}

/**
 * The tabs of the shown table or file and of the open statements.
 *
 * @fires choose - detail: the id
 * @fires close - detail: the id
 * @fires rename - detail: `{ id, name }`
 * @fires new - when a new statement is requested
 */
export class StatementTabs extends LitElement {
  static override properties: PropertyDeclarations = {
    tabs: { attribute: false },
    current: { attribute: false },
    renamed: { state: true },
  };

  declare tabs: readonly StatementTab[];
  /** The index of the selected tab; -1 for none. */
  declare current: number;
  /** The id of the statement that is being renamed. */
  declare renamed: number | undefined;

  constructor() {
    super();
    this.tabs = [];
    this.current = -1;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render() {
    if (this.tabs.length === 0) return nothing;
    const tabStop = Math.max(0, this.current);
    return html`<div class="strip">
      <div class="tabs" role="tablist" aria-label="Open tables and statements">
        ${this.tabs.map((tab, index) => this.#renderTab(tab, index, index === tabStop))}
      </div>
      ${this.#renderName()} ${this.#renderClose()}
      <button class="icon" aria-label="New statement" title="New statement" @click=${() => this.#dispatch("new", undefined)}>
        ${plus}
      </button>
    </div>`;
  }

  #renderTab({ id, label, title }: StatementTab, index: number, isTabStop: boolean) {
    const isCurrent = index === this.current;
    return html`<div
      role="tab"
      class="tab"
      title=${title}
      aria-selected=${isCurrent}
      aria-controls=${isCurrent ? "subject" : nothing}
      aria-keyshortcuts=${id === undefined ? "Delete" : "Delete F2"}
      tabindex=${isTabStop ? 0 : -1}
      @click=${() => this.#dispatch("choose", id)}
      @auxclick=${(event: MouseEvent) => event.button === 1 && this.#dispatch("close", id)}
      @dblclick=${() => this.#rename(id)}
      @keydown=${(event: KeyboardEvent) => this.#onKey(event, id)}
    >
      ${id === undefined ? grid : nothing}<span class="tab-label">${label}</span
      ><span
        class="tab-close"
        aria-hidden="true"
        title="Close (Delete)"
        @click=${(event: MouseEvent) => {
          event.stopPropagation();
          this.#dispatch("close", id);
        }}
        >${cross}</span
      >
    </div>`;
  }

  /** A button that screen readers find without a keyboard, because what is inside of a tab is no control. */
  #renderClose() {
    const tab = this.tabs[this.current];
    if (tab === undefined) return nothing;
    return html`<button
      class="icon close-tab"
      aria-label=${`Close tab ${tab.label}`}
      @click=${() => this.#dispatch("close", tab.id)}
    >
      ${cross}
    </button>`;
  }

  #renderName() {
    const tab = this.tabs.find(({ id }) => id !== undefined && id === this.renamed);
    if (tab === undefined) return nothing;
    return html`<input
      class="tab-name"
      aria-label=${`Name of ${tab.label}`}
      maxlength="60"
      .value=${tab.label}
      @keydown=${(event: KeyboardEvent) => {
        if (event.isComposing) return;
        if (event.key === "Enter") this.#endRename(event, true);
        if (event.key === "Escape") this.#endRename(event, false);
      }}
      @blur=${(event: FocusEvent) => this.#endRename(event, true)}
    />`;
  }

  #onKey(event: KeyboardEvent, id: number | undefined): void {
    moveAmongTabs(event);
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.#dispatch("choose", id);
    } else if (event.key === "Delete") {
      this.#dispatch("close", id);
    } else if (event.key === "F2") {
      this.#rename(id);
    }
  }

  async #rename(id: number | undefined): Promise<void> {
    if (id === undefined) return;
    this.renamed = id;
    await this.updateComplete;
    this.querySelector<HTMLInputElement>(".tab-name")?.select();
  }

  #endRename(event: Event, isKept: boolean): void {
    const id = this.renamed;
    if (id === undefined) return;
    this.renamed = undefined;
    const name = (event.currentTarget as HTMLInputElement).value.trim();
    if (isKept) this.dispatchEvent(new CustomEvent("rename", { detail: { id, name } }));
    this.querySelector<HTMLElement>("[role=tab][aria-selected=true]")?.focus();
  }

  #dispatch(type: "choose" | "close" | "new", id: number | undefined): void {
    this.dispatchEvent(new CustomEvent(type, { detail: id }));
  }
}
