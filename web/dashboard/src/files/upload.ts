import { ColonnadeError } from "colonnade";
import type { CatalogTable } from "../catalog/catalog.js";
import { errorFromResponse, unreachableError } from "../server/response-error.js";
import { formatBytes } from "../text/format.js";
import type { ServerTables } from "./server-tables.js";

/** How to send a file. */
export interface UploadOptions {
  mediaType: string;
  /** Told how many bytes have left. */
  onProgress: (sentBytes: number) => void;
  /** Ends it; the server then keeps nothing of it. */
  signal: AbortSignal;
}

/** Makes a table of a file; rejects with a ColonnadeError, `cancelled` where that was asked for. */
export function upload(
  file: Blob,
  name: string,
  { mediaType, onProgress, signal }: UploadOptions,
): Promise<CatalogTable> {
  // fetch does not tell how much of a body has been sent.
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
        () =>
          fail(
            new ColonnadeError("file_changed", "The file cannot be read any more.", {
              hint: "Was it changed or moved? Choose it again.",
            }),
          ),
      );
    });
    request.addEventListener("abort", () =>
      fail(new ColonnadeError("cancelled", "The upload was cancelled.")),
    );
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.open("PUT", `/v1/tables/${encodeURIComponent(name)}`);
    request.setRequestHeader("content-type", mediaType);
    request.send(file);
    if (signal.aborted) request.abort();
  });
}

/** Why a file is too large for a server, where it is. */
export function tooLarge(
  file: Blob,
  { max_upload_bytes }: ServerTables,
): ColonnadeError | undefined {
  if (max_upload_bytes === null || file.size <= max_upload_bytes) return undefined;
  return new ColonnadeError(
    "body_too_large",
    `It has ${formatBytes(file.size)}; the server takes at most ${formatBytes(max_upload_bytes)}.`,
    { hint: "Start the server with a larger --max-upload." },
  );
}

/** Rejects where a file has changed since it was chosen. */
function readable(file: Blob): Promise<unknown> {
  return file.slice(0, 1).arrayBuffer();
}
