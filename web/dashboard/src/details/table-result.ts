import { ColonnadeError, open, type Summary, type Table } from "colonnade";
import { fetchJson, rowsUrl } from "../catalog/catalog.js";

/** A result of all rows of a table that the server keeps by its id, so that it can be asked about it. */
export class KeptTable {
  readonly #ended = new AbortController();
  /** The id, once the server has given it. */
  readonly #begun: Promise<string>;

  constructor(name: string) {
    this.#begun = this.#begin(name);
    this.#begun.catch(() => undefined);
  }

  /** The first rows; whoever asked closes them. */
  async firstRows(limit: number): Promise<Table> {
    const id = await this.#begun;
    const { signal } = this.#ended;
    const table = await open(`/v1/query/${id}/rows?limit=${limit}`, { signal });
    await table.done;
    return table;
  }

  /** A column in short. */
  async summary(column: string): Promise<Summary> {
    const id = await this.#begun;
    const { signal } = this.#ended;
    const query = `column=${encodeURIComponent(column)}`;
    const response = await fetchJson(`/v1/query/${id}/summary?${query}`, undefined, signal);
    return (await response.json()) as Summary;
  }

  /** Stops what was asked, and has the server forget the result. */
  close(): void {
    this.#ended.abort();
    this.#begun
      .then((id) => fetch(`/v1/query/${id}`, { method: "DELETE", keepalive: true }))
      .catch(() => undefined);
  }

  /** Makes it known to the server. No row of it is read here. */
  async #begin(name: string): Promise<string> {
    const response = await fetchJson(rowsUrl(name), undefined, this.#ended.signal);
    await response.body?.cancel();
    return response.headers.get("x-query-id") ?? "";
  }
}

/** Whether something was only stopped because nobody wants it any more. */
export function isStopped(thrown: unknown): boolean {
  const isAbort = thrown instanceof DOMException && thrown.name === "AbortError";
  return isAbort || (thrown instanceof ColonnadeError && thrown.code === "cancelled");
}
