import { ColonnadeError } from "colonnade";
import { errorText } from "../server/response-error.js";
import { droppedFiles, folderNote } from "./dropped-files.js";
import { Export, type ExportOptions } from "./export.js";
import { type IncomingFile, receive } from "./incoming-file.js";
import { openLocalFile } from "./local-files.js";
import { fetchServerTables, type ServerTables } from "./server-tables.js";

/** The actions of the page that the tray uses. */
export interface TrayHost {
  /** Shows a file that is open in this tab. */
  showFile(name: string): void;
  showTable(name: string): void;
  reloadTables(): Promise<void>;
}

/**
 * The opened files and the exports.
 *
 * @fires change - when a file, an export or a message changes
 */
export class Tray extends EventTarget {
  host: TrayHost | undefined;
  /** The opened files, the latest last. */
  incoming: readonly IncomingFile[] = [];
  /** The exports, the latest last. */
  exports: readonly Export[] = [];
  /** The server's tables when files were last added. */
  server: ServerTables | undefined;
  /** Messages that belong to no file of the list, e.g. that a folder was dropped. */
  notes: readonly string[] = [];
  /** The file whose options are open in a dialog. */
  optionsOf: IncomingFile | undefined;
  readonly #onChange = () => this.dispatchEvent(new Event("change"));

  get isEmpty(): boolean {
    return this.incoming.length + this.exports.length + this.notes.length === 0;
  }

  /** Whether an upload is running, which closing the page would cancel. */
  get isSending(): boolean {
    return this.incoming.some(({ isRunning }) => isRunning);
  }

  /** Adds dropped files; to be called while the event is handled. */
  async drop(transfer: DataTransfer): Promise<void> {
    const { files, folders } = droppedFiles(transfer);
    await Promise.all([
      this.add(files),
      Promise.all(folders.map(folderNote)).then((notes) => this.#note(notes)),
    ]);
  }

  /** Adds files: opens Arrow files in this tab and proposes names for the uploads of others. */
  async add(files: readonly File[]): Promise<void> {
    let isShown = false;
    // Files that are opened in this tab do not need the server.
    let asked: Promise<ServerTables> | undefined;
    const askServer = async () => {
      asked ??= fetchServerTables();
      this.server = await asked;
      return this.server;
    };
    for (const file of files) {
      const incoming = await receive(file, askServer, this.incoming, this.#onChange);
      this.incoming = [...this.incoming, incoming];
      if (incoming.state.is === "local" && !isShown) {
        isShown = true;
        this.show(incoming);
      }
    }
    this.#onChange();
  }

  /** Proposes to upload a file that is open in this tab. */
  async offer(incoming: IncomingFile): Promise<void> {
    try {
      this.server = await fetchServerTables();
      incoming.offer(this.server, this.incoming);
    } catch (thrown) {
      this.note(errorText(ColonnadeError.from(thrown, "network_error")));
    }
  }

  /** Opens the dialog for the options of a text file. */
  openOptions(incoming: IncomingFile): void {
    this.optionsOf = incoming;
    this.#onChange();
  }

  /** Closes that dialog. */
  closeOptions(): void {
    this.optionsOf = undefined;
    this.#onChange();
  }

  /** Uploads a file; shows its table if it is the first upload. */
  async send(incoming: IncomingFile): Promise<void> {
    const others = this.incoming.filter((other) => other !== incoming);
    // The list of tables was read at the drop, so the name may be taken by now.
    await incoming.send(async () => {
      this.server = await fetchServerTables();
      return incoming.isReady(this.server, this.incoming);
    });
    if (incoming.state.is !== "done") return;
    const isFirst = !others.some(({ state }) => state.is === "done");
    if (isFirst) this.show(incoming);
    void this.host?.reloadTables();
    this.server = await fetchServerTables().catch(() => this.server);
    this.#onChange();
  }

  /** Shows a file's rows, or those of its uploaded table. */
  show({ file, state }: IncomingFile): void {
    if (state.is === "local") this.host?.showFile(openLocalFile(file));
    if (state.is === "done") this.host?.showTable(state.table.name);
  }

  /** Removes an entry from the list and cancels it if it is running. */
  dismiss(item: IncomingFile | Export | string): void {
    if (typeof item !== "string") item.cancel();
    this.incoming = this.incoming.filter((other) => other !== item);
    this.exports = this.exports.filter((other) => other !== item);
    this.notes = this.notes.filter((other) => other !== item);
    this.#onChange();
  }

  /** Removes all entries that are not running. */
  clear(): void {
    this.incoming = this.incoming.filter(({ isRunning }) => isRunning);
    this.exports = this.exports.filter(({ isRunning }) => isRunning);
    this.notes = [];
    this.#onChange();
  }

  /** Exports rows as a file. */
  export(options: ExportOptions): Promise<void> {
    const item = new Export(options, this.#onChange);
    this.exports = [...this.exports, item];
    this.#onChange();
    return item.run();
  }

  /** Shows a message that belongs to no file of the list. */
  note(text: string): void {
    this.#note([text]);
  }

  #note(texts: readonly string[]): void {
    if (texts.length === 0) return;
    this.notes = [...this.notes.filter((note) => !texts.includes(note)), ...texts];
    this.#onChange();
  }
}

/** The page's tray. */
export const tray = new Tray();
