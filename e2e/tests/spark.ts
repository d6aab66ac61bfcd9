import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { inCheckout } from "./server.js";

/** A real Spark: a driver and two executors in separate processes. */
export class Spark {
  private constructor(
    readonly address: string,
    private readonly page: string,
    private readonly group: number,
    private readonly child: ChildProcess,
  ) {}

  /** Starts Spark on free ports, or on those of `before`; undefined if Spark is not available. */
  static async start(before?: Spark): Promise<Spark | undefined> {
    const ports = before
      ? [before.address, before.page].map((url) => url.split(":").at(-1) ?? "")
      : [];
    const child = spawn("node", [inCheckout("scripts/spark.mjs"), ...ports], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface({ input: child.stdout });
    const line = once(lines, "line").then(([line]) => String(line));
    const exit = once(child, "exit").then(([code]) => {
      if (code === 3) return undefined;
      throw new Error(`Spark did not start: exit code ${code}`);
    });
    exit.catch(() => undefined);
    const started = await Promise.race([line, exit]);
    if (started === undefined) return undefined;
    const [address = "", page = "", group = ""] = started.split(" ");
    return new Spark(address, page, Number(group), child);
  }

  /** Ends all its processes at once, as a crash of the machine would. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const exit = once(this.child, "exit");
    this.child.kill("SIGTERM");
    await exit;
  }

  /** Kills one of the executors. */
  killExecutor(): void {
    const lines = execFileSync("ps", ["-eo", "pid,pgid,args"], { encoding: "utf8" }).split("\n");
    const executors = lines.filter((line) => line.includes("CoarseGrainedExecutorBackend"));
    const pids = executors
      .map((line) => line.trim().split(/\s+/, 2).map(Number))
      .filter(([, group]) => group === this.group)
      .map(([pid]) => pid);
    if (pids[0] === undefined) throw new Error("no executor runs");
    process.kill(pids[0], "SIGKILL");
  }

  /** The number of running jobs, from Spark's REST API. */
  async runningJobs(): Promise<number> {
    return (await this.ask("/jobs?status=running")).length;
  }

  /** The tasks of the active stages, one for each partition, from Spark's REST API. */
  async tasks(): Promise<{ numTasks: number; numDone: number }> {
    const stages = (await this.ask("/stages?status=active")) as {
      numTasks: number;
      numCompleteTasks: number;
    }[];
    return {
      numTasks: stages.reduce((sum, stage) => sum + stage.numTasks, 0),
      numDone: stages.reduce((sum, stage) => sum + stage.numCompleteTasks, 0),
    };
  }

  private async ask(path: string): Promise<unknown[]> {
    const list = async (path: string) => {
      const response = await fetch(`${this.page}/api/v1/applications${path}`);
      return (await response.json()) as unknown[];
    };
    const [application] = (await list("")) as { id: string }[];
    return list(`/${application?.id}${path}`);
  }
}
