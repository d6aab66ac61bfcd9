import type { CatalogTable } from "../catalog/catalog.js";
import { findGroupingColumn } from "../charts/grouping-column.js";

/** Tables of other engines are not sampled, because that may take them long. */
const ENGINES = ["spark", "flight"];

/** The columns by which example statements group the rows of tables. */
export class ExampleColumns {
  readonly #onChange: () => void;
  /** By the table's name and version; undefined also while a column is being looked for. */
  readonly #columns = new Map<string, string | undefined>();

  /** @param onChange called when a column was found */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** The column if it is known. */
  of(table: CatalogTable): string | undefined {
    return this.#columns.get(key(table));
  }

  /** The column if it is known; looks for it at the first call. */
  find(table: CatalogTable): string | undefined {
    if (!this.#columns.has(key(table)) && !ENGINES.includes(table.format)) void this.#find(table);
    return this.of(table);
  }

  async #find(table: CatalogTable): Promise<void> {
    this.#columns.set(key(table), undefined);
    const column = await findGroupingColumn({ table: table.name }, table.fields);
    if (column === undefined) return;
    this.#columns.set(key(table), column);
    this.#onChange();
  }
}

function key({ name, version }: CatalogTable): string {
  return `${name}\n${version}`;
}
