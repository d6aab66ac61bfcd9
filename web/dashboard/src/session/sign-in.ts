import { ColonnadeError, type ColonnadeViewer } from "colonnade";
import { html, LitElement, nothing, type PropertyDeclarations } from "lit";
import { errorText } from "../server/response-error.js";
import { session } from "../server/session.js";
import { mark, signOut } from "../ui/icons.js";

/** A modal dialog that asks for the token when the server requires one. */
export class SignIn extends LitElement {
  static override properties: PropertyDeclarations = {
    isSignInNeeded: { state: true },
    isSending: { state: true },
    error: { state: true },
  };

  declare isSignInNeeded: boolean;
  declare isSending: boolean;
  declare error: ColonnadeError | undefined;
  /** The viewers that retry after the sign-in. */
  readonly #waiting = new Set<ColonnadeViewer>();

  constructor() {
    super();
    this.isSignInNeeded = session.isSignInNeeded;
    this.isSending = false;
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    session.addEventListener("sign-in-needed", this.#onSession);
    session.addEventListener("signed-in", this.#onSession);
    document.addEventListener("colonnade-error", this.#onViewerError);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    session.removeEventListener("sign-in-needed", this.#onSession);
    session.removeEventListener("signed-in", this.#onSession);
    document.removeEventListener("colonnade-error", this.#onViewerError);
  }

  protected override updated(): void {
    const dialog = this.querySelector("dialog");
    if (this.isSignInNeeded && dialog?.open === false) dialog.showModal();
  }

  protected override render() {
    if (!this.isSignInNeeded) return nothing;
    return html`<dialog
      class="sign-in"
      aria-labelledby="sign-in-title"
      @cancel=${(event: Event) => event.preventDefault()}
      @close=${() => this.requestUpdate()}
    >
      <form @submit=${this.#onSubmit}>
        <div class="sign-in-mark">${mark}Colonnade</div>
        <h2 id="sign-in-title">Sign in</h2>
        <p>
          ${
            session.wasSignedIn
              ? "Your session has ended. Sign in to continue."
              : "This server requires a token."
          }
        </p>
        <input type="text" name="username" value="Colonnade" autocomplete="username" hidden />
        <label for="token">Token</label>
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="current-password"
          autocapitalize="off"
          spellcheck="false"
          autofocus
          required
          aria-describedby="token-about"
          aria-invalid=${this.error === undefined ? nothing : "true"}
        />
        <p id="token-about" class="about-token">
          The content of the file that the server was started with: <code>--token-file</code>
        </p>
        <div role="alert">
          ${this.error && html`<p class="sign-in-error">${errorText(this.error)}</p>`}
        </div>
        <button class="primary" aria-disabled=${this.isSending ? "true" : nothing}>
          ${this.isSending ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </dialog>`;
  }

  readonly #onSession = () => {
    this.isSignInNeeded = session.isSignInNeeded;
    this.error = undefined;
  };

  readonly #onViewerError = async (event: Event) => {
    const { detail, target } = event as CustomEvent<ColonnadeError>;
    if (detail.code !== "unauthorized") return;
    const viewer = target as ColonnadeViewer;
    if (this.#waiting.has(viewer)) return;
    this.#waiting.add(viewer);
    await session.waitForSignIn();
    this.#waiting.delete(viewer);
    const { state } = viewer;
    viewer.retry();
    viewer.state = state;
  };

  async #onSubmit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (this.isSending) return;
    const input = this.querySelector("#token") as HTMLInputElement;
    this.isSending = true;
    this.error = undefined;
    try {
      await session.signIn(input.value.trim());
    } catch (thrown) {
      this.error = ColonnadeError.from(thrown, "sign_in_failed");
      input.select();
    }
    this.isSending = false;
  }
}

/** The button that ends the session; renders nothing without a session. */
export class SignOut extends LitElement {
  static override properties: PropertyDeclarations = { error: { state: true } };

  declare error: string | undefined;
  readonly #onSession = () => this.requestUpdate();

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    session.addEventListener("signed-in", this.#onSession);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    session.removeEventListener("signed-in", this.#onSession);
  }

  protected override render() {
    if (!session.hasToken) return nothing;
    return html`${
      this.error === undefined
        ? nothing
        : html`<span role="alert" class="sign-out-error">${this.error}</span>`
    }<button class="action" @click=${this.#signOut}>
        ${signOut}<span>Sign out</span>
      </button>`;
  }

  async #signOut(): Promise<void> {
    try {
      await session.signOut();
    } catch (thrown) {
      this.error = ColonnadeError.from(thrown, "sign_out_failed").message;
      return;
    }
    // Reload, so that no data stays in the page; the address keeps its state.
    location.reload();
  }
}
