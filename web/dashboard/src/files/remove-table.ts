import { ColonnadeError } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { errorText } from "../server/response-error.js";
import { trash } from "../ui/icons.js";
import { removeTable } from "./server-tables.js";

/**
 * The button that removes an uploaded table after a confirmation.
 *
 * @fires reload - when the table was removed
 */
export class RemoveTable extends LitElement {
  static override properties: PropertyDeclarations = {
    name: { attribute: false },
    error: { state: true },
  };

  declare name: string;
  declare error: string | undefined;

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override render() {
    return html`<button
        class="icon"
        aria-label=${`Remove ${this.name}`}
        title="Remove this uploaded table"
        @click=${() => this.#dialog?.showModal()}
      >
        ${trash}
      </button>
      <dialog class="confirm" aria-label=${`Remove ${this.name}`} @close=${this.#onClose}>
        <p><strong>Remove the table ${this.name}?</strong></p>
        <p>The server deletes the uploaded file. This cannot be undone.</p>
        ${this.error === undefined ? nothing : html`<p class="tray-error" role="alert">${this.error}</p>`}
        <div class="confirm-choice">
          <button autofocus @click=${() => this.#dialog?.close()}>Cancel</button>
          <button class="danger" @click=${this.#remove}>Remove</button>
        </div>
      </dialog>`;
  }

  get #dialog(): HTMLDialogElement | null {
    return this.querySelector("dialog");
  }

  #onClose(): void {
    this.error = undefined;
  }

  async #remove(): Promise<void> {
    try {
      await removeTable(this.name);
    } catch (thrown) {
      this.error = errorText(ColonnadeError.from(thrown, "not_removed"));
      return;
    }
    this.#dialog?.close();
    this.dispatchEvent(new CustomEvent("reload", { bubbles: true }));
  }
}
