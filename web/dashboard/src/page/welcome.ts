import { html, nothing } from "lit";
import { addressOf, placeOf, type Subject } from "../address/address.js";
import { type CatalogTable, exampleSql } from "../catalog/catalog.js";
import { formatRows } from "../text/format.js";
import { quotedName } from "../text/quote.js";
import { mark } from "../ui/icons.js";

/** What stands where nothing is looked at yet. */
export function welcome(
  tables: readonly CatalogTable[] | undefined,
  go: (subject: Subject) => void,
) {
  const first = tables?.slice(0, 3) ?? [];
  return html`<div class="welcome">
    <div class="welcome-head">
      ${mark}
      <h2>Tables of any size, while they arrive</h2>
      <p>Rows appear at once and the rest streams in behind them.</p>
    </div>
    <ol>
      <li>
        <h3>Look at a table</h3>
        <p>Scroll it, sort it by a header, filter it by a column's menu.</p>
        ${first.map((table) => door({ table: table.name }, `Open ${table.name}`, countOf(table), go))}
        <p>Or drop a file anywhere on this page.</p>
      </li>
      <li>
        <h3>Ask in SQL</h3>
        <p>Write a statement above, with completion, or begin with one of these.</p>
        ${examples(first).map((sql) => door({ sql }, sql, undefined, go))}
      </li>
      <li>
        <h3>Pass it on</h3>
        <p>The address holds all that you see: its rows, order, filters and place. Send it to somebody.</p>
      </li>
    </ol>
  </div>`;
}

function door(
  subject: Subject,
  label: string,
  note: string | undefined,
  go: (subject: Subject) => void,
) {
  return html`<a
    class=${subject && "sql" in subject ? "door code" : "door"}
    href=${addressOf(placeOf(subject))}
    @click=${(event: MouseEvent) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(subject);
    }}
    ><span>${label}</span>${note === undefined ? nothing : html`<span class="minor">${note}</span>`}</a
  >`;
}

function countOf({ rows }: CatalogTable): string | undefined {
  return rows === null ? undefined : formatRows(rows);
}

/** Statements that work on these tables: some rows, and how often the values of a column occur. */
function examples(tables: readonly CatalogTable[]): string[] {
  const named = tables.flatMap(({ name, fields }) => {
    const text = fields.find(({ type }) => /^(?:large_)?string|^dictionary/.test(type));
    return text === undefined ? [] : [{ name, column: text.name }];
  });
  const counted = named.slice(-1).map(({ name, column }) => {
    const key = quotedName(column);
    return `SELECT ${key}, count(*) AS n FROM ${quotedName(name)} GROUP BY ${key} ORDER BY n DESC`;
  });
  return [...tables.slice(0, 1).map(({ name }) => exampleSql(name)), ...counted];
}
