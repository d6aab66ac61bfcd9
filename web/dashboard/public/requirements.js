// Replaces the page by a sentence where the browser is too old for it. Old browsers must be able to read this file.

{
  const missing = [
    ["WebAssembly", "WebAssembly" in window],
    ["Promise.withResolvers", "withResolvers" in Promise],
    ["AbortSignal.any", "AbortSignal" in window && "any" in AbortSignal],
    ["popover", "popover" in HTMLElement.prototype],
    ["light-dark()", CSS.supports("color", "light-dark(red, red)")],
  ].filter((each) => !each[1]);
  if (missing.length > 0) {
    const names = missing.map((each) => each[0]).join(", ");
    document.body.textContent = `Colonnade needs Chrome 123, Firefox 125 or Safari 17.5, or later. This browser does not have: ${names}.`;
  }
}
