/** Single files of the artifact store: how they grow, are written through to the disk, and are read whole. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, rm, type FileHandle } from "node:fs/promises";
import { AppError, assert } from "../errors.js";
import { isInUse, replaceFile, type Replacing } from "../files/durable-files.js";

export interface ArtifactReference {
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  /** Size in bytes. */
  readonly bytes: number;
}

/** A file that grows piece by piece and becomes an artifact at once, or never. Its calls must not overlap. */
export interface ArtifactWriter {
  /** Bytes written so far. */
  readonly bytes: number;
  /** @throws storage_full, storage_failed; what was written before stays */
  write(chunk: Uint8Array): Promise<void>;
  /** Returns the hash of what was written so far, lower-case hex. */
  sha256(): string;
  /**
   * Makes the file an artifact; it is on disk when this resolves. To be called once, and nothing after it.
   * @throws storage_full, storage_failed, and the file is gone
   */
  publish(): Promise<ArtifactReference>;
  /** Deletes the file. Never rejects. */
  discard(): Promise<void>;
}

/** Bytes per read and write: large enough to make few system calls, small enough for the processor's cache. */
export const CHUNK_BYTES = 1 << 20;

/** A file that one caller writes. */
export class GrowingFile implements ArtifactWriter {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #publish: (reference: ArtifactReference) => Promise<void>;
  readonly #hash = createHash("sha256");
  #bytes = 0;

  constructor(
    path: string,
    parts: { readonly handle: FileHandle; readonly publish: (reference: ArtifactReference) => Promise<void> },
  ) {
    this.#path = path;
    this.#handle = parts.handle;
    this.#publish = parts.publish;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Goes on behind what the file has already. */
  async readWritten(): Promise<void> {
    this.#bytes = await readThrough(this.#handle, Buffer.allocUnsafe(CHUNK_BYTES), (chunk) => {
      this.#hash.update(chunk);
    });
  }

  async write(chunk: Uint8Array): Promise<void> {
    try {
      // At its place and not at the end: a write that failed half way is written over by the next one.
      for (let written = 0; written < chunk.length;) {
        const { bytesWritten } = await this.#handle.write(chunk, written, undefined, this.#bytes + written);
        written += bytesWritten;
      }
    } catch (error) {
      throw asStorageError(error);
    }
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
  }

  sha256(): string {
    return this.#hash.copy().digest("hex");
  }

  async publish(): Promise<ArtifactReference> {
    const reference = { sha256: this.sha256(), bytes: this.#bytes };
    try {
      await this.#handle.truncate(this.#bytes);
      await this.#handle.sync();
      await this.#handle.close();
      await this.#publish(reference);
      return reference;
    } catch (error) {
      await this.discard();
      throw asStorageError(error);
    }
  }

  async discard(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
    await rm(this.#path, { force: true }).catch(() => undefined);
  }
}

/** Writes and fsyncs a new file. Returns its hash and size. */
export async function writeDurably(
  path: string,
  source: Uint8Array | { readonly path: string },
): Promise<ArtifactReference> {
  const hash = createHash("sha256");
  let bytes = 0;
  const handle = await open(path, "wx", 0o600);
  try {
    // Created only here: a stream that fails before it is read ends the process.
    const chunks =
      source instanceof Uint8Array ? slices(source) : createReadStream(source.path, { highWaterMark: CHUNK_BYTES });
    for await (const chunk of chunks as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      await writeAll(handle, chunk);
      bytes += chunk.length;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { sha256: hash.digest("hex"), bytes };
}

function* slices(content: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < content.length; from += CHUNK_BYTES) yield content.subarray(from, from + CHUNK_BYTES);
}

/** Writes all of a piece at the file's end. */
export async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length;) {
    written += (await handle.write(chunk, written)).bytesWritten;
  }
}

/**
 * Reads the whole file into `target`, which is overwritten from its start when it is shorter than the file, and calls
 * `onChunk` for each piece. Returns the number of bytes read.
 */
export async function readThrough(
  handle: FileHandle,
  target: Uint8Array,
  onChunk: (chunk: Uint8Array) => void,
): Promise<number> {
  let position = 0;
  for (;;) {
    const offset = target.length === 0 ? 0 : position % target.length;
    const length = Math.min(CHUNK_BYTES, target.length - offset);
    if (length === 0) return position;
    const { bytesRead } = await handle.read(target, offset, length, position);
    if (bytesRead === 0) return position;
    onChunk(target.subarray(offset, offset + bytesRead));
    position += bytesRead;
  }
}

/**
 * Gives a finished file its name. Replacing an equal file is harmless, and repairs a damaged one; Windows replaces none
 * that is being read, which then stays where it is whole.
 */
export async function moveInto(
  path: string,
  { temporary, sha256 }: { readonly temporary: string; readonly sha256: string },
  how: Replacing = {},
): Promise<void> {
  try {
    await replaceFile(temporary, path, how);
  } catch (error) {
    if (!isInUse(error, how.platform) || (await hashOf(path)) !== sha256) throw error;
    await rm(temporary);
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  const handle = await open(path, "r");
  try {
    await readThrough(handle, Buffer.allocUnsafe(CHUNK_BYTES), (chunk) => {
      hash.update(chunk);
    });
  } finally {
    await handle.close();
  }
  return hash.digest("hex");
}

/** Returns an identity that changes when the file is replaced or written. The inode alone may be reused. */
export async function identify(handle: FileHandle): Promise<{ size: number; identity: string }> {
  const { ino, mtimeNs, size } = await handle.stat({ bigint: true });
  assert(size <= BigInt(Number.MAX_SAFE_INTEGER), "an artifact has a sane size");
  return { size: Number(size), identity: `${ino}:${mtimeNs}:${size}` };
}

/** Returns the error of an artifact that is missing, or is not what its name says. */
export function artifactCorrupt(message: string, cause?: unknown): AppError {
  return new AppError("artifact_corrupt", { message, cause });
}

const FULL_CODES: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Returns `storage_full` or `storage_failed` for what the file system said; the service's own failures as they are. */
export function asStorageError(error: unknown): Error {
  if (error instanceof AppError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (FULL_CODES.has(code)) return new AppError("storage_full", { message: "the disk is full", cause: error });
  return new AppError("storage_failed", { message: "a file could not be stored", retryAfterSec: 5, cause: error });
}
