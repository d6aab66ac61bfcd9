import { onWake } from "../api/wake.js";

/** What a viewer does when its page comes back. */
export interface PageLifeHost {
  /** Whether leaving the page would stop anything. */
  isRunning(): boolean;
  /** The page is back from the browser's back-forward cache, and something was stopped. */
  onReturn(): void;
  /** The browser is online again, or the page was frozen or hidden and no longer is. */
  onWake(): void;
}

/**
 * Tells a viewer when its page comes back. Streams stop when the user leaves the page, and lose their
 * connections while it sleeps.
 */
export class PageLife {
  readonly #host: PageLifeHost;
  #left = new AbortController();
  #wasRunning = false;

  constructor(host: PageLifeHost) {
    this.#host = host;
  }

  connect(): void {
    this.#left = new AbortController();
    const { signal } = this.#left;
    const hide = () => {
      this.#wasRunning = this.#host.isRunning();
    };
    const show = ({ persisted }: PageTransitionEvent) => {
      if (persisted && this.#wasRunning) this.#host.onReturn();
    };
    addEventListener("pagehide", hide, { signal });
    addEventListener("pageshow", show, { signal });
    onWake(() => this.#host.onWake(), signal);
  }

  disconnect(): void {
    this.#left.abort();
  }
}
