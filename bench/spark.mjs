// Compares reading a Spark cluster's rows in the browser with reading them in Spark's own client.

import { setUpSpark, startSpark } from "../scripts/spark.mjs";
import { measureAlternately } from "./engines.mjs";
import { Peers, setUpPeers } from "./python-peers.mjs";
import { startServer } from "./server.mjs";

const NUM_ROWS = 2 ** 25;
/** Enough partitions for an executor's memory. */
const NUM_PARTITIONS = 32;
/** Spark's driver keeps the whole result in memory. */
const SETTINGS = { "spark.driver.memory": "4g", "spark.driver.maxResultSize": "0" };
const SQL = `select id, id * 0.5D as a, id * 0.25D as b, id * 0.125D as c, id * 2.5D as d from range(0, ${NUM_ROWS}, 1, ${NUM_PARTITIONS})`;

/** Times of a whole table by reader; undefined if Spark or its client cannot be set up. */
export async function measureSpark({ browser, site, numRounds }) {
  const [python, home] = [await setUpPeers(), await setUpSpark()];
  if (python === undefined || home === undefined) return undefined;
  const spark = await startSpark(home, undefined, SETTINGS);
  const server = await startServer([spark.address, "--allow-origin", site.origin]);
  const peers = new Peers(python);
  const title = "2^25 rows × 5 columns of a Spark cluster, read to a complete table";
  const task = { reader: "open(url)", url: `${server.origin}/v1/query`, sql: SQL };
  const readers = {
    "Colonnade, in the browser": () => readInBrowser(browser, site, task),
    "pyspark, toPandas()": () =>
      peers.run({ task: "connect frame", remote: spark.address, sql: SQL }),
  };
  try {
    // The first query pays for the start of the executors.
    for (const read of Object.values(readers)) await read();
    const names = Object.keys(readers);
    return {
      title,
      limit: 1.1,
      ...(await measureAlternately(title, names, numRounds, (name) => readers[name]())),
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
