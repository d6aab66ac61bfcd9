import { ColonnadeError } from "colonnade";
import type { CatalogTable } from "../catalog/catalog.js";
import { errorText } from "../server/response-error.js";
import { session } from "../server/session.js";
import { detectFileType, type FileType, HEAD_BYTES, isTextType } from "./file-type.js";
import type { ServerTables } from "./server-tables.js";
import { checkName, type NameCheck, proposeName } from "./table-name.js";
import type { TextOptions } from "./text-options.js";
import { tooLarge, upload } from "./upload.js";

/** The state of an opened or uploaded file. */
export type IncomingState =
  /** Its type is not supported, or the server does not accept uploads. */
  | { is: "refused"; reason: string; command?: string }
  /** Opened in this tab only; nothing was sent to the server. */
  | { is: "local" }
  /** Waits until the user confirms the name of its table. */
  | { is: "named" }
  | { is: "sending"; sentBytes: number }
  /** Sent; the server reads it to check it. */
  | { is: "checking" }
  | { is: "done"; table: CatalogTable }
  | { is: "failed"; error: ColonnadeError }
  | { is: "cancelled" };

/** A file that the user opened. */
export class IncomingFile {
  readonly file: File;
  readonly fileType: FileType | undefined;
  readonly #mediaType: string;
  readonly #onChange: () => void;
  state: IncomingState;
  /** The name of its table. */
  name = "";
  /** Whether it may replace an upload of that name. */
  replaces = false;
  /** How its text is written, as far as the user said so. */
  options: TextOptions = {};
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

  /** Whether its upload is running. */
  get isRunning(): boolean {
    return this.state.is === "sending" || this.state.is === "checking";
  }

  /** Whether it is text, whose uploads have options. */
  get isText(): boolean {
    return this.fileType !== undefined && isTextType(this.fileType);
  }

  /** Changes the name of its table, which then may not replace another. */
  setName(name: string): void {
    this.name = name;
    this.replaces = false;
    this.#onChange();
  }

  /** Changes whether it may replace an upload of its name. */
  setReplaces(replaces: boolean): void {
    this.replaces = replaces;
    this.#onChange();
  }

  /** Checks its name. */
  check(server: ServerTables, others: readonly IncomingFile[]): NameCheck {
    return checkName(this.name, server.tables, namesOf(others.filter((other) => other !== this)));
  }

  /** Whether its name is free, or belongs to an upload that it may replace. */
  isReady(server: ServerTables, others: readonly IncomingFile[]): boolean {
    const check = this.check(server, others);
    return check.is === "free" || (check.is === "uploaded" && this.replaces);
  }

  /**
   * Uploads the file; resolves once that is done, has failed or was cancelled.
   *
   * @param isReady called before the upload; if false, the user has to confirm the name again
   */
  async send(isReady: () => Promise<boolean>): Promise<void> {
    const abort = new AbortController();
    this.#abort = abort;
    this.#setState({ is: "sending", sentBytes: 0 });
    try {
      if (!(await isReady())) return this.rename();
      const table = await upload(this.file, this.name, {
        mediaType: this.#mediaType,
        options: this.options,
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

  /** Cancels the upload; the server discards what it received. */
  cancel(): void {
    this.#abort?.abort();
  }

  /** Proposes a name for its table, or refuses the file if the server does not take it. */
  offer(server: ServerTables, others: readonly IncomingFile[]): void {
    const { file } = this;
    if (!server.writable) {
      const reason = `“${file.name}” has to be uploaded, but this server does not accept uploads. Start it with --writable:`;
      this.#setState({ is: "refused", reason, command: "colonnade serve --writable" });
      return;
    }
    const error = tooLarge(file, server);
    this.name = proposeName(file.name, server.tables, namesOf(others));
    this.#setState(error === undefined ? { is: "named" } : { is: "failed", error });
  }

  /** Asks the user to confirm the name again. */
  rename(): void {
    this.#setState({ is: "named" });
  }

  #setState(state: IncomingState): void {
    this.state = state;
    this.#onChange();
  }
}

/**
 * Detects the type of a file and its next step. Calls `askServer` only for files that would be
 * uploaded.
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
  // Arrow and Parquet files are read in the tab.
  if (!isTextType(detected.fileType)) {
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

/** The names of running and unconfirmed uploads. */
function namesOf(files: readonly IncomingFile[]): string[] {
  return files
    .filter(({ state, isRunning }) => isRunning || state.is === "named")
    .map(({ name }) => name);
}
