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
  /** How the rows of the address are shown now; undefined if they are not. */
  state(): RowsState | undefined;
}

/** Keeps the page's state, the browser's address and its history the same. */
export class Navigation {
  readonly #host: NavigationHost;
  #address: Address = parseAddress(location.search);
  /** How each subject was left. */
  readonly #left = new Map<string, Pick<Address, "state" | "chart">>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onPopState = () => {
    this.#dropPending();
    this.#showLocation(false);
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

  /** Goes to a subject in a state, or as it was left, and requests its rows again. */
  go(
    subject: Subject,
    { view, statement, state }: { view?: View; statement?: number; state?: RowsState } = {},
  ): void {
    this.#moveTo(subject, view, statement, state);
    this.#host.show(this.#address, true, statement);
  }

  /** Goes to a statement as it was left, and does not run it again. */
  return(subject: Subject, statement: number | undefined): void {
    this.#moveTo(subject, "rows", statement);
    this.#host.show(this.#address, false, statement);
  }

  /** Goes to an address as a link does: requests rows again only if their subject differs. */
  open(address: Address): void {
    this.#leave();
    const isOther = !isSameSubject(this.#address.subject, address.subject);
    history.pushState(isOther ? null : history.state, "", formatAddress(address));
    this.#showLocation(isOther);
  }

  /** Switches to another view of the subject. */
  switchView(view: View): void {
    this.#leave();
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
    this.#setAddress(after);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), SETTLE_MS);
  }

  /** Records the state of the rows as they are left. */
  #leave(): void {
    const state = this.#host.state();
    if (state !== undefined) this.#setAddress({ ...this.#address, state });
    this.flush();
  }

  /** Updates the browser's address with recorded changes at once. */
  flush(): void {
    if (this.#timer === undefined) return;
    this.#dropPending();
    history.replaceState(history.state, "", formatAddress(this.#address));
  }

  #moveTo(
    subject: Subject,
    view: View | undefined,
    statement: number | undefined,
    state?: RowsState,
  ): void {
    this.#leave();
    const left = state ? { state } : this.#left.get(JSON.stringify(subject));
    this.#move({ ...subjectAddress(subject, view), ...left }, statement);
  }

  #move(address: Address, statement: number | undefined): void {
    const url = formatAddress(address);
    const isSame = url === location.pathname + location.search && statement === statementId();
    if (!isSame) history.pushState({ statement }, "", url);
    this.#setAddress(address);
  }

  #showLocation(isReload: boolean): void {
    this.#setAddress(parseAddress(location.search));
    this.#host.show(this.#address, isReload, statementId());
  }

  #setAddress(address: Address): void {
    const { subject, state, chart } = address;
    this.#address = address;
    this.#left.set(JSON.stringify(subject), { state, chart });
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
