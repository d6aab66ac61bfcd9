/** Copies a text; false if the browser does not allow it. To be called within a user's gesture. */
export async function copyToClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages without TLS have no `navigator.clipboard`, only the copy command.
    return copyByCommand(text);
  }
}

function copyByCommand(text: string): boolean {
  let isTaken = false;
  const onCopy = (event: ClipboardEvent) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    event.clipboardData?.setData("text/plain", text);
    isTaken = true;
  };
  document.addEventListener("copy", onCopy, { capture: true });
  try {
    return document.execCommand("copy") && isTaken;
  } finally {
    document.removeEventListener("copy", onCopy, { capture: true });
  }
}
