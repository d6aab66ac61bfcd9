import type { FileWarning } from "../model/file-source.js";

/** The bytes of a file. */
export interface ByteSource {
  /** The length of the file. */
  readonly size: number;
  readonly warning?: FileWarning | undefined;
  /** The bytes `[start, end)`. Rejects if they cannot be read, or if the file has changed. */
  read(start: number, end: number, signal: AbortSignal): Promise<Uint8Array>;
}

/** The bytes of a local file. The browser refuses them once the file has changed. */
export class BlobBytes implements ByteSource {
  readonly #blob: Blob;

  constructor(blob: Blob) {
    this.#blob = blob;
  }

  get size(): number {
    return this.#blob.size;
  }

  async read(start: number, end: number): Promise<Uint8Array> {
    return new Uint8Array(await this.#blob.slice(start, end).arrayBuffer());
  }
}
