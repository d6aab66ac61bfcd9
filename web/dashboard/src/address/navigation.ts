import {
  type Address,
  formatAddress,
  isSameArrangement,
  isSameSubject,
  parseAddress,
  type RowsState,
  type Subject,
  subjectAddress,
  type View,
} from "./address.js";

/** How long small changes are collected before the browser's address is updated, in ms. */
const SETTLE_MS = 250;

/** Shows what the page navigates to. */
export interface NavigationHost {
  /**
   * @param isReload whether to request the rows again even if they are the shown ones
   * @param statement the id of the statement's tab in which the address was left, if known
   */
  show(address: Address, isReload: boolean, statement: number | undefined): void;
}

/** Keeps the page's state, the browser's address and its history the same. */
export class Navigation {
  readonly #host: NavigationHost;
  #address: Address = parseAddress(location.search);
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onPopState = () => {
    this.#dropPending();
    this.#showLocation();
  };

  constructor(host: NavigationHost) {
    this.#host = host;
  }

  get address(): Address {
    return this.#address;
  }

  /** Shows the current address and follows the browser's Back and Forward buttons. */
  start(): void {
    addEventListener("popstate", this.#onPopState);
    this.#host.show(this.#address, true, statementId());
  }

  stop(): void {
    removeEventListener("popstate", this.#onPopState);
    this.#dropPending();
  }

  /** Goes to a subject in its initial state and requests its rows again. */
  go(subject: Subject, { view, statement }: { view?: View; statement?: number } = {}): void {
    this.flush();
    this.#move(subjectAddress(subject, view), statement);
    this.#host.show(this.#address, true, statement);
  }

  /** Goes to an address as a link does: requests rows again only if their subject differs. */
  open(address: Address): void {
    this.flush();
    history.pushState(null, "", formatAddress(address));
    this.#showLocation();
  }

  /** Switches to another view of the subject. */
  switchView(view: View): void {
    this.flush();
    this.#move({ ...this.#address, view }, statementId());
    this.#host.show(this.#address, false, statementId());
  }

  /**
   * Records how rows are shown now. A changed order or filter becomes an entry of the history,
   * unless the address's own order or filter was refused.
   */
  record(change: { state?: RowsState; chart?: string | undefined }, isRefusal = false): void {
    const before = this.#address;
    const after = { ...before, ...change };
    if (!isRefusal && !isSameArrangement(before.state, after.state)) {
      this.flush();
      this.#move(after, statementId());
      return;
    }
    this.#address = after;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), SETTLE_MS);
  }

  /** Updates the browser's address with recorded changes at once. */
  flush(): void {
    if (this.#timer === undefined) return;
    this.#dropPending();
    history.replaceState(history.state, "", formatAddress(this.#address));
  }

  #move(address: Address, statement: number | undefined): void {
    const url = formatAddress(address);
    const isSame = url === location.pathname + location.search && statement === statementId();
    if (!isSame) history.pushState({ statement }, "", url);
    this.#address = address;
  }

  #showLocation(): void {
    const before = this.#address;
    this.#address = parseAddress(location.search);
    const isReload = !isSameSubject(before.subject, this.#address.subject);
    this.#host.show(this.#address, isReload, statementId());
  }

  #dropPending(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** The id of the statement's tab that the history's current entry names. */
function statementId(): number | undefined {
  const state = history.state as { statement?: number } | null;
  return state?.statement;
}
