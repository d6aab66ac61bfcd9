import { ColonnadeError } from "colonnade";
import type { CatalogTable } from "../catalog/catalog.js";
import { errorFromResponse, unreachableError } from "../server/response-error.js";
import { formatBytes } from "../text/format.js";
import type { ServerTables } from "./server-tables.js";
import { optionsQuery, type TextOptions } from "./text-options.js";

/** Options of an upload. */
export interface UploadOptions {
  mediaType: string;
  /** How a text file is written, as far as the user said so. */
  options: TextOptions;
  /** Called with the number of sent bytes. */
  onProgress: (sentBytes: number) => void;
  /** Cancels the upload; the server then discards what it received. */
  signal: AbortSignal;
}

/**
 * Uploads a file as a table.
 *
 * @throws ColonnadeError `cancelled`, `file_changed`, `network_error`, or the server's error
 */
export function upload(
  file: Blob,
  name: string,
  { mediaType, options, onProgress, signal }: UploadOptions,
): Promise<CatalogTable> {
  // fetch does not report the progress of a request's body.
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    const fail = (error: ColonnadeError) => reject(error);
    request.upload.addEventListener("progress", ({ loaded }) => onProgress(loaded));
    request.upload.addEventListener("load", () => onProgress(file.size));
    request.addEventListener("load", () => {
      const { status, responseText } = request;
      if (status === 200 || status === 201) resolve(JSON.parse(responseText) as CatalogTable);
      else fail(errorFromResponse(status, responseText));
    });
    request.addEventListener("error", () => {
      readable(file).then(
        () => fail(unreachableError()),
        () => fail(fileChangedError()),
      );
    });
    request.addEventListener("abort", () =>
      fail(new ColonnadeError("cancelled", "The upload was cancelled.")),
    );
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.open("PUT", `/v1/tables/${encodeURIComponent(name)}${optionsQuery(options)}`);
    request.setRequestHeader("content-type", mediaType);
    request.send(file);
    if (signal.aborted) request.abort();
  });
}

/** The error for a file that has changed since it was chosen. */
export function fileChangedError(): ColonnadeError {
  return new ColonnadeError("file_changed", "The file can no longer be read.", {
    hint: "It may have been changed or moved. Open it again.",
  });
}

/** The error for a file that is too large for the server; undefined if it is not. */
export function tooLarge(
  file: Blob,
  { max_upload_bytes }: ServerTables,
): ColonnadeError | undefined {
  if (max_upload_bytes === null || file.size <= max_upload_bytes) return undefined;
  return new ColonnadeError(
    "body_too_large",
    `The file has ${formatBytes(file.size)}; the server accepts at most ${formatBytes(max_upload_bytes)}.`,
    { hint: "Start the server with a larger --max-upload." },
  );
}

/** Rejects if a file has changed since it was chosen. */
function readable(file: Blob): Promise<unknown> {
  return file.slice(0, 1).arrayBuffer();
}
