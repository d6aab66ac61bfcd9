// The questions of `python/tests/test_answers.py`, which starts this file, to the built module.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { View } from "../src/api/row-reader.js";
import type { SortKey } from "../src/model/arrangement.js";
import type { Predicate } from "../src/model/predicate.js";
import { rowsOf } from "./rows.js";

type Question =
  | { filter: Predicate }
  | { sort: SortKey[] }
  | { find: string; columns: string[] }
  | { summary: string; members: string[] };

const folder = process.env.COLONNADE_ANSWERS;

async function rowNumbers(view: View): Promise<number[]> {
  const numbers = [...((await view.rowNumbers({ start: 0, end: view.numRows })) ?? [])];
  view.close();
  return numbers;
}

async function ask(table: View, question: Question): Promise<unknown> {
  if ("filter" in question) return rowNumbers(await table.filter(question.filter));
  if ("sort" in question) return rowNumbers(await table.sort(question.sort));
  if ("find" in question) {
    const { matches } = await table.find(question.find, { columns: question.columns });
    return matches.map(({ row, columns }) => [row, columns]);
  }
  const summary: Record<string, unknown> = { ...(await table.summary(question.summary)) };
  return Object.fromEntries(question.members.map((member) => [member, summary[member] ?? null]));
}

test.skipIf(folder === undefined)(
  "the module gives the same answers",
  { timeout: 600_000 },
  async () => {
    const path = (name: string) => join(folder ?? "", name);
    for (const name of readdirSync(path("")).filter((name) => name.endsWith(".arrows"))) {
      const table = await rowsOf(readFileSync(path(name)));
      const cases = readFileSync(path(name.replace(".arrows", ".json")), "utf8");
      for (const { question, answer } of JSON.parse(cases)) {
        const given = await ask(table, question).catch(String);
        expect.soft(given, `${name}: ${JSON.stringify(question)}`).toEqual(answer);
      }
    }
  },
);
