import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { rolldown } from "rolldown";
import { Builder, type WebDriver } from "selenium-webdriver";
import { freePort } from "../tests/server.js";
import { WebKitPage } from "./page.js";

/** WebKitGTK's MiniBrowser on a screen of its own. Playwright cannot drive it, so WebDriver does. */
export class Browser {
  private constructor(
    private readonly folder: string,
    private readonly environment: NodeJS.ProcessEnv,
    private readonly processes: ChildProcess[],
    private readonly driver: WebDriver,
    readonly page: WebKitPage,
  ) {}

  /** Starts a screen, a window manager, the driver and the browser. One driver runs one browser at a time. */
  static async start(): Promise<Browser> {
    const folder = mkdtempSync(join(tmpdir(), "colonnade-webkit-"));
    const screen = spawn("Xvfb", ["-displayfd", "1", "-screen", "0", "1400x1000x24"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [display] = await once(createInterface({ input: screen.stdout }), "line");
    mkdirSync(join(folder, "downloads"));
    writeFileSync(join(folder, "user-dirs.dirs"), `XDG_DOWNLOAD_DIR="${folder}/downloads"\n`);
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
    const start = (program: string, ...args: string[]) =>
      spawn(program, args, { stdio: "ignore", env: environment });
    const port = await freePort();
    const processes = [screen, start("openbox"), start("WebKitWebDriver", `--port=${port}`)];
    const driver = await new Builder()
      .usingServer(`http://127.0.0.1:${port}`)
      .withCapabilities({
        browserName: "MiniBrowser",
        "webkitgtk:browserOptions": { binary: miniBrowser(), args: ["--automation"] },
      })
      .build();
    await driver.manage().setTimeouts({ script: 60_000, pageLoad: 60_000 });
    await driver.manage().window().setRect({ x: 0, y: 0, width: 1280, height: 900 });
    const page = new WebKitPage(driver, await locatorScript());
    return new Browser(folder, environment, processes, driver, page);
  }

  /** The text on the clipboard. */
  clipboard(): string {
    const args = ["-o", "-selection", "clipboard"];
    return execFileSync("xclip", args, { env: this.environment, encoding: "utf8" });
  }

  /** The files that pages have saved, by name. */
  downloads(): Record<string, string> {
    const downloads = join(this.folder, "downloads");
    const names = readdirSync(downloads).filter((name) => !name.endsWith(".wkdownload"));
    return Object.fromEntries(
      names.map((name) => [name, readFileSync(join(downloads, name), "utf8")]),
    );
  }

  async close(): Promise<void> {
    await this.driver.quit();
    for (const running of this.processes.reverse()) running.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The path of the browser, which is not in `PATH`. */
function miniBrowser(): string {
  const listed = execFileSync("dpkg", ["-L", "libwebkit2gtk-4.1-0"], { encoding: "utf8" });
  const path = listed.split("\n").find((line) => line.endsWith("/MiniBrowser"));
  if (path === undefined) throw new Error("libwebkit2gtk-4.1-0 has no MiniBrowser");
  return path;
}

/** A script that defines `ivya`, which finds elements as Playwright's locators do. */
async function locatorScript(): Promise<string> {
  const bundle = await rolldown({ input: "ivya" });
  const { output } = await bundle.generate({ format: "iife", name: "ivya", minify: true });
  return output[0].code;
}
