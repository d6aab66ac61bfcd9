// Finds out when a row is painted. The page of each reader defines `shownRow(row)`: the texts of a row that is on
// the page; undefined while it is not there or one of its cells is missing.

const MAX_WAIT_MS = 120_000;

globalThis.frame = () => new Promise(requestAnimationFrame);
globalThis.nowMs = () => performance.timeOrigin + performance.now();

/** Resolves once a row has been painted: in the frame after the one in which it is there. */
globalThis.whenPainted = async (row) => {
  const startMs = nowMs();
  while (nowMs() - startMs < MAX_WAIT_MS) {
    const cells = globalThis.shownRow?.(row);
    await frame();
    if (cells !== undefined) return { atMs: nowMs(), cells };
  }
  throw new Error(`row ${row} is not painted after ${MAX_WAIT_MS} ms`);
};

/** Does `work`, and measures the time from its start until a row is painted. */
globalThis.paintedAfter = async (work, row) => {
  const startMs = nowMs();
  await work();
  return { startMs, ...(await whenPainted(row)) };
};

/** The first row of the page's first file. */
globalThis.firstPainted = globalThis.whenPainted(0);
globalThis.firstPainted.catch(() => undefined);
