import { ColonnadeError } from "colonnade";
import { errorText } from "../server/response-error.js";
import { droppedFiles } from "./dropped-files.js";
import { Export, type ExportOptions } from "./export.js";
import { type IncomingFile, receive } from "./incoming-file.js";
import { openLocalFile } from "./local-files.js";
import { fetchServerTables, type ServerTables } from "./server-tables.js";

/** What is asked of the page. */
export interface TrayHost {
  /** Shows a file that is open in this tab. */
  showFile(name: string): void;
  showTable(name: string): void;
  reloadTables(): Promise<void>;
}

/**
 * Files on their way in and out.
 *
 * @fires change - something of it is another
 */
export class Tray extends EventTarget {
  host: TrayHost | undefined;
  /** Those on their way in, the latest last. */
  incoming: readonly IncomingFile[] = [];
  /** Those on their way out, the latest last. */
  exports: readonly Export[] = [];
  /** What the server said when the last files came in. */
  server: ServerTables | undefined;
  /** What else is to be said: folders that were dropped, or why nothing could be taken. */
  notes: readonly string[] = [];
  readonly #onChange = () => this.dispatchEvent(new Event("change"));

  get isEmpty(): boolean {
    return this.incoming.length + this.exports.length + this.notes.length === 0;
  }

  /** Whether something is on its way that leaving the page would end. */
  get isSending(): boolean {
    return this.incoming.some(({ isRunning }) => isRunning);
  }

  /** Takes in what was dropped; has to be called before the event ends. */
  drop(transfer: DataTransfer): Promise<void> {
    const dropped = droppedFiles(transfer);
    this.#note(
      dropped.folderNames.map(
        (name) =>
          `“${name}” is a folder. Drop the files in it, or serve it: colonnade serve ${name}`,
      ),
    );
    return this.add(dropped.files);
  }

  /** Takes files in: Arrow is opened in this tab at once, the rest is asked for its name. */
  async add(files: readonly File[]): Promise<void> {
    let isShown = false;
    // What is read in this tab needs no server.
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

  /** Asks for the name under which a file that is open in this tab is to be uploaded. */
  async offer(incoming: IncomingFile): Promise<void> {
    try {
      this.server = await fetchServerTables();
      incoming.offer(this.server, this.incoming);
    } catch (thrown) {
      this.note(errorText(ColonnadeError.from(thrown, "network_error")));
    }
  }

  /** Sends a file; its table is shown where nothing else was in the meantime. */
  async send(incoming: IncomingFile): Promise<void> {
    const others = this.incoming.filter((other) => other !== incoming);
    // The list is as old as the drop: others may have taken the name since.
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

  /** Shows a file's rows, or those of the table that was made of it. */
  show({ file, state }: IncomingFile): void {
    if (state.is === "local") this.host?.showFile(openLocalFile(file));
    if (state.is === "done") this.host?.showTable(state.table.name);
  }

  /** Takes a file out of the list; one on its way is stopped. */
  dismiss(item: IncomingFile | Export | string): void {
    if (typeof item !== "string") item.cancel();
    this.incoming = this.incoming.filter((other) => other !== item);
    this.exports = this.exports.filter((other) => other !== item);
    this.notes = this.notes.filter((other) => other !== item);
    this.#onChange();
  }

  /** Takes everything out that is not on its way. */
  clear(): void {
    this.incoming = this.incoming.filter(({ isRunning }) => isRunning);
    this.exports = this.exports.filter(({ isRunning }) => isRunning);
    this.notes = [];
    this.#onChange();
  }

  /** Has a file made of rows and saved by the browser. */
  export(options: ExportOptions): Promise<void> {
    const item = new Export(options, this.#onChange);
    this.exports = [...this.exports, item];
    this.#onChange();
    return item.run();
  }

  /** Says something that concerns no file on its way. */
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
