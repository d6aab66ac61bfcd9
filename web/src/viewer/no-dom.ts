// What Lit's build for Node takes from `@lit-labs/ssr-dom-shim`: just enough for the element's module
// to be imported where there is no DOM. Nothing is rendered there.

/** The base of an element that is never created. */
export const HTMLElement: typeof globalThis.HTMLElement =
  globalThis.HTMLElement ?? (class {} as typeof globalThis.HTMLElement);

/** The page's registry, where there is a page. */
export const customElements: CustomElementRegistry | undefined = globalThis.customElements;
