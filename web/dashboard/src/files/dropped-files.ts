/** The dropped files, and the dropped folders, which are not opened. */
export interface Dropped {
  files: File[];
  folders: FileSystemDirectoryEntry[];
}

/** Table formats with a log: the folder of the log, the end of its files' names, and the name of the format. */
const LOGS = [
  ["_delta_log", "", "a Delta Lake table"],
  ["metadata", ".metadata.json", "an Apache Iceberg table"],
  [".hoodie", "", "an Apache Hudi table"],
  ["_versions", ".manifest", "a Lance dataset"],
] as const;

/** Reads the files of a drop; to be called while its event is handled. */
export function droppedFiles(transfer: DataTransfer): Dropped {
  const dropped: Dropped = { files: [], folders: [] };
  for (const item of transfer.items) {
    if (item.kind !== "file") continue;
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry?.isDirectory) dropped.folders.push(entry as FileSystemDirectoryEntry);
    else if (file !== null) dropped.files.push(file);
  }
  return dropped;
}

/** What to do with a folder instead of dropping it. */
export async function folderNote(folder: FileSystemDirectoryEntry): Promise<string> {
  const { name } = folder;
  for (const [log, end, format] of LOGS) {
    const names = await fileNames(folder, log);
    if (names.some((name) => name.endsWith(end))) {
      return (
        `“${name}” is ${format}, which cannot be read here. Its files can have rows that the table does not have any ` +
        "more. Copy the table to Parquet files with a program that reads its format, and drop those."
      );
    }
  }
  return `“${name}” is a folder. Drop its files instead, or serve it: colonnade serve ${name}`;
}

/** Whether files are being dragged. */
export function hasFiles(transfer: DataTransfer | null): boolean {
  return transfer?.types.includes("Files") === true;
}

/** The names in a folder of `parent`; none if there is no such folder or it cannot be read. */
async function fileNames(parent: FileSystemDirectoryEntry, folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    const found = await new Promise<FileSystemEntry>((resolve, reject) =>
      parent.getDirectory(folder, {}, resolve, reject),
    );
    const reader = (found as FileSystemDirectoryEntry).createReader();
    const next = () =>
      new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    for (let entries = await next(); entries.length > 0; entries = await next()) {
      names.push(...entries.map(({ name }) => name));
    }
  } catch {
    // What was found so far is enough.
  }
  return names;
}
