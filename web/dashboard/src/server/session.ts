import { ColonnadeError } from "colonnade";
import { errorFromAnswer, unreachable } from "./response-error.js";

const KEY = "colonnade-session";

/**
 * Whether the server knows who asks. Where it wants a token, whatever asks by {@link Session.fetch}
 * waits until somebody has signed in, and is then asked again.
 *
 * @fires needed - somebody has to sign in
 * @fires begun - somebody has
 */
export class Session extends EventTarget {
  #needed: PromiseWithResolvers<void> | undefined;
  #isSignedIn = wasSignedIn();

  constructor() {
    super();
    // Somebody signed in in another tab.
    globalThis.addEventListener?.("storage", ({ key, newValue }) => {
      if (key === KEY && newValue !== null) this.#begin();
    });
  }

  /** Whether the server wants a token, as far as this page has seen. */
  get hasToken(): boolean {
    return this.#isSignedIn || this.#needed !== undefined;
  }

  /** Whether somebody has to sign in before anything else. */
  get isNeeded(): boolean {
    return this.#needed !== undefined;
  }

  /** Whether somebody was signed in before: a session that is missing now has ended. */
  get wasSignedIn(): boolean {
    return this.#isSignedIn;
  }

  /** As the global `fetch`, of strings; rejects with a ColonnadeError for any answer but 2xx. */
  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    for (;;) {
      const response = await fetch(url, init).catch((thrown: unknown) => {
        throw init.signal?.aborted ? thrown : unreachable();
      });
      if (response.ok) return response;
      const error = errorFromAnswer(response.status, await response.text());
      if (response.status !== 401) throw error;
      await this.needed();
    }
  }

  /** Asks somebody to sign in; resolves once that is done. */
  needed(): Promise<void> {
    if (this.#needed === undefined) {
      this.#needed = Promise.withResolvers();
      this.dispatchEvent(new Event("needed"));
    }
    return this.#needed.promise;
  }

  /** Exchanges the token for a session; rejects with a ColonnadeError that says why not. */
  async signIn(token: string): Promise<void> {
    let response: Response;
    try {
      response = await fetch("/v1/session", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token }),
      });
    } catch {
      throw unreachable();
    }
    if (response.status === 401) {
      throw new ColonnadeError("unauthorized", "That is not this server’s token.");
    }
    if (!response.ok) throw errorFromAnswer(response.status, await response.text());
    this.#remember(true);
    this.#begin();
  }

  /** Forgets that somebody signed in where the server wants no token any more. */
  async verify(): Promise<void> {
    if (!this.#isSignedIn) return;
    const anybody: RequestInit = { method: "HEAD", credentials: "omit", cache: "no-store" };
    const answer = await fetch("/v1/tables", anybody).catch(() => undefined);
    if (answer?.ok) this.#remember(false);
  }

  /** Ends the session. */
  async signOut(): Promise<void> {
    const response = await fetch("/v1/session", { method: "DELETE" }).catch(() => undefined);
    if (!response?.ok) throw unreachable();
    this.#remember(false);
  }

  #begin(): void {
    this.#isSignedIn = true;
    this.#needed?.resolve();
    this.#needed = undefined;
    this.dispatchEvent(new Event("begun"));
  }

  #remember(isSignedIn: boolean): void {
    this.#isSignedIn = isSignedIn;
    try {
      if (isSignedIn) localStorage.setItem(KEY, String(Date.now()));
      else localStorage.removeItem(KEY);
    } catch {
      // Storage is off: it is known as long as the page is there.
    }
  }
}

/** The cookie itself cannot be seen from here. */
function wasSignedIn(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}

/** The page's session. */
export const session = new Session();
