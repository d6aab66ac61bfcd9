// Sets up a machine for builds and tests; skips what is already set up.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheDir, keepNewest } from "./cache.mjs";
import { has, leaveOut, Obstacle, read, root, run, say } from "./run.mjs";

const wasmTarget = "wasm32-unknown-unknown";

/** Checks for Rust, a C compiler and make, and adds the wasm target. */
export async function setUpRust() {
  if (!has("cargo")) {
    throw new Obstacle(
      "Rust is missing: install it with rustup (https://rustup.rs), stable toolchain, then run this again",
    );
  }
  if (!has("cc")) {
    throw new Obstacle(
      "a C compiler is missing (cc): install gcc or clang, e.g. `apt-get install build-essential`, then run this again",
    );
  }
  if (!has("make")) {
    throw new Obstacle(
      "make is missing: install it, e.g. `apt-get install build-essential`, then run this again",
    );
  }
  const sysroot = read("rustc", ["--print", "sysroot"]);
  if (sysroot && existsSync(join(sysroot, "lib", "rustlib", wasmTarget))) return;
  if (!has("rustup")) {
    throw new Obstacle(
      `Rust's target ${wasmTarget} is missing, and there is no rustup to add it: install it from the source of your Rust`,
    );
  }
  say(`adding Rust's target ${wasmTarget}`);
  await run("rustup", ["target", "add", wasmTarget]);
}

/** Adds rustfmt and clippy, which rustup's minimal profile does not include. */
export async function setUpRustLints() {
  await setUpRust();
  const missing = ["rustfmt", "clippy"].filter((name) => {
    return !has("cargo", [name === "rustfmt" ? "fmt" : name, "--version"]);
  });
  if (missing.length === 0) return;
  if (!has("rustup")) {
    throw new Obstacle(
      `the tests need ${missing.join(" and ")}: install it from the source of your Rust`,
    );
  }
  say(`adding ${missing.join(" and ")}`);
  await run("rustup", ["component", "add", ...missing]);
}

/** Installs the JavaScript packages of the lock file. */
export async function setUpNode() {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < 20) {
    throw new Obstacle(`Node ${process.versions.node} is too old: 20 or later is needed`);
  }
  const lock = createHash("sha256").update(readFileSync(join(root, "package-lock.json")));
  const digest = lock.digest("hex");
  const stamp = join(root, "node_modules", ".colonnade-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  say("installing JavaScript packages");
  await run("npm", ["ci", "--no-fund", "--no-audit"]);
  writeFileSync(stamp, digest);
}

/** The browsers of the tests: the variable that names a program, the names of programs, and Debian's package. */
const BROWSERS = {
  Chromium: {
    variable: "COLONNADE_CHROMIUM",
    programs: ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
    aptPackage: "chromium",
  },
  Firefox: {
    variable: "COLONNADE_FIREFOX",
    programs: ["firefox-esr", "firefox"],
    aptPackage: "firefox-esr",
  },
};

/**
 * Environment variables with the paths of the named browsers (all: the keys of `BROWSERS`): each is named by
 * the user, already installed, or installed with apt. A browser that only Playwright has installed is left out.
 */
export async function setUpBrowsers(names = Object.keys(BROWSERS)) {
  const missing = names.filter((name) => pathOf(BROWSERS[name]) === undefined);
  if (missing.length > 0 && canInstall()) {
    say(`installing ${missing.join(" and ")} for the tests`);
    await install(missing.map((name) => BROWSERS[name].aptPackage));
  }
  const playwright = await import("@playwright/test");
  const paths = {};
  for (const name of names) {
    const { variable, aptPackage } = BROWSERS[name];
    const path = pathOf(BROWSERS[name]);
    if (path !== undefined) paths[variable] = path;
    else if (!existsSync(playwright[name.toLowerCase()].executablePath())) {
      throw new Obstacle(
        `the tests need ${name}: install it (Debian: \`apt-get install ${aptPackage}\`; elsewhere ` +
          `\`npx playwright install ${name.toLowerCase()}\`) or name it in ${variable}`,
      );
    }
  }
  return paths;
}

/** WebKitGTK's driver, a screen, a window manager and a reader of the clipboard, by their programs. */
const WEBKIT_PACKAGES = {
  WebKitWebDriver: "webkit2gtk-driver",
  Xvfb: "xvfb",
  openbox: "openbox",
  xclip: "xclip",
};

/** The environment variable that turns on the tests in WebKitGTK; none if it cannot be set up. */
export async function setUpWebKit() {
  const isMissing = ([program]) => read("which", [program]) === undefined;
  const packages = Object.entries(WEBKIT_PACKAGES)
    .filter(isMissing)
    .map(([, name]) => name);
  if (packages.length > 0 && canInstall()) {
    say("installing WebKitGTK for the tests");
    await install(packages);
  } else if (packages.length > 0) {
    leaveOut("the tests in WebKitGTK are skipped", `Debian's ${packages.join(", ")} is missing`);
    return {};
  }
  return { COLONNADE_WEBKIT: "1" };
}

const canInstall = () => has("apt-get") && process.getuid?.() === 0;

async function install(packages) {
  await run("apt-get", ["update", "-q"]);
  await run("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...packages], {
    env: { DEBIAN_FRONTEND: "noninteractive" },
  });
}

/** The path of a browser's program; undefined if there is none. */
function pathOf({ variable, programs }) {
  return [process.env[variable], ...programs.map((name) => read("which", [name]))].find(Boolean);
}

/**
 * Sets up a Python environment with exactly `python/requirements-dev.txt`. Returns its interpreter and the
 * folder of its packages; undefined if it cannot be set up, with a line about the reason and the skipped tests.
 */
export async function setUpPython() {
  const skipped = "the Python package and the tests that read our streams with pyarrow are skipped";
  const environment = await setUpEnvironment("python", "python/requirements-dev.txt", skipped);
  if (environment === undefined) return undefined;
  const python = join(environment, "python");
  const packages = read(python, ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]);
  return { python, packages };
}

/**
 * Installs the engines for the server's tests with pip. Returns environment variables with the paths of
 * their programs; none if they cannot be set up, with a line about the reason and the skipped tests.
 */
export async function setUpEngines() {
  const skipped = "the tests with a real Sail and a real S3-compatible server are skipped";
  const environment = await setUpEnvironment("engines", "server/tests/requirements.txt", skipped);
  if (environment === undefined) return {};
  return {
    COLONNADE_SAIL: join(environment, "sail"),
    COLONNADE_MOTO_SERVER: join(environment, "moto_server"),
  };
}

/**
 * Sets up a Python environment in the cache folder with exactly the packages of a requirements file. Returns
 * the folder of its programs; undefined if it cannot be set up, with a line about the reason and `skipped`.
 */
async function setUpEnvironment(name, requirements, skipped) {
  if (!has("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 11))"])) {
    return leaveOut(skipped, "Python 3.11 or later is missing (python3)");
  }
  const list = join(root, requirements);
  const hash = createHash("sha256")
    .update(readFileSync(list))
    .update(read("python3", ["-VV"]));
  const key = hash.digest("hex").slice(0, 16);
  const folder = join(cacheDir(), name, key);
  const programs = join(folder, "bin");
  const stamp = join(folder, "installed");
  keepNewest(name, key);
  if (existsSync(stamp)) return programs;
  say(`installing the Python packages of ${requirements}`);
  rmSync(folder, { recursive: true, force: true });
  try {
    await run("python3", ["-m", "venv", folder]);
    const options = ["-q", "--disable-pip-version-check", "--no-compile", "-r", list];
    await run(join(programs, "python"), ["-m", "pip", "install", ...options]);
  } catch (error) {
    if (!(error instanceof Obstacle)) throw error;
    return leaveOut(skipped, `the Python packages of ${requirements} cannot be installed`);
  }
  writeFileSync(stamp, "");
  return programs;
}
