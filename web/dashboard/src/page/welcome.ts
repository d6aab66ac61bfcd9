import { html, nothing } from "lit";
import { formatAddress, type Subject, subjectAddress } from "../address/address.js";
import { type CatalogTable, exampleSql } from "../catalog/catalog.js";
import { formatRows } from "../text/format.js";
import { mark } from "../ui/icons.js";
import { opensElsewhere } from "../ui/link-click.js";
import type { ExampleColumns } from "./example-columns.js";

/** The start page, shown while there is no subject. */
export function welcome(
  tables: readonly CatalogTable[] | undefined,
  columns: ExampleColumns,
  go: (subject: Subject) => void,
) {
  const first = tables?.filter(({ error }) => error === undefined).slice(0, 3) ?? [];
  return html`<div class="welcome">
    <div class="welcome-head">
      ${mark}
      <h2>Tables of any size, shown while they load</h2>
      <p>The first rows appear at once; the rest streams in.</p>
    </div>
    <ol>
      <li>
        <h3>Open a table</h3>
        <p>Scroll, click a header to sort, and filter in a column's menu.</p>
        ${first.map((table) => exampleLink({ table: table.name }, `Open ${table.name}`, countOf(table), go))}
        <p>Or drop a file anywhere on this page.</p>
      </li>
      <li>
        <h3>Run SQL</h3>
        <p>Write a statement above, or start with an example:</p>
        ${examples(first, columns).map((sql) => exampleLink({ sql }, sql, undefined, go))}
      </li>
      <li>
        <h3>Share the view</h3>
        <p>The page's address contains the table or statement, columns, sort order, filters, first visible row and charts. Copy it to share the view.</p>
      </li>
    </ol>
  </div>`;
}

function exampleLink(
  subject: Subject,
  label: string,
  note: string | undefined,
  go: (subject: Subject) => void,
) {
  return html`<a
    class=${subject && "sql" in subject ? "example-link code" : "example-link"}
    href=${formatAddress(subjectAddress(subject))}
    @click=${(event: MouseEvent) => {
      if (opensElsewhere(event)) return;
      event.preventDefault();
      go(subject);
    }}
    ><span>${label}</span>${note === undefined ? nothing : html`<span class="minor">${note}</span>`}</a
  >`;
}

function countOf({ rows }: CatalogTable): string | undefined {
  return rows === null ? undefined : formatRows(rows);
}

/** Example statements for two tables; only the first one is sampled, so that opening the page costs little. */
function examples([first, second]: readonly CatalogTable[], columns: ExampleColumns): string[] {
  const statements = first === undefined ? [] : [exampleSql(first.name, columns.find(first))];
  if (second !== undefined) statements.push(exampleSql(second.name, columns.of(second)));
  return statements;
}
