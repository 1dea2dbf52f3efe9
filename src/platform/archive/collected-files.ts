/**
 * The text files that a request brings, as parts of a form or in an archive: their names are checked and their number
 * and length bounded before any byte of them is kept. Nothing is ever written to a disk under such a name.
 */
import { isUtf8 } from "node:buffer";
import { AppError } from "../errors.js";

/** What the files of one request may have together. */
export interface FileLimits {
  /** Bytes of the files that are kept. */
  readonly bytesMax: number;
  /** Files that are kept. */
  readonly filesMax: number;
}

interface CollectedFilesOptions extends FileLimits {
  /** Files with other names are left out: an archive of a project has more than its source. */
  readonly extension: string;
  /** Called with the bytes of each name, and of each content that is kept, before they are; may throw. */
  readonly reserve: (bytes: number) => void;
}

/** Of a path: what the source of a circuit may have, and an archive of a project needs. */
const PATH_CHARACTERS_MAX = 200;
const TOO_LONG = `has more than ${String(PATH_CHARACTERS_MAX)} characters`;
/** Of a path in memory: up to two bytes a character, and an entry that refers to it. */
const PATH_CHARACTER_BYTES = 2;
const PATH_ENTRY_BYTES = 64;
/** Characters of a name that an answer repeats. */
const NAME_SHOWN_LENGTH_MAX = 64;
/** What macOS adds to archives beside each file. */
const METADATA_PREFIX = "._";

export class CollectedFiles {
  readonly #options: CollectedFilesOptions;
  readonly #texts = new Map<string, string>();
  /** Every file that was named, kept or not. */
  readonly #paths = new Set<string>();
  #bytes = 0;

  constructor(options: CollectedFilesOptions) {
    this.#options = options;
  }

  /** Path -> text, in the order in which the files came. */
  get texts(): ReadonlyMap<string, string> {
    return this.#texts;
  }

  /**
   * Notes that a file comes, before its content.
   * @param path as `requireSafePath` returns it
   * @param bytes length of its content
   * @returns whether it is kept
   * @throws AppError `files_invalid` for a second file of the name, `files_too_large`, or what `reserve` throws
   */
  announce(path: string, bytes: number): boolean {
    const { bytesMax, filesMax, extension, reserve } = this.#options;
    if (this.#paths.has(path)) throw filesInvalid(`the file ${shownName(path)} is there twice`);
    reserve(PATH_CHARACTER_BYTES * path.length + PATH_ENTRY_BYTES);
    this.#paths.add(path);
    const base = path.slice(path.lastIndexOf("/") + 1);
    if (!path.endsWith(extension) || base.startsWith(METADATA_PREFIX)) return false;
    if (this.#texts.size >= filesMax) throw filesTooLarge(`at most ${String(filesMax)} files are allowed`);
    this.#bytes += bytes;
    if (this.#bytes > bytesMax) throw filesTooLarge(`the files may have ${String(bytesMax)} bytes in all`);
    reserve(bytes);
    return true;
  }

  /**
   * Keeps the content of an announced file.
   * @throws AppError `files_invalid` when it is no text
   */
  keep(path: string, content: Uint8Array): void {
    if (content.length === 0) throw filesInvalid(`the file ${shownName(path)} is empty`);
    if (!isUtf8(content)) throw filesInvalid(`the file ${shownName(path)} is not UTF-8 text`);
    this.#texts.set(path, Buffer.from(content.buffer, content.byteOffset, content.length).toString("utf8"));
  }
}

/**
 * Returns the path of a file within the folder that an archive or a form stands for, without a leading `./`; empty for
 * that folder itself.
 * @throws AppError `files_invalid` for a name that is absolute or leads out of the folder, that systems read in
 *   different ways, or of more than 200 characters
 */
export function requireSafePath(name: string): string {
  const path = name.replace(/^(\.\/)+/, "");
  const fault = path.length > PATH_CHARACTERS_MAX ? TOO_LONG : nameFault(name);
  if (fault !== undefined) throw filesInvalid(`the name ${shownName(name)} ${fault}`);
  const parts = path.split("/");
  if (parts.length === 1 && parts[0] === ".") return "";
  if (parts.some((part) => part === "." || part === ".."))
    throw filesInvalid(`the name ${shownName(name)} has a part '.' or '..'`);
  if (parts.at(-1) === "") parts.pop();
  if (parts.includes("")) throw filesInvalid(`the name ${shownName(name)} has an empty part`);
  return parts.join("/");
}

/** Returns a name as an answer may repeat it: quoted, short, and without what a terminal would act on. */
export function shownName(name: string): string {
  return `"${name.slice(0, NAME_SHOWN_LENGTH_MAX).replace(/[^\x20-\x7e]/g, "?")}"`;
}

/** Returns the failure of files that are refused, whatever their number. */
export function filesInvalid(message: string): AppError {
  return new AppError("files_invalid", { message });
}

/** Returns the failure of files that are too many or too long. */
export function filesTooLarge(message: string): AppError {
  return new AppError("files_too_large", { message });
}

function nameFault(name: string): string | undefined {
  if (name === "") return "is empty";
  if (/[\u0000-\u001f\u007f]/.test(name)) return "has a control character";
  if (name.includes("\\")) return "has a backslash";
  if (name.startsWith("/") || /^[A-Za-z]:/.test(name)) return "is absolute";
  return undefined;
}
