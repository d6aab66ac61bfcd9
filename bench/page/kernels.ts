import type { KernelWork } from "../../web/src/rpc/messages.js";
import type { BodyDecoder } from "../../web/src/worker/body-decoder.js";
import type { Run } from "./tasks.js";

/** The kernels to time over the first column; `needle` is the text to find. */
function works(type: string, needle: string, run: number): Record<string, KernelWork> {
  const find = { text: needle, from: 0, limit: 10, columns: undefined, matchCase: true };
  if (type === "string") {
    return {
      find: { kind: "find", view: 0, find },
      "find, any case": { kind: "find", view: 0, find: { ...find, matchCase: false } },
    };
  }
  const predicate = JSON.stringify({ op: "gt", column: "c0", value: "0.4" });
  return {
    sort: { kind: "sort", view: 0, keys: [{ column: "c0" }] },
    filter: { kind: "filter", view: 0, predicate },
    // A different limit for each run, because a known summary would only be returned again.
    summary: { kind: "summary", view: 0, column: "c0", maxCounted: (1 << 16) + run },
  };
}

/** Runs each kernel once, in the time slices of the package; returns times and a checksum of the results. */
export async function runKernels(
  { kernels, schema }: BodyDecoder,
  needle: string,
  index: number,
): Promise<Run> {
  const run: Run = { ms: {}, checksum: 0 };
  const signal = new AbortController().signal;
  for (const [name, work] of Object.entries(works(schema?.fields[0]?.type ?? "", needle, index))) {
    const startMs = performance.now();
    const result = await kernels.run(work, signal, () => undefined);
    if (typeof result !== "string") await kernels.finishSort(result.view, () => undefined);
    run.ms[name] = performance.now() - startMs;
    if (typeof result === "string") {
      run.checksum = (run.checksum ?? 0) + (JSON.parse(result).matches?.[0]?.row ?? 0);
      continue;
    }
    const { view, numRows } = result;
    const [middle = 0] = kernels.rowNumbers(view, numRows >> 1, (numRows >> 1) + 1);
    run.checksum = (run.checksum ?? 0) + numRows + middle;
    kernels.release(view);
  }
  return run;
}
