/**
 * Small files that hold keys: made whole or not at all, for the owner alone, and refused when others could have read or
 * planted them. Messages name the path and never the content.
 */
import { constants, type Stats } from "node:fs";
import { chmod, link, mkdir, open, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { newId } from "../ids.js";
import { StartError } from "../start-error.js";

/** The file cannot be trusted or read; the message is a sentence for the operator. */
export class PrivateFileError extends StartError {
  override readonly name = "PrivateFileError";
}

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const OTHERS_MASK = 0o077;
/** Many times what the largest key file takes. */
const FILE_BYTES_MAX = 64 * 1024;

/**
 * Writes a new file: its bytes are on disk before its name exists, and a name that exists is never replaced.
 * Returns false when there was a file already, such as another process's that was first.
 */
export async function createPrivateFile(path: string, content: Uint8Array): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
  const draft = await writeDraft(path, content);
  try {
    await link(draft, path);
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  } finally {
    await unlink(draft);
  }
  await syncFolder(dirname(path));
  return true;
}

/** Replaces the file: old content or new content, never a mixture, whatever happens. */
export async function replacePrivateFile(path: string, content: Uint8Array): Promise<void> {
  const draft = await writeDraft(path, content);
  await rename(draft, path);
  await syncFolder(dirname(path));
}

/**
 * Reads the file, or undefined when there is none. Throws PrivateFileError when others can reach it or it is no plain
 * file of ours.
 */
export async function readPrivateFile(path: string): Promise<Buffer | undefined> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    if (isErrno(error, "ELOOP"))
      throw new PrivateFileError(`${path} is a symbolic link; a key file must be a plain file`);
    throw error;
  }
  try {
    refuseUnsafe(path, await file.stat());
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function refuseUnsafe(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new PrivateFileError(`${path} is not a regular file`);
  if ((stats.mode & OTHERS_MASK) !== 0)
    throw new PrivateFileError(`${path} can be reached by group or others; make it private with chmod 600`);
  if (process.getuid !== undefined && stats.uid !== process.getuid())
    throw new PrivateFileError(`${path} belongs to another user`);
  if (stats.size > FILE_BYTES_MAX) throw new PrivateFileError(`${path} is too large to be a key file`);
}

async function writeDraft(path: string, content: Uint8Array): Promise<string> {
  const draft = `${path}.${newId()}.tmp`;
  const file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, FILE_MODE);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  // The umask may have taken bits away, never added any; this states the mode whatever it was.
  await chmod(draft, FILE_MODE);
  return draft;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
