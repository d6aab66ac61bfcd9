import { openBuffer, openStream, openUrl, prepare, readWithModule } from "./colonnade.js";
import { copyToWasm, drainOnly } from "./floors.js";
import { arrowAsync, arrowSync, flechette, flechetteWhole } from "./js-readers.js";
import { runKernels } from "./kernels.js";
import type { Input, Reader, Run, Task } from "./tasks.js";

const CHUNK_BYTES = 64 * 1024;
/** The wait for a new renderer to finish its own work, which would disturb the first run. */
const SETTLE_MS = 500;

/** The readers by their names in `workloads.mjs`. */
const READERS: Record<string, Reader> = {
  drain: drainOnly,
  copy: copyToWasm,
  module: readWithModule,
  "open(stream)": openStream,
  "open(buffer)": openBuffer,
  "open(url)": openUrl,
  "apache-arrow async": arrowAsync,
  "apache-arrow sync": arrowSync,
  flechette,
  "flechette, one buffer": flechetteWhole,
};

/** Available through `--expose-gc`; called before each run of a reader, so that no run pays for another's garbage. */
declare const gc: () => void;

globalThis.onmessage = async ({ data }: MessageEvent<Task>) => {
  try {
    globalThis.postMessage({ runs: await perform(data) });
  } catch (thrown) {
    globalThis.postMessage({ error: thrown instanceof Error ? thrown.stack : String(thrown) });
  }
};

async function perform(task: Task): Promise<Run[]> {
  await prepare();
  const input = await makeInput(task);
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  if (task.kind === "kernels") {
    const { body } = await readWithModule(input);
    const runs: Run[] = [];
    for (let run = 0; run < task.numRuns; run++)
      runs.push(await runKernels(body, task.needle, run));
    return runs;
  }
  const read = READERS[task.reader];
  if (read === undefined) throw new Error(`there is no reader "${task.reader}"`);
  const runs: Run[] = [];
  for (let run = 0; run < task.numRuns; run++) {
    gc();
    runs.push(await once(read, input, task));
  }
  return runs;
}

async function once(read: Reader, input: Input, { touches, timesBatches }: Task): Promise<Run> {
  const clock = timesBatches ? new BatchClock() : undefined;
  const startMs = performance.now();
  const decoded = await read({ ...input, onBatches: clock?.onBatches });
  const decodedMs = performance.now();
  const run: Run = { ms: { decode: decodedMs - startMs }, memoryBytes: decoded.memoryBytes };
  if (clock && clock.us.length > 0) run.batchUs = clock.us;
  if (touches && decoded.touch !== undefined) {
    run.checksum = await decoded.touch();
    run.ms.touch = performance.now() - decodedMs;
    run.ms.both = performance.now() - startMs;
  }
  decoded.release();
  return run;
}

/** Measures the time of each batch; several batches that arrive at once share their time equally. */
class BatchClock {
  readonly us: number[] = [];
  #lastMs = performance.now();

  readonly onBatches = (numBatches: number): void => {
    const numNew = numBatches - this.us.length;
    if (numNew === 0) return;
    const nowMs = performance.now();
    const share = ((nowMs - this.#lastMs) * 1e3) / numNew;
    for (let batch = 0; batch < numNew; batch++) this.us.push(share);
    this.#lastMs = nowMs;
  };
}

async function makeInput({ url, kind }: Task): Promise<Input> {
  if (kind === "network") {
    const response = await fetch(url, { method: "HEAD" });
    const numBytes = Number(response.headers.get("content-length"));
    return { url, numBytes, chunks: undefined, whole: undefined };
  }
  const whole = await (await fetch(url)).arrayBuffer();
  const numBytes = whole.byteLength;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  for (let start = 0; start < numBytes; start += CHUNK_BYTES) {
    chunks.push(new Uint8Array(whole.slice(start, start + CHUNK_BYTES)));
  }
  return { url, numBytes, chunks, whole };
}
