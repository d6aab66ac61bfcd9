import { open, type Summary, type Table } from "colonnade";
import { fetchJson, rowsUrl } from "../server/requests.js";

/** A stored result of all rows of a table, whose id allows requests for rows and summaries. */
export class TableResult {
  readonly #abort = new AbortController();
  /** Resolves with the result's id. */
  readonly #id: Promise<string>;

  constructor(name: string) {
    this.#id = this.#create(name);
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
  async #create(name: string): Promise<string> {
    const response = await fetchJson(rowsUrl(name), undefined, this.#abort.signal);
    await response.body?.cancel();
    return response.headers.get("x-query-id") ?? "";
  }
}
