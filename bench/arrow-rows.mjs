// Counts the rows of an Arrow stream while it arrives, and checks that it is complete.

import { Message } from "apache-arrow";

/** The continuation marker and the size of the metadata. */
const PREFIX_BYTES = 8;

/** Takes a stream in pieces of any size. The server numbers the rows, so no message may be missing or repeated. */
export class ArrowRows {
  numRows = 0;
  #firstRow;
  #isComplete = false;
  #rest = Buffer.alloc(0);
  #bodyBytes = 0;

  constructor(firstRow) {
    this.#firstRow = firstRow;
  }

  push(piece) {
    let bytes = this.#rest.length === 0 ? Buffer.from(piece) : Buffer.concat([this.#rest, piece]);
    for (;;) {
      const numSkipped = Math.min(this.#bodyBytes, bytes.length);
      this.#bodyBytes -= numSkipped;
      bytes = bytes.subarray(numSkipped);
      if (this.#isComplete && bytes.length > 0)
        throw new Error("bytes after the end-of-stream marker");
      if (bytes.length < PREFIX_BYTES) break;
      const end = PREFIX_BYTES + bytes.readInt32LE(4);
      if (bytes.length < end) break;
      if (end === PREFIX_BYTES) this.#isComplete = true;
      else this.#read(Message.decode(bytes.subarray(PREFIX_BYTES, end)));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }

  #read(message) {
    this.#bodyBytes = message.bodyLength;
    if (!message.isRecordBatch()) return;
    const row = this.#firstRow + this.numRows;
    const firstRow = message.metadata.get("colonnade.first_row");
    const numRows = message.header().length;
    if (Number(firstRow) !== row && numRows > 0)
      throw new Error(`row ${firstRow} instead of ${row}`);
    this.numRows += numRows;
  }

  /** Throws unless the stream was complete, with one of these numbers of rows. */
  check(numbers) {
    if (!this.#isComplete) throw new Error(`no end-of-stream marker after ${this.numRows} rows`);
    if (!numbers.includes(this.numRows)) {
      throw new Error(`${this.numRows} rows instead of ${numbers.join(" or ")}`);
    }
  }
}
