import { html } from "lit";
import { isSameSubject, type Subject } from "../address/address.js";
import type { CatalogTable } from "../catalog/catalog.js";

/** Knows whether a table's files have changed since its rows were asked for. */
export class RowsVersion {
  #subject: Subject;
  #version: string | undefined;

  /** Rows are asked for now. */
  begin(subject: Subject): void {
    this.#subject = subject;
    this.#version = undefined;
  }

  /** Whether the table is another one now than when its rows were asked for. */
  isOld(subject: Subject, table: CatalogTable | undefined): boolean {
    if (table === undefined || !isSameSubject(subject, this.#subject)) return false;
    this.#version ??= table.version;
    return table.version !== this.#version;
  }
}

/** Says that rows are of files as they were. */
export function oldRowsNote(name: string, readAgain: () => void) {
  return html`<div class="changed">
    <span><strong>${name}</strong> has changed since these rows were read.</span>
    <button class="action" @click=${readAgain}>Read again</button>
  </div>`;
}
