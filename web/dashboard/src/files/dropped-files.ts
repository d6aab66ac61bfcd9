/** The dropped files, and the names of dropped folders, which are not opened. */
export interface Dropped {
  files: File[];
  folderNames: string[];
}

/** Reads the files of a drop; to be called while its event is handled. */
export function droppedFiles(transfer: DataTransfer): Dropped {
  const dropped: Dropped = { files: [], folderNames: [] };
  for (const item of transfer.items) {
    if (item.kind !== "file") continue;
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (entry?.isDirectory) dropped.folderNames.push(entry.name);
    else if (file !== null) dropped.files.push(file);
  }
  return dropped;
}

/** Whether files are being dragged. */
export function hasFiles(transfer: DataTransfer | null): boolean {
  return transfer?.types.includes("Files") === true;
}
