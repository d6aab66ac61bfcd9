import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const PAGES = ["web/README.md", "docs/embedding.md"];
const inCheckout = (path: string) => new URL(`../../${path}`, import.meta.url);

/** What the text around the examples introduces. */
const KNOWN = `import type { Table as ArrowTable } from "apache-arrow";
import type { ColonnadeViewer, Table, View } from "colonnade";
type Pull = (controller: ReadableStreamDefaultController<Uint8Array>) => Promise<void>;
declare global {
  const viewer: ColonnadeViewer & { readonly view: View };
  const table: Table;
  const arrowTable: ArrowTable;
  const token: string;
  function currentToken(): string;
  function openOrder(id: unknown): void;
  const channel: {
    ask(
      request: { method: string; url: string; body: unknown },
      signal: AbortSignal | null | undefined,
    ): Promise<{ status: number; headers: HeadersInit; pull: Pull }>;
  };
}
`;

/** The scripts of a page by the lines at which they begin, except those of files, which other tests run. */
function scriptsOf(page: string): [line: number, text: string][] {
  const scripts: [number, string][] = [];
  for (const match of page.matchAll(/^```(?:ts|js)\n([\s\S]*?)^```$/gm)) {
    const before = page.slice(0, match.index);
    if (/`examples\/[^`]*`:\n\n$/.test(before)) continue;
    scripts.push([before.split("\n").length, match[1] ?? ""]);
  }
  return scripts;
}

test("the scripts of the pages have correct types", () => {
  // Inside the package, where its dependencies are found.
  const folder = mkdtempSync(new URL("../.docs-", import.meta.url).pathname);
  try {
    writeFileSync(join(folder, "known.d.ts"), KNOWN);
    for (const path of PAGES) {
      const scripts = scriptsOf(readFileSync(inCheckout(path), "utf8"));
      expect(scripts.length).toBeGreaterThan(2);
      for (const [line, text] of scripts) {
        const name = path.replaceAll(/\W/g, "_");
        writeFileSync(join(folder, `${name}_${line}.ts`), `${text}export {};\n`);
      }
    }
    const compilerOptions = {
      noEmit: true,
      composite: false,
      incremental: false,
      noUnusedLocals: false,
      skipLibCheck: true,
      paths: { colonnade: ["../src/index.ts"], "colonnade/define": ["../src/define.ts"] },
    };
    const config = { extends: "../tsconfig.json", compilerOptions, include: ["*.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    let errors = "";
    try {
      execFileSync("npx", ["tsc", "-p", folder], { encoding: "utf8" });
    } catch (thrown) {
      errors = (thrown as { stdout: string }).stdout;
    }
    expect(errors).toBe("");
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);
