import type { ColonnadeError, ColonnadeViewer } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { RetryDelays } from "./retry-delays.js";

/** The interval between checks whether the server responds again, in ms. */
const POLL_MS = 2000;

/**
 * Shows a message when the viewer's own retries have failed, and lets the viewer continue when the
 * server responds again. Gives up after several retries without new rows.
 */
export class ServerWatch extends LitElement {
  static override properties: PropertyDeclarations = {
    viewer: { attribute: false },
    isUnreachable: { state: true },
  };

  /** The viewer of the rows. */
  declare viewer: ColonnadeViewer;
  declare isUnreachable: boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #delays = new RetryDelays();
  readonly #onError = (event: Event) => {
    if ((event as CustomEvent<ColonnadeError>).detail.code !== "network_error") return;
    const { source, table } = this.viewer;
    const delayMs = this.#delays.next(source, table?.numRows ?? 0);
    if (delayMs === undefined) return;
    this.isUnreachable = true;
    this.#wait(delayMs);
  };
  /** Another table was opened, or the user pressed Retry. */
  readonly #onRecovered = () => {
    if (this.viewer.table?.state === "failed") return;
    this.#end();
  };

  constructor() {
    super();
    this.isUnreachable = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.viewer.addEventListener("colonnade-error", this.#onError);
    this.viewer.addEventListener("colonnade-progress", this.#onRecovered);
    this.viewer.addEventListener("colonnade-schema", this.#onRecovered);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#end();
    this.viewer.removeEventListener("colonnade-error", this.#onError);
    this.viewer.removeEventListener("colonnade-progress", this.#onRecovered);
    this.viewer.removeEventListener("colonnade-schema", this.#onRecovered);
  }

  protected override render() {
    return html`<div class="away" aria-live="polite">
      ${
        this.isUnreachable
          ? html`<span>The server does not respond. Rows continue to load when it is back.</span>
              <button class="action" @click=${() => this.#end()}>Stop waiting</button>`
          : nothing
      }
    </div>`;
  }

  #wait(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#checkServer(), delayMs);
  }

  async #checkServer(): Promise<void> {
    const isBack = await fetch("/readyz", { cache: "no-store" }).then(
      ({ ok }) => ok,
      () => false,
    );
    if (!this.isUnreachable) return;
    if (!isBack) return this.#wait(POLL_MS);
    this.#end();
    this.viewer.retry();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.isUnreachable = false;
  }
}
