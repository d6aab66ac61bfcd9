import { ColonnadeError } from "colonnade";
import type { CatalogTable } from "../catalog/catalog.js";
import { errorText } from "../server/response-error.js";
import { session } from "../server/session.js";
import { detectFileType, type FileType, HEAD_BYTES } from "./file-type.js";
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
  readonly fileType: FileType | undefined;
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
    {
      fileType,
      mediaType = "",
      state,
    }: { fileType?: FileType; mediaType?: string; state: IncomingState },
    onChange: () => void,
  ) {
    this.file = file;
    this.fileType = fileType;
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
    this.#setState({ is: "sending", sentBytes: 0 });
    try {
      if (!(await isReady())) return this.rename();
      const table = await upload(this.file, this.name, {
        mediaType: this.#mediaType,
        signal: abort.signal,
        onProgress: (sentBytes) => {
          if (!this.isRunning) return;
          const isSent = sentBytes >= this.file.size;
          this.#setState(isSent ? { is: "checking" } : { is: "sending", sentBytes });
        },
      });
      this.#setState({ is: "done", table });
    } catch (thrown) {
      const error = ColonnadeError.from(thrown, "upload_failed");
      if (error.code === "unauthorized") {
        await session.waitForSignIn();
        return this.send(isReady);
      }
      if (error.code === "cancelled") this.#setState({ is: "cancelled" });
      else this.#setState({ is: "failed", error });
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
      this.#setState({ is: "refused", reason, command: "colonnade serve --writable" });
      return;
    }
    const error = tooLarge(file, server);
    this.name = proposeName(file.name, server.tables, namesOf(others));
    this.#setState(error === undefined ? { is: "named" } : { is: "failed", error });
  }

  /** Asks for the name again. */
  rename(): void {
    this.#setState({ is: "named" });
  }

  #setState(state: IncomingState): void {
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
  const detected = detectFileType(file.name, head);
  if ("refusal" in detected) return refused(detected.refusal);
  if (detected.fileType === "arrow") {
    return new IncomingFile(file, { ...detected, state: { is: "local" } }, onChange);
  }
  let server: ServerTables;
  try {
    server = await askServer();
  } catch (thrown) {
    const error = ColonnadeError.from(thrown, "network_error");
    return refused(`“${file.name}” cannot be uploaded now. ${errorText(error)}`);
  }
  const incoming = new IncomingFile(file, { ...detected, state: { is: "named" } }, onChange);
  incoming.offer(server, others);
  return incoming;
}

/** Names that uploads on their way have, or are about to get. */
function namesOf(files: readonly IncomingFile[]): string[] {
  return files
    .filter(({ state, isRunning }) => isRunning || state.is === "named")
    .map(({ name }) => name);
}
