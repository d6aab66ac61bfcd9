/** What was dropped: files, and the names of folders, which are not taken. */
export interface Dropped {
  files: File[];
  folderNames: string[];
}

/** Reads a drop; has to be called before its event ends. */
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

/** Whether what is dragged over the page are files. */
export function hasFiles(transfer: DataTransfer | null): boolean {
  return transfer?.types.includes("Files") === true;
}
