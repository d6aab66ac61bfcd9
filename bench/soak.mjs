// `npm run bench -- --only soak [--minutes N] [--seed N]`: checks that a server under a mixed load answers right, and
// that it is as small afterwards as before.
//
// Random clients read, sort, search, export and upload, leave early and cut their connections. The load stops twice,
// after five minutes and at the end; both times, the idle server must have the same descriptors, threads, processes,
// metrics and disk, and about the same memory.

import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Obstacle, say } from "../scripts/run.mjs";
import { markdown } from "./browser/format.mjs";
import { verdict } from "./browser/machine.mjs";
import { ownProcesses, readProcess, statusBytes } from "./browser/processes.mjs";
import { provideLineitem, startServer } from "./server.mjs";
import { Client, Refusal } from "./soak-client.mjs";
import { OPERATIONS, UPLOADS } from "./soak-operations.mjs";

const NUM_CLIENTS = 24;
const FLAGS = ["--writable", "--memory", "4GiB", "--spool", "8GiB"];
const MAX_FIRST_MINUTES = 5;
/** How long the server may take to close idle connections and to end idle threads. */
const SETTLE_SECONDS = 20;
const LEAVE_SECONDS = 2;
const SAMPLE_SECONDS = 5;
const MAX_ANSWER_MS = 30_000;
const MAX_FAILURES = 20;
/** How much the resident memory may grow: a part of it, or bytes. */
const GROWTH_SHARE = 0.05;
const GROWTH_BYTES = 32 << 20;
const MEMORY = "memory, MiB";
const ENGINES_MEMORY = "memory of its processes, MiB";
/** Metrics that are neither counts since the start nor a state that must come back. */
const PASSING_METRICS = ["uptime_seconds", "resident_memory_bytes"];

/** Runs the test; sets the exit code. */
export async function soak({ minutes, seed }) {
  const lineitem = await provideLineitem();
  const folder = mkdtempSync(join(tmpdir(), "colonnade-soak-"));
  const sources = [`arrow=${lineitem.arrow}`, `parquet=${lineitem.parquet}`];
  const server = await startServer([...sources, ...FLAGS, "--data-dir", join(folder, "data")]);
  say(`soak for ${minutes} minutes, seed ${seed}, ${FLAGS.join(" ")}`);
  const test = new Soak({ ...server, folder }, seed);
  const firstMinutes = Math.min(MAX_FIRST_MINUTES, minutes / 4);
  try {
    const states = [await test.settle()];
    for (const part of [firstMinutes, minutes - firstMinutes]) {
      await test.load(part * 60);
      states.push(await test.settle());
    }
    const { text, holds } = report(states, test, { minutes, seed, firstMinutes });
    process.stdout.write(text);
    if (!holds) process.exitCode = 1;
  } finally {
    await server.close();
    rmSync(folder, { recursive: true });
  }
}

class Soak {
  /** The largest values under load. */
  peaks = {};
  failures = [];
  /** By operation: how often it was answered, was refused, or its client left. */
  counts = new Map();
  #server;
  #clients;
  #isOver = false;
  #startMs = performance.now();

  constructor(server, seed) {
    this.#server = server;
    const uploads = new Map(UPLOADS.map((name) => [name, new Set()]));
    this.#clients = Array.from(
      { length: NUM_CLIENTS },
      (_, index) => new Client({ origin: server.origin, uploads, seed: seed + index }),
    );
    for (const name of Object.keys(OPERATIONS)) {
      this.counts.set(name, { answered: 0, left: 0, failed: 0, refused: new Map() });
    }
  }

  async load(seconds) {
    this.#isOver = false;
    const work = this.#clients.map((client) => this.#keepBusy(client));
    const endMs = performance.now() + seconds * 1e3;
    try {
      while (performance.now() < endMs) {
        await wait(Math.min(SAMPLE_SECONDS * 1e3, endMs - performance.now()));
        for (const [name, value] of Object.entries(await sample(this.#server))) {
          this.peaks[name] = Math.max(this.peaks[name] ?? 0, value);
        }
      }
    } finally {
      this.#isOver = true;
      for (const client of this.#clients) client.leaveAfter(0);
      await Promise.all(work);
    }
  }

  async #keepBusy(client) {
    while (!this.#isOver) {
      const name = drawOperation(client);
      const count = this.counts.get(name);
      try {
        await client.run(OPERATIONS[name].run);
        count.answered += 1;
      } catch (error) {
        if (error instanceof Refusal) {
          count.refused.set(error.message, (count.refused.get(error.message) ?? 0) + 1);
          await wait(client.random() * 1e3);
        } else if (client.hasLeft) {
          count.left += 1;
        } else {
          count.failed += 1;
          const seconds = Math.round((performance.now() - this.#startMs) / 1e3);
          this.failures.push(`after ${seconds} s: ${name}: ${error.message}`);
          say(this.failures.at(-1));
        }
      }
    }
  }

  /** Removes all results and uploads; returns the state of the idle server. */
  async settle() {
    const { origin } = this.#server;
    const remove = async (path) => {
      const response = await promptly(`${origin}${path}`, { method: "DELETE" });
      await response.arrayBuffer();
    };
    // What the clients left may still be about to end.
    await wait(LEAVE_SECONDS * 1e3);
    const { queries } = await (await promptly(`${origin}/v1/query`)).json();
    for (const { id } of queries) await remove(`/v1/query/${id}`);
    for (const name of UPLOADS) await remove(`/v1/tables/${name}`);
    await fillProcessPool(origin);
    await wait(SETTLE_SECONDS * 1e3);
    return sample(this.#server);
  }
}

/** Sends a request that even a busy server must answer. */
async function promptly(url, options) {
  try {
    return await fetch(url, { ...options, signal: AbortSignal.timeout(MAX_ANSWER_MS) });
  } catch (error) {
    throw new Obstacle(`the server does not answer ${url}: ${error.message}`);
  }
}

function drawOperation(client) {
  const names = Object.entries(OPERATIONS).flatMap(([name, { weight }]) =>
    Array(weight).fill(name),
  );
  return client.pick(names);
}

/** The server keeps up to two processes for statements; two statements at once make it two. */
async function fillProcessPool(origin) {
  const run = async () => {
    const id = crypto.randomUUID();
    const sql = "select count(*) from parquet where l_comment like '%pinto%'";
    const body = JSON.stringify({ sql, id });
    const headers = { "content-type": "application/json" };
    const response = await promptly(`${origin}/v1/query`, { method: "POST", headers, body });
    await response.arrayBuffer();
    await promptly(`${origin}/v1/query/${id}`, { method: "DELETE" });
  };
  await Promise.all([run(), run()]);
}

/** Everything that must not grow, by name. */
async function sample({ pid, origin, folder }) {
  const metrics = await (await promptly(`${origin}/metrics`)).text();
  const engines = [...ownProcesses()].filter(([, fields]) => Number(fields[1]) === pid);
  const status = readProcess(pid, "status");
  const sizes = sizesBelow(folder);
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    threads: Number(status.match(/^Threads:\s+(\d+)/m)[1]),
    processes: engines.length,
    [MEMORY]: statusBytes(pid, "VmRSS") / 2 ** 20,
    [ENGINES_MEMORY]: engines.reduce((sum, [id]) => sum + statusBytes(id, "RssAnon"), 0) / 2 ** 20,
    files: sizes.length,
    "disk, bytes": sizes.reduce((sum, size) => sum + size, 0),
    ...gauges(metrics),
  };
}

/** The sizes of all files below a folder; those that have just been removed count as 0. */
function sizesBelow(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sizesBelow(path);
    return [statSync(path, { throwIfNoEntry: false })?.size ?? 0];
  });
}

/** The metrics that show a state, by name. */
function gauges(text) {
  const names = [...text.matchAll(/^# TYPE colonnade_(\w+) gauge$/gm)].map(([, name]) => name);
  return Object.fromEntries(
    names
      .filter((name) => !PASSING_METRICS.includes(name))
      .map((name) => [name, Number(text.match(new RegExp(`^colonnade_${name} (\\S+)$`, "m"))[1])]),
  );
}

/** The report, and whether everything was right. */
function report(
  [before, first, last],
  { peaks, failures, counts },
  { minutes, seed, firstMinutes },
) {
  const isKept = (name) => {
    if (name !== MEMORY) return first[name] === last[name];
    const growth = last[name] - first[name];
    return growth <= Math.max(GROWTH_BYTES / 2 ** 20, GROWTH_SHARE * first[name]);
  };
  const names = Object.keys(last);
  const states = names.map((name) => [
    name,
    ...[before, peaks, first, last].map((state) => String(Math.round(state[name]))),
    name === ENGINES_MEMORY ? "" : verdict(isKept(name)),
  ]);
  const numbers = [...counts].map(([name, { answered, left, failed, refused }]) => [
    name,
    ...[answered, left, failed].map(String),
    [...refused].map(([code, number]) => `${code} ${number}`).join(", "),
  ]);
  const holds =
    failures.length === 0 && names.filter((name) => name !== ENGINES_MEMORY).every(isKept);
  const text = `# A mixed load for ${minutes} minutes

${NUM_CLIENTS} clients, seed ${seed}, ${FLAGS.join(" ")}

${markdown(["operation", "answered", "left", "failed", "refused with"], numbers)}

${markdown(["idle server", "before", "largest under load", `after ${firstMinutes} minutes`, "at the end", ""], states)}

${failures.length} wrong answers${failures
    .slice(0, MAX_FAILURES)
    .map((failure) => `\n- ${failure}`)
    .join("")}
`;
  return { text, holds };
}
