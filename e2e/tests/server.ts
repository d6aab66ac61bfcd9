import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A file of the checkout. */
export function inCheckout(path: string): string {
  return `${root}/${path}`;
}

/** A file of the demo tables. */
export function demoFile(name: string): string {
  const { COLONNADE_CACHE_DIR, XDG_CACHE_HOME, HOME } = process.env;
  return `${COLONNADE_CACHE_DIR ?? `${XDG_CACHE_HOME ?? `${HOME}/.cache`}/colonnade`}/${name}`;
}

/** A port that nobody listens at. */
export async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, "close");
  return port;
}

/** The state of a query as `GET /v1/query/{id}` tells it. */
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
   * Starts `colonnade serve` with `args`, on a free port unless `port` says otherwise, with `env`
   * beside this program's variables; resolves once it says where it listens.
   */
  static async start(
    args: string[] = [],
    port = 0,
    env: Record<string, string> = {},
  ): Promise<Server> {
    const child = spawn(
      inCheckout("target/release/colonnade"),
      ["serve", "--listen", `127.0.0.1:${port}`, ...args],
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

  /** The memory that is its own: what it holds, without the files that are mapped into it. Linux only. */
  ownBytes(): number {
    const status = readFileSync(`/proc/${this.process.pid}/status`, "utf8");
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** A counter or gauge of `/metrics`. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.origin}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exit = once(this.process, "exit");
    this.process.kill("SIGKILL");
    await exit;
  }

  /** The running and kept queries. */
  async queries(): Promise<QueryRecord[]> {
    const response = await fetch(`${this.origin}/v1/query`);
    const body = (await response.json()) as { queries: QueryRecord[] };
    return body.queries;
  }
}
