import { ColonnadeError } from "colonnade";
import type { CatalogTable } from "../catalog/catalog.js";
import { wordsOf } from "../server/response-error.js";
import { session } from "../server/session.js";
import { type FileKind, HEAD_BYTES, recognise } from "./file-type.js";
import type { ServerTables } from "./server-tables.js";
import { checkName, type NameCheck, proposeName } from "./table-name.js";
import { tooLarge, upload } from "./upload.js";

/** Where a file that came in is. */
export type IncomingState =
  /** It is no table, or cannot be taken here. */
  | { is: "refused"; reason: string; command?: string }
  /** Its rows are read in this tab; the server knows nothing of it. */
  | { is: "local" }
  /** Its name is to be confirmed before it is sent. */
  | { is: "named" }
  | { is: "sending"; sentBytes: number }
  /** All of it is at the server, which reads it once. */
  | { is: "checking" }
  | { is: "done"; table: CatalogTable }
  | { is: "failed"; error: ColonnadeError }
  | { is: "cancelled" };

/** A file on its way in. */
export class IncomingFile {
  readonly file: File;
  readonly kind: FileKind | undefined;
  readonly #mediaType: string;
  readonly #onChange: () => void;
  state: IncomingState;
  /** The name that its table gets. */
  name = "";
  /** Whether it may take the place of an upload of that name. */
  replaces = false;
  #abort: AbortController | undefined;

  constructor(
    file: File,
    { kind, mediaType = "", state }: { kind?: FileKind; mediaType?: string; state: IncomingState },
    onChange: () => void,
  ) {
    this.file = file;
    this.kind = kind;
    this.state = state;
    this.#mediaType = mediaType;
    this.#onChange = onChange;
  }

  /** Whether it is on its way now. */
  get isRunning(): boolean {
    return this.state.is === "sending" || this.state.is === "checking";
  }

  /** What comes of its name. */
  check(server: ServerTables, others: readonly IncomingFile[]): NameCheck {
    return checkName(this.name, server.tables, namesOf(others.filter((other) => other !== this)));
  }

  /** Whether its name is free, or that of an upload that it may replace. */
  isReady(server: ServerTables, others: readonly IncomingFile[]): boolean {
    const check = this.check(server, others);
    return check.is === "free" || (check.is === "uploaded" && this.replaces);
  }

  /**
   * Sends it; resolves once it is a table, has failed or was cancelled.
   *
   * @param isReady asked just before; where it is not, its name is to be confirmed again
   */
  async send(isReady: () => Promise<boolean>): Promise<void> {
    const abort = new AbortController();
    this.#abort = abort;
    this.#become({ is: "sending", sentBytes: 0 });
    try {
      if (!(await isReady())) return this.rename();
      const table = await upload(this.file, this.name, {
        mediaType: this.#mediaType,
        signal: abort.signal,
        onProgress: (sentBytes) => {
          if (!this.isRunning) return;
          const isSent = sentBytes >= this.file.size;
          this.#become(isSent ? { is: "checking" } : { is: "sending", sentBytes });
        },
      });
      this.#become({ is: "done", table });
    } catch (thrown) {
      const error = ColonnadeError.from(thrown, "upload_failed");
      if (error.code === "unauthorized") {
        await session.needed();
        return this.send(isReady);
      }
      if (error.code === "cancelled") this.#become({ is: "cancelled" });
      else this.#become({ is: "failed", error });
    }
  }

  /** Ends the sending; nothing of it stays at the server. */
  cancel(): void {
    this.#abort?.abort();
  }

  /** Proposes a name for its table, or says why the server does not take it. */
  offer(server: ServerTables, others: readonly IncomingFile[]): void {
    const { file } = this;
    if (!server.writable) {
      const reason = `“${file.name}” would have to be uploaded, and this server takes no uploads. Start it with --writable:`;
      this.#become({ is: "refused", reason, command: "colonnade serve --writable" });
      return;
    }
    const error = tooLarge(file, server);
    this.name = proposeName(file.name, server.tables, namesOf(others));
    this.#become(error === undefined ? { is: "named" } : { is: "failed", error });
  }

  /** Asks for the name again. */
  rename(): void {
    this.#become({ is: "named" });
  }

  #become(state: IncomingState): void {
    this.state = state;
    this.#onChange();
  }
}

/**
 * Looks at a file: what it is, and what can become of it. The server is asked what it takes only for
 * files that would go there.
 */
export async function receive(
  file: File,
  askServer: () => Promise<ServerTables>,
  others: readonly IncomingFile[],
  onChange: () => void,
): Promise<IncomingFile> {
  const refused = (reason: string, command?: string) =>
    new IncomingFile(
      file,
      { state: { is: "refused", reason, ...(command === undefined ? {} : { command }) } },
      onChange,
    );
  let head: Uint8Array;
  try {
    head = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  } catch {
    return refused(`“${file.name}” cannot be read. Is it a folder, or was it moved?`);
  }
  const recognised = recognise(file.name, head);
  if ("refusal" in recognised) return refused(recognised.refusal);
  if (recognised.kind === "arrow") {
    return new IncomingFile(file, { ...recognised, state: { is: "local" } }, onChange);
  }
  let server: ServerTables;
  try {
    server = await askServer();
  } catch (thrown) {
    const error = ColonnadeError.from(thrown, "network_error");
    return refused(`“${file.name}” cannot be uploaded now. ${wordsOf(error)}`);
  }
  const incoming = new IncomingFile(file, { ...recognised, state: { is: "named" } }, onChange);
  incoming.offer(server, others);
  return incoming;
}

/** Names that uploads on their way have, or are about to get. */
function namesOf(files: readonly IncomingFile[]): string[] {
  return files
    .filter(({ state, isRunning }) => isRunning || state.is === "named")
    .map(({ name }) => name);
}
