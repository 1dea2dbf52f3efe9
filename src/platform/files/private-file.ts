/**
 * Small files that hold keys: written atomically, readable by their owner only, and rejected when another user could
 * have read or created them. Messages name the path and never the content.
 */
import { constants, type Stats } from "node:fs";
import { chmod, link, mkdir, open, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { newId } from "../ids.js";
import { StartError } from "../start-error.js";
import { replaceFile, syncPath } from "./durable-files.js";

/** The file cannot be trusted or read; the message is a sentence for the operator. */
export class PrivateFileError extends StartError {
  override readonly name = "PrivateFileError";
}

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const OTHERS_MASK = 0o077;
/** Many times the size of the largest key file. */
const FILE_BYTES_MAX = 64 * 1024;

/**
 * Creates a file with mode 0600, and its folder when it is missing. The bytes are on disk before the name exists, and
 * an existing file is never replaced.
 * @returns false when the file exists already, such as when another process created it first
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
  await syncPath(dirname(path));
  return true;
}

/** Replaces a file atomically: after a crash it holds the old content or the new one, never a mixture. */
export async function replacePrivateFile(path: string, content: Uint8Array): Promise<void> {
  const draft = await writeDraft(path, content);
  await replaceFile(draft, path);
  await syncPath(dirname(path));
}

/**
 * Reads a file. Returns undefined when there is none.
 * @throws PrivateFileError when it is not a plain file, belongs to another user, or is accessible to other users
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
    rejectUnsafe(path, await file.stat());
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function rejectUnsafe(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new PrivateFileError(`${path} is not a regular file`);
  if (stats.size > FILE_BYTES_MAX) throw new PrivateFileError(`${path} is too large to be a key file`);
  // Windows has neither modes nor ids: there the folder's access list says who may read.
  if (process.getuid === undefined) return;
  if ((stats.mode & OTHERS_MASK) !== 0)
    throw new PrivateFileError(`${path} is accessible to group or others; make it private with chmod 600`);
  if (stats.uid !== process.getuid())
    throw new PrivateFileError(
      `${path} belongs to another user: run this as the one whose id is ${String(stats.uid)}, or give the file to yours`,
    );
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
  // The umask may have removed bits; chmod sets the mode independently of it.
  await chmod(draft, FILE_MODE);
  return draft;
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
