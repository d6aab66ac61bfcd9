// A cluster's rows in the browser, beside its own client: both wait for Spark.

import { setUpSpark, startSpark } from "../scripts/spark.mjs";
import { inTurns } from "./engines.mjs";
import { Peers, setUpPeers } from "./peers.mjs";
import { startServer } from "./server.mjs";

const NUM_ROWS = 2 ** 25;
/** As many as an executor's memory wants. */
const NUM_PARTITIONS = 32;
/** Spark's driver holds a whole result. */
const SETTINGS = { "spark.driver.memory": "4g", "spark.driver.maxResultSize": "0" };
const SQL = `select id, id * 0.5D as a, id * 0.25D as b, id * 0.125D as c, id * 2.5D as d from range(0, ${NUM_ROWS}, 1, ${NUM_PARTITIONS})`;

/** Milliseconds by who does it, of a whole table; undefined where Spark or its client cannot be had. */
export async function measureSpark({ browser, site, numRounds }) {
  const [python, home] = [await setUpPeers(), await setUpSpark()];
  if (python === undefined || home === undefined) return undefined;
  const spark = await startSpark(home, undefined, SETTINGS);
  const server = await startServer([spark.address, "--allow-origin", site.origin]);
  const peers = new Peers(python);
  const title = "2^25 rows × 5 columns of a Spark cluster, to a complete table";
  const task = { reader: "open(url)", url: `${server.origin}/v1/query`, sql: SQL };
  const asks = {
    "Colonnade, in the browser": () => readInBrowser(browser, site, task),
    "pyspark, toPandas()": () =>
      peers.ask({ task: "connect frame", remote: spark.address, sql: SQL }),
  };
  try {
    // The first query pays for the start of the executors.
    for (const ask of Object.values(asks)) await ask();
    const names = Object.keys(asks);
    return {
      title,
      limit: 1.1,
      ...(await inTurns(title, names, numRounds, (name) => asks[name]())),
    };
  } finally {
    await peers.end();
    await server.close();
    spark.stop();
  }
}

async function readInBrowser(browser, site, task) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(site.origin);
    const { ms, numRows } = await page.evaluate((task) => readTable(task), task);
    return numRows === NUM_ROWS ? { ms: ms.last } : { error: `${numRows} rows` };
  } finally {
    await context.close();
  }
}
