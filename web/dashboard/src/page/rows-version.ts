import { html } from "lit";
import { isSameSubject, type Subject } from "../address/address.js";
import type { CatalogTable } from "../catalog/catalog.js";

/** Detects whether a table's files have changed since its rows were requested. */
export class RowsVersion {
  #subject: Subject;
  #version: string | undefined;

  /** Records that rows are requested now. */
  begin(subject: Subject): void {
    this.#subject = subject;
    this.#version = undefined;
  }

  /** Whether the table has another version now than when its rows were requested. */
  isStale(subject: Subject, table: CatalogTable | undefined): boolean {
    if (table === undefined || !isSameSubject(subject, this.#subject)) return false;
    this.#version ??= table.version;
    return table.version !== this.#version;
  }
}

/** A note that the table's files have changed since the shown rows were loaded. */
export function staleRowsNote(name: string, readAgain: () => void) {
  return html`<div class="changed">
    <span><strong>${name}</strong> has changed since these rows were loaded.</span>
    <button class="action" @click=${readAgain}>Reload</button>
  </div>`;
}
