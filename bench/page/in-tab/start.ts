// What the page of each peer has in common.

/** The rows that a page shows at once. */
export const SHOWN_ROWS = 50;

export interface Peer {
  /** Shows the first rows of a file instead of those of another one. */
  openFile(url: string): Promise<void>;
  showRow(row: number): Promise<void>;
  /** The texts of a row that is on the page. */
  shownRow(row: number): string[] | undefined;
  /** Reads all rows of a file into memory; returns their number. */
  readAll(url: string): Promise<number>;
}

/** Does what the page is for: shows the first rows of its file, or reads all of them. */
export function start(peer: Peer): void {
  const { file = "", task } = document.documentElement.dataset;
  const { openFile, showRow, shownRow } = peer;
  Object.assign(globalThis, { openFile, showRow, shownRow });
  const readAll = async () => {
    const numRows = await peer.readAll(file);
    return { numRows, state: "complete", atMs: performance.timeOrigin + performance.now() };
  };
  if (task === "all") Object.assign(globalThis, { allRead: readAll() });
  else void openFile(file);
}

/** A plain table in the page, for readers without a grid. */
export class PlainTable {
  #first = 0;
  #body = document.createElement("tbody");

  constructor() {
    const table = document.createElement("table");
    table.append(this.#body);
    document.body.append(table);
  }

  clear(): void {
    this.#body.replaceChildren();
  }

  /** Shows rows, of which `first` is the number of the first one. */
  show(first: number, rows: (string | null)[][]): void {
    this.clear();
    this.#first = first;
    for (const cells of rows) {
      const shown = this.#body.insertRow();
      for (const text of cells) shown.insertCell().textContent = text;
    }
  }

  row(row: number): string[] | undefined {
    const shown = this.#body.rows[row - this.#first];
    return shown && Array.from(shown.cells, ({ textContent }) => textContent ?? "");
  }
}
