import { type Address, PLAIN_STATE, type RowsState } from "../address/address.js";
import { rowsUrl } from "../server/requests.js";

/**
 * HTML that shows the rows of an address in a page that has the package `colonnade`.
 *
 * @param origin the origin of the server
 */
export function embedCode({ subject, state }: Address, origin: string): string {
  const script = [`  import "colonnade/define";`];
  let src = "";
  if (subject !== undefined && "table" in subject) {
    src = ` src="${escaped(origin + rowsUrl(subject.table))}"`;
  }
  const changedState = changed(state);
  const isStatement = subject !== undefined && "sql" in subject;
  if (isStatement || changedState !== undefined) {
    script.push(`  const viewer = document.querySelector("colonnade-viewer");`);
  }
  if (isStatement) {
    script.push(
      `  viewer.source = new Request(${json(`${origin}/v1/query`)}, {`,
      `    method: "POST",`,
      `    headers: { "content-type": "application/json" },`,
      `    body: JSON.stringify({ sql: ${json(subject.sql)} }),`,
      "  });",
    );
  }
  if (changedState !== undefined) script.push(`  viewer.state = ${json(changedState)};`);
  return [
    `<colonnade-viewer${src}></colonnade-viewer>`,
    `<script type="module">`,
    ...script,
    "</script>",
    "",
  ].join("\n");
}

/** The properties of a state that differ from the initial state; undefined for none. */
function changed(state: RowsState): Partial<RowsState> | undefined {
  const plain = PLAIN_STATE as unknown as Record<string, unknown>;
  const entries = Object.entries(state).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(plain[key]),
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** JSON for a script element; `<` is escaped, so that no text ends the element. */
function json(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
}
