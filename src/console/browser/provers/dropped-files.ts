/** Reads what a user dropped or chose: files, and folders with all that is in them. */
import type { DroppedFile } from "./folder-packing.js";

/** More files than any circuit has; a folder dropped by mistake stops here. */
const FILES_MAX = 2000;

/** Returns the dropped files. Must be called while the drop is handled. */
export async function filesOfDrop(transfer: DataTransfer): Promise<DroppedFile[]> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const found: DroppedFile[] = [];
  for (const entry of entries) await collect(entry, found);
  return found;
}

/** Returns the files that a user chose. */
export async function filesOfInput(list: FileList): Promise<DroppedFile[]> {
  return await Promise.all(
    [...list].slice(0, FILES_MAX).map(async (file) => ({
      path: file.webkitRelativePath === "" ? file.name : file.webkitRelativePath,
      text: await file.text(),
    })),
  );
}

async function collect(entry: FileSystemEntry, found: DroppedFile[]): Promise<void> {
  if (found.length >= FILES_MAX) return;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => {
      (entry as FileSystemFileEntry).file(resolve, reject);
    });
    if (file.name.endsWith(".circom")) found.push({ path: entry.fullPath.replace(/^\//, ""), text: await file.text() });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A reader gives its entries in parts, and none when it is done.
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (part.length === 0) return;
    for (const inner of part) await collect(inner, found);
  }
}
