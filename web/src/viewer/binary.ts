/** The bytes of a binary cell's text, `ff00 (2 bytes)`; undefined if it is not such a text. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  const hex = /^(?:((?:[0-9a-f]{2})+) )?\(\d+ bytes?\)$/.exec(text)?.[1];
  if (hex === undefined) return /^\(0 bytes\)$/.test(text) ? new Uint8Array() : undefined;
  const bytes = new Uint8Array(hex.length / 2);
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16);
  }
  return bytes;
}

/** The media type of an image that browsers can show, detected from the first bytes. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  if (head.startsWith("RIFF") && head.startsWith("WEBP", 8)) return "image/webp";
  return undefined;
}

/** A hex dump of bytes `[start, end)`: lines of sixteen with offset, hex and ASCII. */
export function hexLines(bytes: Uint8Array, start: number, end: number): string {
  const lines: string[] = [];
  for (let offset = start; offset < end; offset += 16) {
    const line = bytes.subarray(offset, Math.min(offset + 16, end));
    const hex = Array.from(line, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const ascii = String.fromCharCode(
      ...line.map((byte) => (byte >= 0x20 && byte < 0x7f ? byte : 0x2e)),
    );
    lines.push(`${offset.toString(16).padStart(8, "0")}  ${hex.padEnd(47)}  ${ascii}`);
  }
  return lines.join("\n");
}
