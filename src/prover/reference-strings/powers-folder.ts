/**
 * The operator's folder of powers-of-tau files. It is only listed and read: what is used is a copy among the artifacts,
 * because nobody promises that a file in the folder stays as it was when it was checked.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readLayout } from "../../engine/powers-of-tau/file-layout.js";
import { PowersOfTauError } from "../../engine/powers-of-tau/powers-of-tau-error.js";
import { openRangeFile } from "../../engine/powers-of-tau/range-file.js";
import { FILES_MAX } from "./reference-string-schemas.js";
import type { CurveName } from "../../engine/curves/curve-parameters.js";

/** A file that the operator has put into the folder. */
export interface FolderFile {
  readonly file: string;
  readonly path: string;
  readonly bytes: number;
  /** Changes when the file does: size, time of change and number of the file. */
  readonly identity: string;
}

/** A file that was uploaded: it is among the artifacts. */
export interface UploadedFile extends Omit<FolderFile, "path"> {
  readonly path?: undefined;
  readonly sha256: string;
}

export type FoundFile = (FolderFile & { readonly sha256?: undefined }) | UploadedFile;

/** What a file says of itself; nothing of it is checked yet. A type, because nodes tell each other by records. */
export type ClaimedPowers = {
  readonly curve: CurveName;
  readonly power: number;
  readonly prepared: boolean;
};

const SUFFIX = ".ptau";

/** Returns the files of the folder by name; none without a folder. */
export async function findPowersFiles(folder: string | undefined): Promise<FolderFile[]> {
  if (folder === undefined) return [];
  const names = (await readdir(folder)).filter((name) => name.endsWith(SUFFIX)).sort();
  const found: FolderFile[] = [];
  for (const file of names.slice(0, FILES_MAX)) {
    const path = join(folder, file);
    // A file may be gone since the folder was listed, and a link may lead nowhere.
    const stats = await stat(path).catch(() => undefined);
    if (stats?.isFile() !== true) continue;
    found.push({ file, path, bytes: stats.size, identity: `${stats.ino}-${stats.mtimeMs}-${stats.size}` });
  }
  return found;
}

/** Reads the head of a file; undefined when it is no file that could be used, or cannot be read. */
export function readClaim(path: string): ClaimedPowers | undefined {
  let file: ReturnType<typeof openRangeFile> | undefined;
  try {
    file = openRangeFile(path);
    const { curve, power, isPrepared } = readLayout(file);
    return { curve: curve.name, power, prepared: isPrepared };
  } catch (error) {
    // Other files may serve: whoever asks for a check of this one learns why it cannot be read.
    if (error instanceof PowersOfTauError || isFileSystemError(error)) return undefined;
    throw error;
  } finally {
    file?.close();
  }
}

function isFileSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
