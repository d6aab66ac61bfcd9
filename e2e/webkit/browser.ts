import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { startWebKit } from "../../scripts/webkit.mjs";
import { WebKitPage } from "./page.js";

type Running = Awaited<ReturnType<typeof startWebKit>>;

/** WebKitGTK's MiniBrowser on a screen of its own, with one page. */
export class Browser {
  private constructor(
    private readonly running: Running,
    readonly page: WebKitPage,
  ) {}

  static async start(): Promise<Browser> {
    const running = await startWebKit();
    return new Browser(running, new WebKitPage(running.driver, await locatorScript()));
  }

  /** The text on the clipboard. */
  clipboard(): string {
    const env = this.running.environment;
    return execFileSync("xclip", ["-o", "-selection", "clipboard"], { env, encoding: "utf8" });
  }

  /** The files that pages have saved, by name. */
  downloads(): Record<string, string> {
    const { downloads } = this.running;
    const names = readdirSync(downloads).filter((name) => !name.endsWith(".wkdownload"));
    return Object.fromEntries(
      names.map((name) => [name, readFileSync(join(downloads, name), "utf8")]),
    );
  }

  close(): Promise<void> {
    return this.running.close();
  }
}

/** A script that defines `ivya`, which finds elements as Playwright's locators do. */
async function locatorScript(): Promise<string> {
  const bundle = await rolldown({ input: "ivya" });
  const { output } = await bundle.generate({ format: "iife", name: "ivya", minify: true });
  return output[0].code;
}
