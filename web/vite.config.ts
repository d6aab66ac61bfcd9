import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { parseSync, Visitor } from "rolldown/utils";
import { defineConfig, type Plugin } from "vite";
import { elementManifest } from "./build/manifest.js";
import { BUILD_TARGET } from "./build/target.js";
import { editorData } from "./build/vscode.js";

/** Copies the wasm modules to where the workers look for them. */
function placeWasm(): Plugin {
  return {
    name: "colonnade-place-wasm",
    // Only in builds: `closeBundle` also runs after tests, which must not change the build.
    apply: "build",
    closeBundle() {
      const place = (from: string, to: string) =>
        copyFileSync(
          new URL(`./pkg/${from}`, import.meta.url),
          new URL(`./dist/${to}`, import.meta.url),
        );
      place("colonnade_wasm_bg.wasm", "colonnade.wasm");
      place("colonnade_reader.wasm", "colonnade-reader.wasm");
    },
  };
}

/** Writes the descriptions of the element for editors and documentation tools, from its source. */
function describeElement(): Plugin {
  const write = (name: string, content: object) => {
    const file = new URL(`./dist/${name}`, import.meta.url);
    writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`);
  };
  return {
    name: "colonnade-describe-element",
    apply: "build",
    closeBundle() {
      const manifest = elementManifest();
      write("custom-elements.json", manifest);
      write("vscode.html-custom-data.json", editorData(manifest));
    },
  };
}

/**
 * Makes `new URL("./worker.js", import.meta.url)` visible to the bundlers of the package's users. A
 * comment in the source keeps this build from resolving it; here the comment is removed, and the name
 * is put in the double quotes that all bundlers recognise.
 */
function showFilesToBundlers(): Plugin {
  return {
    name: "colonnade-show-files-to-bundlers",
    generateBundle: (_, bundle) => {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue;
        file.code = file.code
          .replace(/\/\* @vite-ignore \*\/\s*/g, "")
          .replace(/\s*`(\.\/[\w.-]+)`/g, '"$1"');
      }
    },
  };
}

/** Adds the indirect imports of an entry to it, so that a browser requests all files at once. */
function hoistImports(): Plugin {
  return {
    name: "colonnade-hoist-imports",
    generateBundle: (_, bundle) => {
      for (const entry of Object.values(bundle)) {
        if (entry.type !== "chunk" || !entry.isEntry) continue;
        const needed = new Set(entry.imports);
        for (const name of needed) {
          const file = bundle[name];
          if (file?.type === "chunk") for (const other of file.imports) needed.add(other);
        }
        const late = [...needed].filter((name) => name in bundle && !entry.imports.includes(name));
        entry.code = late.map((name) => `import"./${name}";`).join("") + entry.code;
      }
    },
  };
}

/** Removes indentation from Lit's templates and comments from its styles, which script minifiers leave. */
function shrinkTemplates(): Plugin {
  const shrinkStyles = (styles: string) =>
    styles
      .replace(/\/\*[\s\S]*?\*\//g, "")
      .replace(/\s+/g, " ")
      .replace(/ ?([{};,>]) ?/g, "$1")
      .replaceAll(": ", ":")
      .replaceAll(";}", "}");
  const shrinkMarkup = (markup: string) => markup.replace(/\n\s+/g, "\n");
  return {
    name: "colonnade-shrink-templates",
    enforce: "pre",
    transform: (code, id) => {
      if (!id.endsWith(".ts")) return undefined;
      const texts: { start: number; end: number; text: string }[] = [];
      new Visitor({
        TaggedTemplateExpression({ tag, quasi }) {
          if (tag.type !== "Identifier" || !["css", "html", "svg"].includes(tag.name)) return;
          const shrink = tag.name === "css" ? shrinkStyles : shrinkMarkup;
          for (const { start, value } of quasi.quasis) {
            const { raw } = value;
            texts.push({ start: start + 1, end: start + 1 + raw.length, text: shrink(raw) });
          }
        },
      }).visit(parseSync(id, code).program);
      return texts
        .sort((a, b) => b.start - a.start)
        .reduce(
          (rest, { start, end, text }) => rest.slice(0, start) + text + rest.slice(end),
          code,
        );
    },
  };
}

/** Removes the marks of calls without side effects, because no bundler tree-shakes these files further. */
function dropMarks(): Plugin {
  return {
    name: "colonnade-drop-marks",
    generateBundle: (_, bundle) => {
      for (const file of Object.values(bundle)) {
        if (file.type === "chunk")
          file.code = file.code.replace(
            /(\w?)\/\* @__PURE__ \*\/ /g,
            (_, before) => before && `${before} `,
          );
      }
    },
  };
}

/** For the single-file bundle: the worker's text, and the wasm module as base64 of gzip. */
function embed(): Plugin {
  const built = (name: string) => readFileSync(new URL(`./${name}`, import.meta.url));
  return {
    name: "colonnade-embed",
    resolveId: (id) => (id === "virtual:embedded" ? id : undefined),
    load: (id) => {
      if (id !== "virtual:embedded") return undefined;
      const wasm = gzipSync(built("pkg/colonnade_wasm_bg.wasm"), { level: 9 }).toString("base64");
      const worker = JSON.stringify(built("dist/worker.js").toString());
      return `export const worker = ${worker}; export const wasm = "${wasm}";`;
    },
  };
}

/** Modules that are loaded at their first use. */
const LATE =
  /\/api\/(?:arrow|file-table|serve-here)|\/model\/(?:needs-text|least-versions)|\/grid\/(?:summary-(?:plot|styles)|thumb-tip)|\/viewer\/(?:cell-(?:choices|menu)|find|inspector|matches|json-tree|binary|column-(?:actions|changes|menu|panels|picker|summaries)|filter-(?:bar|form|values)|value-(?:counts|list)|predicate-words|panel|copy|formats|summary-words|totals|selected-values|rows-file|computation-record|too-old|notices)|\/http\/(?:query-record|serve-ports)/;

/** The output has few files: one for `open`, one for the viewer, and one for each tool loaded late. */
const groups = [
  {
    name: "open",
    test: (id: string) => /\/src\/(?:api|http|rpc|model)\//.test(id) && !LATE.test(id),
    priority: 2,
  },
  {
    name: "viewer",
    test: (id: string) => /\/src\/(?:viewer|grid)\/|\/node_modules\//.test(id) && !LATE.test(id),
    priority: 1,
  },
];

// The worker and the reader have their own builds (`--mode worker`), because each must be one file that hosts can
// place anywhere. The single-file bundle, which contains the worker, has its own build too (`--mode inline`).
export default defineConfig(({ mode }) => {
  const entries: Record<string, Record<string, string>> = {
    worker: { worker: "src/worker.ts" },
    reader: { reader: "src/reader.ts" },
    inline: { inline: "src/inline.ts" },
  };
  const entry = entries[mode] ?? { index: "src/index.ts", define: "src/define.ts" };
  const isFirst = !(mode in entries);
  const plugins = { worker: [], reader: [], inline: [embed()] }[mode] ?? [
    placeWasm(),
    describeElement(),
  ];
  const noDom = fileURLToPath(new URL("./src/viewer/no-dom.ts", import.meta.url));
  return {
    plugins: [shrinkTemplates(), dropMarks(), showFilesToBundlers(), hoistImports(), ...plugins],
    // Lit's build for Node also works in browsers; it only checks whether there is a DOM.
    resolve: { conditions: ["node"], alias: { "@lit-labs/ssr-dom-shim": noDom } },
    build: {
      target: BUILD_TARGET,
      emptyOutDir: isFirst,
      lib: { entry, formats: ["es"] },
      rolldownOptions: {
        external: ["apache-arrow", /\/reader\.js$/, ...(isFirst ? [/\/worker\.js$/] : [])],
        // Vite keeps white space in libraries to preserve annotations; these files have none.
        output: {
          chunkFileNames: "[name].js",
          minify: { codegen: true },
          codeSplitting: isFirst && { groups },
        },
      },
    },
  };
});
