// Starts a real Spark for the tests. `node scripts/spark.mjs` starts one, prints its addresses and the id
// of its process group, and stops it when the script itself ends.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { cacheDir } from "./cache.mjs";
import { freePort } from "./free-port.mjs";
import { has, leaveOut, run, say } from "./run.mjs";

const version = "4.3.0";

const START_TIMEOUT_MS = 120_000;

/** Installs Spark; returns its folder, or undefined with a line about the reason if it cannot be set up. */
export async function setUpSpark() {
  const without = (reason) => leaveOut("the tests with a real Spark are skipped", reason);
  const { stderr, status } = spawnSync("java", ["-version"], { encoding: "utf8" });
  const java = status === 0 ? Number(/version "(\d+)/.exec(stderr)?.[1]) : 0;
  if (!(java >= 17)) return without("Java 17 or later is missing");
  const folder = join(cacheDir(), `pyspark-${version}`);
  const home = join(folder, "pyspark");
  if (existsSync(join(folder, "installed"))) return home;
  if (!has("python3", ["-m", "pip", "--version"])) return without("python3 with pip is missing");
  say(`installing pyspark ${version}, some 450 MB, for the tests with a real Spark`);
  mkdirSync(folder, { recursive: true });
  try {
    const options = ["-q", "--upgrade", "--no-deps", "--target", folder];
    await run("python3", ["-m", "pip", "install", ...options, `pyspark==${version}`]);
  } catch {
    return without("pyspark cannot be installed");
  }
  mkdirSync(join(folder, "installed"), { recursive: true });
  return home;
}

/**
 * Starts a driver with two executors, each in its own process, on the given ports or on free ones.
 * `more` holds further settings of Spark. Spark ends with this program. Resolves with its address, the URL
 * of its page, the id of its process group, and a function that stops it.
 */
export async function startSpark(home, ports = undefined, more = {}) {
  const [port, pagePort] = ports ?? [await freePort(), await freePort()];
  const work = mkdtempSync(join(tmpdir(), "colonnade-spark-"));
  const settings = {
    "spark.executor.memory": "768m",
    "spark.ui.port": pagePort,
    "spark.ui.showConsoleProgress": false,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": port,
    "spark.sql.warehouse.dir": join(work, "warehouse"),
    "spark.local.dir": work,
    ...more,
  };
  const options = Object.entries(settings).flatMap(([key, value]) => ["--conf", `${key}=${value}`]);
  const script = join(home, "sbin", "start-connect-server.sh");
  const child = spawn("bash", [script, "--master", "local-cluster[2,1,1024]", ...options], {
    cwd: work,
    // In its own process group, so that the executors end with the driver.
    detached: true,
    stdio: "ignore",
    env: {
      ...process.env,
      SPARK_HOME: home,
      SPARK_LOCAL_IP: "127.0.0.1",
      SPARK_NO_DAEMONIZE: "1",
      SPARK_LOG_DIR: join(work, "logs"),
      SPARK_WORKER_DIR: join(work, "work"),
    },
  });
  const stop = () => {
    process.off("exit", stop);
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
    rmSync(work, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  // Signals to this program do not reach the other process group.
  process.once("exit", stop);
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!((await answers(port)) && (await answers(pagePort)))) {
    if (Date.now() > deadline || child.exitCode !== null) {
      stop();
      throw new Error("Spark did not start; check that some 2 GB of memory are free");
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    address: `sc://127.0.0.1:${port}`,
    page: `http://127.0.0.1:${pagePort}`,
    group: child.pid,
    stop,
  };
}

/** Calls `work` with the variable `COLONNADE_SPARK` of a new Spark, or without it if Spark cannot be set up. */
export async function withSpark(work) {
  const home = await setUpSpark();
  if (home === undefined) return work({});
  say("starting Spark: a driver and two executors");
  const spark = await startSpark(home);
  try {
    return await work({ COLONNADE_SPARK: `${spark.address} ${spark.page}` });
  } finally {
    spark.stop();
  }
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const home = await setUpSpark();
  if (home === undefined) process.exit(3);
  const ports = argv.length > 3 ? [Number(argv[2]), Number(argv[3])] : undefined;
  const spark = await startSpark(home, ports);
  process.stdout.write(`${spark.address} ${spark.page} ${spark.group}\n`);
  setInterval(() => {}, 60_000);
}
