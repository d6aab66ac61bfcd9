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

/** The libraries that the examples use in addition to the package. */
const LIBRARIES = ["@types", "esbuild", "react", "react-dom", "typescript", "vite", "webpack"];

/**
 * A project that uses the package: a folder outside of the checkout with the examples and the packed
 * package in its `node_modules`. Of this checkout it uses only the examples' libraries.
 */
export class Embedder {
  private constructor(readonly folder: string) {}

  /** Packs the package and copies the examples; replaces the keys of `addresses` by their values. */
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

  /** The path of a file or folder of the project. */
  path(...names: string[]): string {
    return join(this.folder, ...names);
  }

  /** Runs a script of an example's `package.json`; resolves with its output, rejects if it fails. */
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
