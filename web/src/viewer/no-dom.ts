// Replaces `@lit-labs/ssr-dom-shim` in Lit's build for Node: just enough to import the element's module
// where there is no DOM. Nothing is rendered there.

/** The base of an element that is never created. */
export const HTMLElement: typeof globalThis.HTMLElement =
  globalThis.HTMLElement ?? (class {} as typeof globalThis.HTMLElement);

/** The page's registry, if there is a page. */
export const customElements: CustomElementRegistry | undefined = globalThis.customElements;
