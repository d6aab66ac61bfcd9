import type {
  Completion,
  CompletionContext,
  CompletionResult,
  CompletionSource,
} from "@codemirror/autocomplete";
import {
  keywordCompletionSource,
  type SQLNamespace,
  schemaCompletionSource,
} from "@codemirror/lang-sql";
import { syntaxTree } from "@codemirror/language";
import type { CatalogTable } from "../catalog/catalog.js";
import { quoteNameIfNeeded } from "../text/quote.js";
import { dialect } from "./dialect.js";
import { loadFunctions, type SqlFunction } from "./functions.js";

/** Completion of tables, columns, functions and keywords. */
export function completionSources(known: () => KnownTables): CompletionSource[] {
  return [
    // After a dot: the columns of a table or of its alias.
    (context) => schemaSource(known().tables)(context),
    (context) => completeColumns(context, known()),
    completeFunctions,
    keywordCompletionSource(dialect, true, (label, type) => ({ label, type, boost: -20 })),
  ];
}

/** The tables for completion. */
export interface KnownTables {
  tables: readonly CatalogTable[];
  /** The name of the shown table. */
  current: string | undefined;
}

/** The tables that a statement names; if it names none, the shown table, or all tables. */
export function tablesIn(
  statement: string,
  { tables, current }: KnownTables,
): readonly CatalogTable[] {
  const words = new Set(statement.match(/"(?:[^"]|"")*"|[A-Za-z_][\w]*/g));
  const named = tables.filter(
    ({ name }) => words.has(quoteNameIfNeeded(name)) || words.has(`"${name}"`),
  );
  if (named.length > 0) return named;
  const shown = tables.filter(({ name }) => name === current);
  return shown.length > 0 ? shown : tables;
}

const schemas = new WeakMap<readonly CatalogTable[], CompletionSource>();

function schemaSource(tables: readonly CatalogTable[]): CompletionSource {
  const known = schemas.get(tables);
  if (known !== undefined) return known;
  const schema: SQLNamespace = Object.fromEntries(
    tables.map(({ name, format, fields }) => [
      // CodeMirror splits names at dots.
      name.replaceAll(".", "\\."),
      {
        self: {
          label: name,
          apply: quoteNameIfNeeded(name),
          detail: format,
          type: "type",
          boost: 5,
        },
        children: fields.map(columnOf),
      },
    ]),
  );
  const source = schemaCompletionSource({ dialect, schema });
  schemas.set(tables, source);
  return source;
}

function columnOf({ name, type }: CatalogTable["fields"][number]): Completion {
  return { label: name, apply: quoteNameIfNeeded(name), detail: type, type: "property", boost: 10 };
}

function completeColumns(context: CompletionContext, known: KnownTables): CompletionResult | null {
  const word = wordBefore(context);
  if (word === undefined) return null;
  const options = new Map<string, Completion>();
  const named = tablesIn(context.state.doc.toString(), known);
  for (const { fields } of named) {
    for (const field of fields) options.set(field.name, columnOf(field));
  }
  return { from: word.from, options: [...options.values()], validFor: /^\w*$/ };
}

async function completeFunctions(context: CompletionContext): Promise<CompletionResult | null> {
  const word = wordBefore(context);
  if (word === undefined) return null;
  const functions = await loadFunctions();
  return { from: word.from, options: functions.map(completionOf), validFor: /^\w*$/ };
}

function completionOf({ name, kind, description, syntax }: SqlFunction): Completion {
  return {
    label: name,
    type: "function",
    detail: kind,
    info: [syntax, description].filter(Boolean).join("\n\n"),
    boost: -5,
    apply: (view, _, from, to) => {
      const hasBracket = view.state.sliceDoc(to, to + 1) === "(";
      view.dispatch({
        changes: { from, to, insert: hasBracket ? name : `${name}()` },
        selection: { anchor: from + name.length + 1 },
        userEvent: "input.complete",
      });
    },
  };
}

/** The word before the cursor, where a name can be completed. */
function wordBefore(context: CompletionContext): { from: number } | undefined {
  const word = context.matchBefore(/\w*/);
  const before = context.state.sliceDoc((word?.from ?? 1) - 1, word?.from);
  const { name } = syntaxTree(context.state).resolveInner(context.pos, -1);
  const isText = name === "String" || name.endsWith("Comment") || name === "QuotedIdentifier";
  const isWritten =
    context.explicit || (word !== null && word.from < word.to && !/^\d/.test(word.text));
  return word === null || before === "." || isText || !isWritten ? undefined : word;
}
