import { open, type Summary, type Table } from "colonnade";
import { fetchJson } from "./requests.js";
import { session } from "./session.js";

/** A stored result of the server, whose id allows requests for rows and summaries. */
export class QueryResult {
  readonly #abort = new AbortController();
  /** Resolves with the result's id. */
  readonly #id: Promise<string>;

  /** @param query the body of `POST /v1/query` */
  constructor(query: object) {
    this.#id = this.#create(query);
    this.#id.catch(() => undefined);
  }

  /** Opens the first rows; the caller closes the table. */
  async firstRows(limit: number): Promise<Table> {
    const id = await this.#id;
    const { signal } = this.#abort;
    const table = await open(`/v1/query/${id}/rows?limit=${limit}`, { signal });
    await table.done;
    return table;
  }

  /** Requests the summary of a column. */
  async summary(column: string): Promise<Summary> {
    const id = await this.#id;
    const { signal } = this.#abort;
    const query = `column=${encodeURIComponent(column)}`;
    const response = await fetchJson(`/v1/query/${id}/summary?${query}`, undefined, signal);
    return (await response.json()) as Summary;
  }

  /** Cancels the requests and deletes the result at the server. */
  close(): void {
    this.#abort.abort();
    this.#id
      .then((id) => fetch(`/v1/query/${id}`, { method: "DELETE", keepalive: true }))
      .catch(() => undefined);
  }

  /** Creates the result at the server without reading its rows; resolves with its id. */
  async #create(query: object): Promise<string> {
    const response = await session.fetch("/v1/query", {
      method: "POST",
      headers: { "content-type": "application/json", prefer: "return=minimal" },
      body: JSON.stringify(query),
      signal: this.#abort.signal,
    });
    await response.body?.cancel();
    return response.headers.get("x-query-id") ?? "";
  }
}
