/**
 * Large files beside the store, named by their SHA-256: proving keys, wasm, r1cs. A file is complete, fsynced and
 * immutable before its name exists; the record that names it is committed afterwards. No path ever comes from a caller
 * or from the store.
 *
 *   <folder>/sha256/<first two hex digits>/<64 hex digits>
 *   <folder>/tmp/<uuid>                                        being written; on the same file system, so that rename is atomic
 */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError, assert } from "../errors.js";
import { newId } from "../ids.js";
import { syncFolder, syncPath } from "../files/durable-files.js";

export interface ArtifactReference {
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  /** Size in bytes. */
  readonly bytes: number;
}

export interface OrphanArtifact extends ArtifactReference {
  readonly modifiedMs: number;
}

export interface Artifacts {
  /**
   * Stores bytes, or the content of a file (which stays where it is). Idempotent. Throws `storage_full` or
   * `storage_failed`.
   */
  put(source: Uint8Array | { readonly path: string }): Promise<ArtifactReference>;
  /**
   * Absolute path of an artifact, for streaming and for workers. Throws `artifact_corrupt` for what is no hash or is
   * not there.
   */
  resolve(sha256: string): string;
  has(sha256: string): boolean;
  /**
   * Hashes the file unless it is the very file that was hashed before. Throws `artifact_corrupt` when it is not what
   * its name says.
   */
  verify(sha256: string): Promise<ArtifactReference>;
  /** The content, verified. */
  read(sha256: string): Promise<Buffer>;
  /** The content in memory that all threads can share, verified. */
  readShared(sha256: string): Promise<SharedArrayBuffer>;
  /** Deletes what an earlier run left half-written; before anything is put. Returns how many files. */
  removeTemporaries(): Promise<number>;
  /**
   * Artifacts that `referenced` does not name and that are older than that, so that a commit on its way is not
   * overtaken.
   */
  orphans(referenced: ReadonlySet<string>, olderThanMs: number): Promise<OrphanArtifact[]>;
  /** Deletes one. Missing is fine. */
  remove(sha256: string): Promise<void>;
}

const SHA256_HEX = /^[0-9a-f]{64}$/;
/** Bytes per read and write: large enough that system calls do not count, small enough to stay in cache. */
const CHUNK_BYTES = 1 << 20;
/** Hashes to remember; an entry is about 200 bytes. */
const VERIFIED_MAX = 10_000;

/** Opens the artifact folder, making it when it is missing. */
export async function openArtifacts(folder: string): Promise<Artifacts> {
  await mkdir(join(folder, "sha256"), { recursive: true, mode: 0o700 });
  await mkdir(join(folder, "tmp"), { recursive: true, mode: 0o700 });
  syncFolder(folder);
  syncFolder(dirname(folder));
  return new ArtifactFolder(folder);
}

class ArtifactFolder implements Artifacts {
  readonly #folder: string;
  /** sha256 -> identity of the file that had it. */
  readonly #verified = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async put(source: Uint8Array | { readonly path: string }): Promise<ArtifactReference> {
    const temporary = join(this.#folder, "tmp", newId());
    try {
      const reference = await writeDurably(temporary, source);
      await this.#publish(temporary, reference);
      return reference;
    } catch (error) {
      await rm(temporary, { force: true });
      throw asStorageError(error);
    }
  }

  resolve(sha256: string): string {
    const path = this.#pathOf(sha256);
    if (!existsSync(path)) throw artifactCorrupt("an artifact is missing");
    return path;
  }

  has(sha256: string): boolean {
    return existsSync(this.#pathOf(sha256));
  }

  async verify(sha256: string): Promise<ArtifactReference> {
    const handle = await this.#open(sha256);
    try {
      const { size, identity } = await identify(handle);
      if (this.#verified.get(sha256) !== identity) {
        const hash = createHash("sha256");
        await readThrough(handle, Buffer.allocUnsafe(CHUNK_BYTES), (chunk) => {
          hash.update(chunk);
        });
        this.#accept(sha256, hash, identity);
      }
      return { sha256, bytes: size };
    } finally {
      await handle.close();
    }
  }

  async read(sha256: string): Promise<Buffer> {
    return this.#load(sha256, (bytes) => Buffer.allocUnsafeSlow(bytes));
  }

  async readShared(sha256: string): Promise<SharedArrayBuffer> {
    const shared = await this.#load(sha256, (bytes) => new Uint8Array(new SharedArrayBuffer(bytes)));
    return shared.buffer;
  }

  async removeTemporaries(): Promise<number> {
    const names = await readdir(join(this.#folder, "tmp"));
    for (const name of names) await rm(join(this.#folder, "tmp", name), { force: true, recursive: true });
    return names.length;
  }

  async orphans(referenced: ReadonlySet<string>, olderThanMs: number): Promise<OrphanArtifact[]> {
    const orphans: OrphanArtifact[] = [];
    for (const shelf of await readdir(join(this.#folder, "sha256"))) {
      for (const sha256 of await readdir(join(this.#folder, "sha256", shelf))) {
        if (!SHA256_HEX.test(sha256) || referenced.has(sha256)) continue;
        const { size, mtimeMs } = await stat(this.#pathOf(sha256));
        if (mtimeMs <= Date.now() - olderThanMs) orphans.push({ sha256, bytes: size, modifiedMs: mtimeMs });
      }
    }
    return orphans;
  }

  async remove(sha256: string): Promise<void> {
    this.#verified.delete(sha256);
    await rm(this.#pathOf(sha256), { force: true });
  }

  #pathOf(sha256: string): string {
    if (!SHA256_HEX.test(sha256)) throw artifactCorrupt("an artifact's name is not a SHA-256");
    return join(this.#folder, "sha256", sha256.slice(0, 2), sha256);
  }

  /** Gives the finished file its name. Renaming over an equal file is harmless, and mends one that had rotted. */
  async #publish(temporary: string, { sha256 }: ArtifactReference): Promise<void> {
    const path = this.#pathOf(sha256);
    const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await rename(temporary, path);
    await syncPath(dirname(path));
    if (made !== undefined) await syncPath(dirname(dirname(path)));
  }

  async #load<B extends Uint8Array>(sha256: string, allocate: (bytes: number) => B): Promise<B> {
    const handle = await this.#open(sha256);
    try {
      const { size, identity } = await identify(handle);
      const content = allocate(size);
      const isKnown = this.#verified.get(sha256) === identity;
      const hash = createHash("sha256");
      const length = await readThrough(handle, content, (chunk) => {
        if (!isKnown) hash.update(chunk);
      });
      if (length !== size) throw artifactCorrupt("an artifact changed while it was read");
      if (!isKnown) this.#accept(sha256, hash, identity);
      return content;
    } finally {
      await handle.close();
    }
  }

  async #open(sha256: string): Promise<FileHandle> {
    try {
      return await open(this.#pathOf(sha256), "r");
    } catch (error) {
      throw error instanceof AppError ? error : artifactCorrupt("an artifact is missing or unreadable", error);
    }
  }

  #accept(sha256: string, hash: Hash, identity: string): void {
    if (hash.digest("hex") !== sha256)
      throw artifactCorrupt("an artifact is damaged: its content is not what its name says");
    if (this.#verified.size >= VERIFIED_MAX) this.#verified.clear();
    this.#verified.set(sha256, identity);
  }
}

/** Writes and fsyncs a new file; returns what was written. */
async function writeDurably(path: string, source: Uint8Array | { readonly path: string }): Promise<ArtifactReference> {
  const hash = createHash("sha256");
  let bytes = 0;
  const handle = await open(path, "wx", 0o600);
  try {
    // Made only now: a stream that fails before somebody reads it ends the process.
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

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length;) {
    written += (await handle.write(chunk, written)).bytesWritten;
  }
}

/**
 * Reads the file from its start into `target`, again and again when it is shorter than the file, and shows each piece.
 */
async function readThrough(handle: FileHandle, target: Uint8Array, see: (chunk: Uint8Array) => void): Promise<number> {
  let position = 0;
  for (;;) {
    const offset = target.length === 0 ? 0 : position % target.length;
    const length = Math.min(CHUNK_BYTES, target.length - offset);
    if (length === 0) return position;
    const { bytesRead } = await handle.read(target, offset, length, position);
    if (bytesRead === 0) return position;
    see(target.subarray(offset, offset + bytesRead));
    position += bytesRead;
  }
}

/** What changes when a file is replaced or written to. The inode alone is reused. */
async function identify(handle: FileHandle): Promise<{ size: number; identity: string }> {
  const { ino, mtimeNs, size } = await handle.stat({ bigint: true });
  assert(size <= BigInt(Number.MAX_SAFE_INTEGER), "an artifact has a sane size");
  return { size: Number(size), identity: `${ino}:${mtimeNs}:${size}` };
}

function artifactCorrupt(message: string, cause?: unknown): AppError {
  return new AppError("artifact_corrupt", { message, ...(cause === undefined ? {} : { cause }) });
}

const FULL_CODES: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

function asStorageError(error: unknown): Error {
  if (error instanceof AppError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (FULL_CODES.has(code)) return new AppError("storage_full", { message: "the disk is full", cause: error });
  return new AppError("storage_failed", { message: "a file could not be stored", retryAfterSec: 5, cause: error });
}
