// Many readers in one process. The parent process sends what they read, and gets what each of them measured.

import { setTimeout as wait } from "node:timers/promises";
import { Reader } from "./reader.mjs";

/** Ends with the parent, even if that crashes. */
process.on("disconnect", () => process.exit());

process.once("message", async ({ requests, connectSeconds, seconds }) => {
  const readers = requests.map(({ url, bytesASecond }) => new Reader(url, bytesASecond));
  const ends = Promise.all(readers.map((reader) => reader.read()));
  await Promise.race([ends, allConnected(readers, connectSeconds)]);
  const numConnected = readers.filter(({ firstMs }) => firstMs !== undefined).length;
  process.send({ numConnected });
  const before = readers.map(({ numBytes }) => numBytes);
  const startMs = performance.now();
  // Without `seconds`, until all readers have read everything.
  await (seconds === undefined ? ends : Promise.race([ends, wait(seconds * 1e3)]));
  const windowMs = performance.now() - startMs;
  process.send({
    readers: readers.map(({ numBytes, numRefusals, failure, firstMs, ms }, index) => ({
      numBytes: seconds === undefined ? numBytes : numBytes - before[index],
      ms: seconds === undefined ? ms : windowMs,
      firstMs,
      numRefusals,
      failure,
    })),
  });
});

/** Resolves when all readers have a first byte, at the latest after `seconds`. */
async function allConnected(readers, seconds) {
  const endMs = performance.now() + seconds * 1e3;
  const isConnected = ({ firstMs }) => firstMs !== undefined;
  while (!readers.every(isConnected) && performance.now() < endMs) await wait(10);
}
