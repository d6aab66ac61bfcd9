import { ColonnadeError } from "colonnade";
import { errorFromResponse, unreachableError } from "./response-error.js";

const KEY = "colonnade-session";

/**
 * The user's session. If the server requires a token, requests by {@link Session.fetch} wait until
 * the user has signed in, and are then sent again.
 *
 * @fires sign-in-needed - when the user has to sign in
 * @fires signed-in - when the user has signed in
 */
export class Session extends EventTarget {
  #pendingSignIn: PromiseWithResolvers<void> | undefined;
  #isSignedIn = wasSignedIn();

  constructor() {
    super();
    // The user signed in in another tab.
    globalThis.addEventListener?.("storage", ({ key, newValue }) => {
      if (key === KEY && newValue !== null) this.#onSignedIn();
    });
  }

  /** Whether the server requires a token, as far as this page has seen. */
  get hasToken(): boolean {
    return this.#isSignedIn || this.#pendingSignIn !== undefined;
  }

  /** Whether requests wait for a sign-in. */
  get isSignInNeeded(): boolean {
    return this.#pendingSignIn !== undefined;
  }

  /** Whether the user was signed in before, so that a missing session has ended. */
  get wasSignedIn(): boolean {
    return this.#isSignedIn;
  }

  /**
   * As the global `fetch` for URLs as strings.
   *
   * @throws ColonnadeError `network_error`, or the server's error for any status but 2xx and 304
   */
  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    for (;;) {
      const response = await fetch(url, init).catch((thrown: unknown) => {
        throw init.signal?.aborted ? thrown : unreachableError();
      });
      if (response.ok || response.status === 304) return response;
      const error = errorFromResponse(response.status, await response.text());
      if (response.status !== 401) throw error;
      await this.waitForSignIn();
    }
  }

  /** Asks the user to sign in; resolves once that is done. */
  waitForSignIn(): Promise<void> {
    if (this.#pendingSignIn === undefined) {
      this.#pendingSignIn = Promise.withResolvers();
      this.dispatchEvent(new Event("sign-in-needed"));
    }
    return this.#pendingSignIn.promise;
  }

  /**
   * Exchanges the token for a session.
   *
   * @throws ColonnadeError `unauthorized` for a wrong token, `network_error`, or the server's error
   */
  async signIn(token: string): Promise<void> {
    let response: Response;
    try {
      response = await fetch("/v1/session", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token }),
      });
    } catch {
      throw unreachableError();
    }
    if (response.status === 401) {
      throw new ColonnadeError("unauthorized", "That is not this server’s token.");
    }
    if (!response.ok) throw errorFromResponse(response.status, await response.text());
    this.#remember(true);
    this.#onSignedIn();
  }

  /** Forgets that the user signed in if the server no longer requires a token. */
  async verify(): Promise<void> {
    if (!this.#isSignedIn) return;
    const anonymous: RequestInit = { method: "HEAD", credentials: "omit", cache: "no-store" };
    const response = await fetch("/v1/tables", anonymous).catch(() => undefined);
    if (response?.ok) this.#remember(false);
  }

  /** Ends the session. */
  async signOut(): Promise<void> {
    const response = await fetch("/v1/session", { method: "DELETE" }).catch(() => undefined);
    if (!response?.ok) throw unreachableError();
    this.#remember(false);
  }

  #onSignedIn(): void {
    this.#isSignedIn = true;
    this.#pendingSignIn?.resolve();
    this.#pendingSignIn = undefined;
    this.dispatchEvent(new Event("signed-in"));
  }

  #remember(isSignedIn: boolean): void {
    this.#isSignedIn = isSignedIn;
    try {
      if (isSignedIn) localStorage.setItem(KEY, String(Date.now()));
      else localStorage.removeItem(KEY);
    } catch {
      // Storage is off: the page remembers the sign-in until it is closed.
    }
  }
}

/** Scripts cannot read the session's cookie, so a stored entry says that there was one. */
function wasSignedIn(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}

/** The page's session. */
export const session = new Session();
