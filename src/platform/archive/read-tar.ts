/**
 * Reads the source files of a `.tar.gz` that a caller sends. Only plain files and folders are taken: links, devices and
 * names that lead out of the archive are refused, not skipped, so that nobody builds less than was sent.
 */
import { filesInvalid, filesTooLarge, requireSafePath, shownName, type CollectedFiles } from "./collected-files.js";
import { gunzip } from "./gunzip.js";
import { readPaxRecords, readTarHeader, TAR_BLOCK_BYTES, textOf, type PaxRecords } from "./tar-header.js";

/** What an archive may have besides the files that are kept. */
export interface ArchiveLimits {
  /** Headers of every kind. */
  readonly entriesMax: number;
  /** Bytes of the whole archive, unpacked. */
  readonly bytesMax: number;
}

/** Of a pax header or a long name: attributes of a file may be long, its path, times and owner are short. */
const EXTENSION_BYTES_MAX = 64 * 1024;
const FILE_TYPES: ReadonlySet<string> = new Set(["0", "\0", "7"]);
const FOLDER_TYPE = "5";
const REFUSED_TYPES: Readonly<Record<string, string>> = {
  "1": "a hard link",
  "2": "a symbolic link",
  "3": "a character device",
  "4": "a block device",
  "6": "a named pipe",
  K: "a link",
  S: "a sparse file",
};

/**
 * Adds the files of an archive to `files`.
 * @throws AppError `files_invalid` with what is refused, `files_too_large`
 */
export async function readTarGz(packed: Uint8Array, files: CollectedFiles, limits: ArchiveLimits): Promise<void> {
  const reader = new ByteReader(gunzip(packed, limits));
  try {
    await readEntries(reader, files, limits);
  } finally {
    await reader.close();
  }
}

async function readEntries(reader: ByteReader, files: CollectedFiles, { entriesMax }: ArchiveLimits): Promise<void> {
  let extension: Extension = {};
  for (let entries = 0; ; entries += 1) {
    const block = await reader.read(TAR_BLOCK_BYTES);
    if (isZero(block)) {
      if (extension.name !== undefined || extension.size !== undefined)
        throw filesInvalid("the archive ends behind a header that belongs to a file");
      await requireEnd(reader);
      return;
    }
    if (entries >= entriesMax) throw filesTooLarge(`the archive may have ${String(entriesMax)} entries`);
    const { type, name, size } = readTarHeader(block);
    if (type === "x" || type === "g" || type === "L") {
      extension = { ...extension, ...(await readExtension(reader, { type, size, before: extension })) };
      continue;
    }
    await readEntry(reader, files, { type, ...effective({ name, size }, extension) });
    extension = {};
  }
}

/** What the headers before an entry say of it. */
interface Extension {
  readonly name?: string;
  readonly size?: number;
}

async function readExtension(
  reader: ByteReader,
  { type, size, before }: { readonly type: string; readonly size: number; readonly before: Extension },
): Promise<Extension> {
  if (size > EXTENSION_BYTES_MAX) throw filesTooLarge("a name in the archive is too long");
  const content = await reader.content(size);
  if (type === "L") {
    if (before.name !== undefined) throw filesInvalid("an entry of the archive has two names");
    return { name: textOf(content) };
  }
  const { path, size: length }: PaxRecords = readPaxRecords(content);
  // Every later entry would have the name or the length: no program writes that.
  if (type === "g" && (path !== undefined || length !== undefined))
    throw filesInvalid("the archive gives one name or length to all its entries");
  if (type === "x" && (before.name !== undefined || before.size !== undefined))
    throw filesInvalid("an entry of the archive has two names");
  return { ...(path === undefined ? {} : { name: path }), ...(length === undefined ? {} : { size: length }) };
}

/** A length that the two headers state differently would let two programs see two archives in one. */
function effective(
  header: { readonly name: string; readonly size: number },
  { name = header.name, size = header.size }: Extension,
): { readonly name: string; readonly size: number } {
  if (size !== header.size) throw filesInvalid(`the archive states two lengths for ${shownName(name)}`);
  return { name, size };
}

async function readEntry(
  reader: ByteReader,
  files: CollectedFiles,
  { type, name, size }: { readonly type: string; readonly name: string; readonly size: number },
): Promise<void> {
  if (!FILE_TYPES.has(type) && type !== FOLDER_TYPE)
    throw filesInvalid(`${shownName(name)} in the archive is ${REFUSED_TYPES[type] ?? "of an unknown kind"}`);
  const path = requireSafePath(name);
  // Before there was a type for folders, their names ended with a slash.
  if (type === FOLDER_TYPE || path === "" || name.endsWith("/")) {
    if (size !== 0) throw filesInvalid(`the folder ${shownName(name)} in the archive has a content`);
    return;
  }
  if (files.announce(path, size)) files.keep(path, await reader.content(size));
  else await reader.skip(size);
}

/** Two blocks of zeros end an archive; behind them may be more of these only. */
async function requireEnd(reader: ByteReader): Promise<void> {
  if (!isZero(await reader.read(TAR_BLOCK_BYTES))) throw filesInvalid("the archive goes on behind its end");
  for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next())
    if (!isZero(chunk)) throw filesInvalid("the archive goes on behind its end");
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

/** Takes from a stream as many bytes as are asked for. */
class ByteReader {
  readonly #chunks: AsyncGenerator<Buffer, void>;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(chunks: AsyncGenerator<Buffer, void>) {
    this.#chunks = chunks;
  }

  /** Exactly so many bytes. */
  async read(bytes: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    await this.#take(bytes, (part) => parts.push(part));
    const [only] = parts;
    return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts);
  }

  /** The content of an entry, without what fills its last block. */
  async content(bytes: number): Promise<Uint8Array> {
    const content = await this.read(bytes);
    await this.#take(padding(bytes), () => undefined);
    return content;
  }

  async skip(bytes: number): Promise<void> {
    await this.#take(bytes + padding(bytes), () => undefined);
  }

  /** What is left of a chunk, or the next one; undefined at the end. */
  async next(): Promise<Uint8Array | undefined> {
    const rest = this.#rest;
    this.#rest = new Uint8Array(0);
    if (rest.length > 0) return rest;
    const { done, value } = await this.#chunks.next();
    return done === true ? undefined : value;
  }

  /** Ends the unpacking where it is. */
  async close(): Promise<void> {
    await this.#chunks.return();
  }

  async #take(bytes: number, onPart: (part: Uint8Array) => void): Promise<void> {
    for (let left = bytes; left > 0;) {
      const chunk = await this.next();
      if (chunk === undefined) throw filesInvalid("the archive is cut off");
      onPart(chunk.subarray(0, left));
      this.#rest = chunk.subarray(Math.min(left, chunk.length));
      left -= Math.min(left, chunk.length);
    }
  }
}

function padding(bytes: number): number {
  return (TAR_BLOCK_BYTES - (bytes % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES;
}
