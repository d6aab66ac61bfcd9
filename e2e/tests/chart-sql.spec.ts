import { readFileSync } from "node:fs";
import { RecordBatchReader } from "apache-arrow";
import type { Predicate } from "colonnade";
import { predicateSql, relation } from "../../web/dashboard/src/charts/predicate-sql.js";
import { expect, test } from "./fixtures.js";
import { inCheckout, Server } from "./server.js";

interface Case {
  filter: Predicate;
  rows?: number[];
}

async function rowsOf(server: Server, sql: string): Promise<number[] | string> {
  const response = await fetch(`${server.origin}/v1/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
  if (!response.ok) return response.text();
  const rows: number[] = [];
  for await (const batch of await RecordBatchReader.from(response)) {
    rows.push(...Array.from(batch.getChildAt(0) ?? [], Number));
  }
  return rows;
}

test("a predicate in a chart's SQL selects the same rows as elsewhere", async () => {
  const server = await Server.start([`cases=${inCheckout("fixtures/predicates.arrows")}`]);
  try {
    const catalog = await (await fetch(`${server.origin}/v1/tables/cases`)).json();
    const cases = JSON.parse(
      readFileSync(inCheckout("fixtures/predicates.json"), "utf8"),
    ) as Case[];
    const wrong: unknown[] = [];
    for (const { filter, rows } of cases) {
      if (rows === undefined) continue;
      for (const source of [{ table: "cases" }, { sql: "select * from cases -- all; " }]) {
        const where = predicateSql(filter, catalog.fields);
        const sql = `SELECT "row" FROM ${relation(source)} WHERE ${where} ORDER BY 1`;
        const found = await rowsOf(server, sql);
        if (JSON.stringify(found) !== JSON.stringify(rows))
          wrong.push({ filter, sql, found, rows });
      }
    }
    expect(wrong).toEqual([]);
  } finally {
    await server.kill();
  }
});
