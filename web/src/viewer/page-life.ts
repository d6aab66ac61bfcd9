/**
 * Restores the rows of a page that returns from the browser's back-forward cache, because streams stop
 * when the user leaves the page.
 */
export class PageLife {
  readonly #isRunning: () => boolean;
  readonly #onReturn: () => void;
  #wasRunning = false;

  /**
   * @param isRunning whether leaving the page would stop anything
   * @param onReturn called when the page is back and something was stopped
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
