import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Syntax colours, from the page's custom properties. */
export const codeHighlight = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--code-type)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

/** The editor's styles. */
export const codeTheme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "transparent", color: "inherit" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", fontSize: "13px", lineHeight: "1.55" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 16px" },
  ".cm-placeholder": { color: "var(--muted)" },
  "&.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--selected)",
    outline: "1px solid var(--accent)",
  },
  // CodeMirror draws this line with an image from a data: URL, which the CSP forbids.
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--danger)",
    textDecorationSkipInk: "none",
    textUnderlineOffset: "3px",
  },
  ".cm-lintPoint-error:after": { borderBottomColor: "var(--danger)" },
  ".cm-tooltip": {
    maxWidth: "min(560px, 90vw)",
    border: "1px solid var(--line-strong)",
    borderRadius: "8px",
    backgroundColor: "var(--bg)",
    color: "var(--text)",
    boxShadow: "0 6px 24px rgb(0 0 0 / 14%)",
    overflow: "hidden",
  },
  ".cm-diagnostic": { padding: "6px 10px", border: "0", font: "12px/1.45 var(--font)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    maxHeight: "220px",
    padding: "4px",
    font: "12px/1.5 var(--mono)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": {
    display: "flex",
    alignItems: "baseline",
    borderRadius: "5px",
    gap: "16px",
    justifyContent: "space-between",
    padding: "3px 10px",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--selected)",
    color: "var(--text)",
    outline: "1px solid transparent",
    outlineOffset: "-1px",
  },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionDetail": {
    marginLeft: "0",
    color: "var(--muted)",
    font: "11.5px/1.5 var(--font)",
    fontStyle: "normal",
  },
  ".cm-tooltip.cm-completionInfo": {
    maxWidth: "320px",
    padding: "8px 10px",
    font: "12px/1.45 var(--font)",
    whiteSpace: "pre-line",
  },
});
