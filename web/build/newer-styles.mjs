// Reads the features of style sheets and of markup, and passes each to `add(features, code, besides)`: the features
// that the code may mean, the code, and the properties in the same block.

import * as css from "css-tree";
import { cssTypes, events, featureAt } from "./compat.mjs";

const CSS_OPTIONS = { parseCustomProperty: true };

/** Reads a style sheet. */
export function readStyleSheet(text, add) {
  readStyle(css.parse(text, CSS_OPTIONS), add);
}

/** Reads a text of a script that may be a style sheet or a template; `\0` stands for inserted values. */
export function readText(text, add) {
  if (/<[a-z]/.test(text)) readMarkup(text, add);
  if (!/\{[^{}]*:[^{}]*\}/.test(text)) return;
  let isStyle = true;
  const onParseError = () => {
    isStyle = false;
  };
  const tree = css.parse(text.replaceAll("\0", " "), { ...CSS_OPTIONS, onParseError });
  if (isStyle) readStyle(tree, add);
}

/** Reads HTML or SVG. */
export function readMarkup(text, add) {
  const tags = /<([a-z][a-z0-9-]*)((?:"[^"]*"|'[^']*'|[^"'<>])*)/g;
  for (const [code, tag, rest] of text.matchAll(tags)) {
    const kind = featureAt("html", "elements", tag) ? "html" : "svg";
    add([featureAt(kind, "elements", tag)], code);
    for (const [, event] of rest.matchAll(/\s@([a-z]+)=/g)) add(events.get(event) ?? [], code);
    for (const [, name, value = ""] of rest.matchAll(/\s\??([a-z-]+)(?:=["']?([^"']*))?/g)) {
      const own = [kind, "elements", tag, name];
      const path = featureAt(...own) ? own : [kind, "global_attributes", name];
      if (!add([featureAt(...path)], code)) add([featureAt(...path, value)], code);
      if (name !== "style") continue;
      readStyle(css.parse(value.replaceAll("\0", "0"), { context: "declarationList" }), add);
    }
  }
}

function readStyle(tree, add) {
  css.walk(tree, function (node) {
    const report = (...path) => add([featureAt("css", ...path)], css.generate(node));
    if (node.type === "Declaration") {
      const { block } = this;
      const besides = block?.children.toArray().map(({ property }) => property);
      const features = [featureAt("css", "properties", node.property)];
      // A descriptor, such as one of @font-face.
      if (this.atrule && !this.rule) {
        features.unshift(featureAt("css", "at-rules", this.atrule.name, node.property));
      }
      if (add(features, css.generate(node), besides)) return this.skip;
    } else if (node.type === "Identifier" && this.declaration) {
      report("properties", this.declaration.property, node.name);
    } else if (node.type === "Function") {
      const own = this.declaration && ["css", "properties", this.declaration.property, node.name];
      const features = [own && featureAt(...own), ...(cssTypes.get(node.name) ?? [])];
      add(features, css.generate(node));
    } else if (node.type === "Raw" && this.declaration) {
      // A value that css-tree does not understand.
      for (const [, name] of node.value.matchAll(/([a-z-]+)\(/g))
        add(cssTypes.get(name) ?? [], name);
    } else if (node.type === "Dimension") {
      report("types", "length", node.unit);
    } else if (/^Pseudo\w+Selector$/.test(node.type) && !node.name.startsWith("-")) {
      report("selectors", node.name);
    } else if (node.type === "NestingSelector") {
      report("selectors", "nesting");
    } else if (node.type === "Atrule") {
      report("at-rules", node.name);
    } else if (node.type === "Feature") {
      report("at-rules", node.kind, node.name);
    }
    return undefined;
  });
}
