import { ColonnadeError } from "colonnade";
import { session } from "../server/session.js";
import type { FileType } from "./file-type.js";
import { parseOptions, type TextOptions } from "./text-options.js";
import { fileChangedError } from "./upload.js";

/** The number of first bytes of a file that are sent for its preview. */
const PREVIEW_BYTES = 256 * 1024;

/** The first rows of a text file, and how the server reads it. */
export interface Preview {
  /** An Arrow IPC stream with at most 100 rows. */
  rows: Response;
  /** All that the server detected, or was requested to use. */
  used: TextOptions;
}

/**
 * Requests the first rows of a text file with these options.
 *
 * @throws ColonnadeError `file_changed`, `network_error`, or the server's error
 */
export async function fetchPreview(
  file: Blob,
  fileType: FileType,
  options: TextOptions,
  signal: AbortSignal,
): Promise<Preview> {
  const start = await file
    .slice(0, PREVIEW_BYTES)
    .arrayBuffer()
    .catch(() => {
      throw fileChangedError();
    });
  // The server detects the format by this name, like that of an upload by its media type.
  const name = `file.${fileType}`;
  const whole = String(file.size <= PREVIEW_BYTES);
  const query = new URLSearchParams({ name, whole, ...options });
  try {
    const rows = await session.fetch(`/v1/preview?${query}`, {
      method: "POST",
      body: start,
      signal,
    });
    return { rows, used: parseOptions(rows.headers.get("x-text-options") ?? "") };
  } catch (thrown) {
    if (!(thrown instanceof ColonnadeError)) throw thrown;
    const { code, message, hint, status } = thrown;
    throw new ColonnadeError(code, message.replace(`${name}: `, ""), { hint, status });
  }
}
