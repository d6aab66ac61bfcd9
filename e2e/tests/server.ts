import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { RecordBatchReader } from "apache-arrow";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The path of a file of the checkout. */
export function inCheckout(path: string): string {
  return `${root}/${path}`;
}

/** The path of a file of the demo tables. */
export function demoFile(name: string): string {
  const { COLONNADE_CACHE_DIR, XDG_CACHE_HOME, HOME } = process.env;
  return `${COLONNADE_CACHE_DIR ?? `${XDG_CACHE_HOME ?? `${HOME}/.cache`}/colonnade`}/${name}`;
}

/** The path of a small table's file, which the global setup has written. */
export function smallFile(table: string): string {
  return `${process.env.COLONNADE_SMALL_TABLES}/${table}.parquet`;
}

/** The sources of the small tables: `lineitem` and `flights` with 100,000 rows, and `every_type`. */
export function smallTables(): string[] {
  const tables = ["flights", "lineitem"].map((name) => `${name}=${smallFile(name)}`);
  return [...tables, `every_type=${demoFile("every_type.arrow")}`];
}

/** A result's record, as returned by `GET /v1/query/{id}`. */
export interface QueryRecord {
  id: string;
  state: "running" | "done" | "failed" | "cancelled";
  rows_sent: number;
  bytes_sent: number;
  error: { code: string; message: string; hint: string } | null;
}

/** The real server, started on a free port. */
export class Server {
  private constructor(
    readonly origin: string,
    private readonly process: ChildProcess,
  ) {}

  /**
   * Starts `colonnade serve` on a free port with `args` and the additional environment variables `env`;
   * resolves when the server listens. A server that replaces another one needs a proxy before both, because
   * other programs may take the port meanwhile.
   */
  static async start(args: string[] = [], env: Record<string, string> = {}): Promise<Server> {
    const child = spawn(
      inCheckout("target/release/colonnade"),
      ["serve", "--listen", "127.0.0.1:0", ...args],
      { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } },
    );
    let log = "";
    child.stderr.on("data", (bytes: Buffer) => {
      log += bytes.toString();
    });
    const lines = createInterface({ input: child.stdout });
    const listening = once(lines, "line").then(([line]) => String(line));
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`the server ended with exit code ${code} before it listened:\n${log}`);
    });
    const line = await Promise.race([listening, ended]);
    ended.catch(() => undefined);
    return new Server(line.replace("listening on ", ""), child);
  }

  /** The anonymous memory of the process in bytes, without mapped files. Linux only. */
  ownBytes(): number {
    const status = readFileSync(`/proc/${this.process.pid}/status`, "utf8");
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** The value of a counter or gauge of `/metrics`. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.origin}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
  }

  /** The rows of a statement. */
  async answer(sql: string): Promise<unknown[][]> {
    const response = await fetch(`${this.origin}/v1/query`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ sql }),
    });
    if (!response.ok) throw new Error(await response.text());
    const rows: unknown[][] = [];
    for await (const batch of await RecordBatchReader.from(response)) {
      for (const row of batch) rows.push(row.toArray());
    }
    return rows;
  }

  /** Kills the server at once, as a crash would. */
  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exit = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await exit;
  }

  /** The running and stored results. */
  async queries(): Promise<QueryRecord[]> {
    const response = await fetch(`${this.origin}/v1/query`);
    const body = (await response.json()) as { queries: QueryRecord[] };
    return body.queries;
  }

  /** The running results, of all of them or of those in `ids`. */
  async running(ids?: ReadonlySet<string>): Promise<string[]> {
    const running = (await this.queries()).filter(({ state }) => state === "running");
    return running.map(({ id }) => id).filter((id) => ids?.has(id) ?? true);
  }
}
