// WebKitGTK's MiniBrowser, driven by WebDriver, because Playwright drives no WebKit of a distribution.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Builder } from "selenium-webdriver";
import { freePort } from "./free-port.mjs";

/**
 * Starts a screen, a window manager, the driver and the browser. One driver runs one browser at a time.
 *
 * @returns the driver; the environment of the screen's programs; the folder of downloads; what ends them all
 */
export async function startWebKit() {
  const folder = mkdtempSync(join(tmpdir(), "colonnade-webkit-"));
  const downloads = join(folder, "downloads");
  mkdirSync(downloads);
  writeFileSync(join(folder, "user-dirs.dirs"), `XDG_DOWNLOAD_DIR="${downloads}"\n`);
  const screen = spawn("Xvfb", ["-displayfd", "1", "-screen", "0", "1400x1000x24"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [display] = await once(createInterface({ input: screen.stdout }), "line");
  const environment = {
    ...process.env,
    DISPLAY: `:${display}`,
    XDG_CONFIG_HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CACHE_HOME: folder,
    LIBGL_ALWAYS_SOFTWARE: "1",
    // WebKit's sandbox needs rights that a container does not have.
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1",
  };
  const port = await freePort();
  /** @type {import("node:child_process").SpawnOptions} */
  const options = { stdio: "ignore", env: environment };
  const programs = [
    screen,
    spawn("openbox", [], options),
    spawn("WebKitWebDriver", [`--port=${port}`], options),
  ];
  const driver = await new Builder()
    .usingServer(`http://127.0.0.1:${port}`)
    .withCapabilities({
      browserName: "MiniBrowser",
      "webkitgtk:browserOptions": { binary: miniBrowser(), args: ["--automation"] },
    })
    .build();
  await driver.manage().setTimeouts({ script: 60_000, pageLoad: 60_000 });
  await driver.manage().window().setRect({ x: 0, y: 0, width: 1280, height: 900 });
  const close = async () => {
    try {
      await driver.quit();
    } finally {
      for (const program of programs.reverse()) program.kill();
      rmSync(folder, { recursive: true, force: true });
    }
  };
  return { driver, environment, downloads, close };
}

/** The path of the browser, which is not in `PATH`. */
function miniBrowser() {
  const listed = execFileSync("dpkg", ["-L", "libwebkit2gtk-4.1-0"], { encoding: "utf8" });
  const path = listed.split("\n").find((line) => line.endsWith("/MiniBrowser"));
  if (path === undefined) throw new Error("libwebkit2gtk-4.1-0 has no MiniBrowser");
  return path;
}
