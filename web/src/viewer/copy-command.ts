// Loaded where the page has no other way to the clipboard.

/** Puts cells on the clipboard by the browser's copy command; false if it is refused. */
export function copyByCommand({
  text,
  html,
}: {
  text: string[];
  /** The cells as an HTML table, if they are few. */
  html: string[] | undefined;
}): boolean {
  let isTaken = false;
  const onCopy = (event: ClipboardEvent) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    event.clipboardData?.setData("text/plain", text.join(""));
    if (html !== undefined) event.clipboardData?.setData("text/html", html.join(""));
    isTaken = true;
  };
  document.addEventListener("copy", onCopy, { capture: true });
  try {
    return document.execCommand("copy") && isTaken;
  } finally {
    document.removeEventListener("copy", onCopy, { capture: true });
  }
}
