/**
 * A page that is hidden stops its streams; one that comes back out of the browser's cache for back
 * and forward shows the same rows again.
 */
export class PageLife {
  readonly #isRunning: () => boolean;
  readonly #onReturn: () => void;
  #wasRunning = false;

  /**
   * @param isRunning whether something would be stopped
   * @param onReturn called when the page is back and something was
   */
  constructor(isRunning: () => boolean, onReturn: () => void) {
    this.#isRunning = isRunning;
    this.#onReturn = onReturn;
  }

  connect(): void {
    addEventListener("pagehide", this.#onHide);
    addEventListener("pageshow", this.#onShow);
  }

  disconnect(): void {
    removeEventListener("pagehide", this.#onHide);
    removeEventListener("pageshow", this.#onShow);
  }

  readonly #onHide = () => {
    this.#wasRunning = this.#isRunning();
  };

  readonly #onShow = ({ persisted }: PageTransitionEvent) => {
    if (persisted && this.#wasRunning) this.#onReturn();
  };
}
