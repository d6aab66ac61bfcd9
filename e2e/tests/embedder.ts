import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { inCheckout } from "./server.js";

const run = promisify(execFile);

/** What the examples use beside the package. */
const LIBRARIES = ["@types", "esbuild", "react", "react-dom", "typescript", "vite", "webpack"];

/**
 * Somebody who uses the package: a folder outside of the checkout with the examples in it, the packed
 * package unpacked among its modules, and nothing of this checkout but the examples' own libraries.
 */
export class Embedder {
  private constructor(readonly folder: string) {}

  /** Packs the package and copies the examples, with `addresses` put in the place of theirs. */
  static async make(addresses: Record<string, string>): Promise<Embedder> {
    const folder = mkdtempSync(join(tmpdir(), "colonnade-embedder-"));
    const modules = join(folder, "node_modules");
    mkdirSync(join(modules, "colonnade"), { recursive: true });
    await run("npm", ["pack", inCheckout("web"), "--pack-destination", folder, "--silent"]);
    const [tarball = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
    const unpacked = join(modules, "colonnade");
    await run("tar", ["-xzf", join(folder, tarball), "-C", unpacked, "--strip-components=1"]);
    for (const name of LIBRARIES) {
      symlinkSync(inCheckout(`node_modules/${name}`), join(modules, name), "dir");
    }
    for (const name of readdirSync(inCheckout("examples"))) {
      const to = join(folder, name);
      const isOurs = (path: string) => !/\/(dist|node_modules)$/.test(path);
      cpSync(inCheckout(`examples/${name}`), to, { recursive: true, filter: isOurs });
      for (const file of readdirSync(to)) replaceAll(join(to, file), addresses);
    }
    return new Embedder(folder);
  }

  /** A folder of an example, or what is in it. */
  path(...names: string[]): string {
    return join(this.folder, ...names);
  }

  /** Runs a script of an example's `package.json`; gives what it prints, rejects where it fails. */
  async run(example: string, script: string): Promise<string> {
    const PATH = `${inCheckout("node_modules/.bin")}${delimiter}${process.env.PATH}`;
    const cwd = this.path(example);
    const options = { cwd, env: { ...process.env, PATH } };
    return run("npm", ["run", "--silent", script], options).then(
      ({ stdout }) => stdout,
      ({ stdout, stderr }) => {
        throw new Error(`npm run ${script} failed in ${example}:\n${stdout}\n${stderr}`);
      },
    );
  }

  /** Removes the folder. */
  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

function replaceAll(file: string, addresses: Record<string, string>): void {
  if (!existsSync(file) || !statSync(file).isFile()) return;
  let text = readFileSync(file, "utf8");
  for (const [from, to] of Object.entries(addresses)) text = text.replaceAll(from, to);
  writeFileSync(file, text);
}
