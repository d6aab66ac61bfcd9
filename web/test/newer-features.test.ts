import { expect, test } from "vitest";
import { newerFeatures } from "../build/newer-features.mjs";

const found = (name: string, text: string) =>
  newerFeatures([{ name, text }]).map(({ path }) => path);

test.each([
  ["Promise.try(f)", "javascript.builtins.Promise.try"],
  ["const { try: attempt } = Promise", "javascript.builtins.Promise.try"],
  ["Iterator.from(x)", "javascript.builtins.Iterator.from"],
  ["a.union(b)", "javascript.builtins.Set.union"],
  ["navigator.gpu", "api.Navigator.gpu"],
  ["self.showOpenFilePicker()", "api.Window.showOpenFilePicker"],
  ["new URLPattern(x)", "api.URLPattern"],
  ["URL.parse(x)", "api.URL.parse_static"],
  ["x.addEventListener('scrollend', f)", "api.Document.scrollend_event"],
  [`html\`<p @scrollend=\${f}></p>\``, "api.Document.scrollend_event"],
  [`html\`<details name="one">\${x}</details>\``, "html.elements.details.name"],
  [`html\`<p style="field-sizing: \${x}"></p>\``, "css.properties.field-sizing"],
  ["x.style.fieldSizing = 'content'", "css.properties.field-sizing"],
  [`css\`p { anchor-name: \${x}; }\``, "css.properties.anchor-name"],
  ["using x = y", "javascript.statements.using"],
  ["/(?i:a)/", "javascript.regular_expressions.modifier"],
])("a newer feature is found in the script %s", (text, path) => {
  expect(found("script.js", text)).toEqual([path]);
});

test.each([
  ["p { text-wrap: pretty }", "css.properties.text-wrap.pretty"],
  ["p { --x: contrast-color(red) }", "css.types.color.contrast-color"],
  ["p { user-select: none }", "css.properties.user-select"],
  ["@starting-style { p { color: red } }", "css.at-rules.starting-style"],
  ["@media (inverted-colors: none) { p { color: red } }", "css.at-rules.media.inverted-colors"],
  ["p:open { color: red }", "css.selectors.open"],
])("a newer feature is found in the styles %s", (text, path) => {
  expect(found("styles.css", text)).toEqual([path]);
});

test("what the least versions have is not reported", () => {
  const script = `Promise.withResolvers(); AbortSignal.any([]); Object.groupBy(x, f); x.showPopover();
    class A { union() {} } new A().union(); const gpu = 1; css\`p { color: light-dark(red, red) }\`;
    html\`<p popover @click=\${f} style="color: \${x}"></p>\``;
  expect(found("script.js", script)).toEqual([]);
  const styles = `p { -webkit-user-select: none; user-select: none; text-wrap: balance; width: 1dvw }
    p:has(a) { b { color: color-mix(in oklab, red, blue) } } @container (width > 1px) { p { top: 0 } }`;
  expect(found("styles.css", styles)).toEqual([]);
});

test("a report says which browsers lack it, since when they have it, and where it is used", () => {
  expect(newerFeatures([{ name: "script.js", text: "a.union(b)" }])).toEqual([
    {
      path: "javascript.builtins.Set.union",
      lacking: ["Firefox 125 lacks it (127 has it)"],
      uses: ["script.js: a.union(b)"],
    },
  ]);
});
