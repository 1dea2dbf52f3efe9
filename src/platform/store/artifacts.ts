/**
 * Large files beside the store, named by their SHA-256: proving keys, wasm, r1cs. A file is complete, fsynced and
 * immutable before its name exists; the record that names it is committed afterwards. Paths are made from hashes only,
 * never from text of a caller or of the store.
 *
 *   <folder>/sha256/<first two hex digits>/<64 hex digits>
 *   <folder>/tmp/<uuid>      a file being written; on the same file system, so that its rename is atomic
 *   <folder>/partial/<uuid>  the same, of an upload that goes on after a restart
 */
import { createHash, type Hash } from "node:crypto";
import { createReadStream, existsSync, statSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LRUCache } from "lru-cache";
import { AppError, assert } from "../errors.js";
import { newId } from "../ids.js";
import { syncFolder, syncPath } from "../files/durable-files.js";

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

/** Where somebody else, such as a process, writes a file that becomes an artifact at once, or never. */
export interface ArtifactPlace {
  /** Absolute path, on the disk of the artifacts; nothing is there yet. */
  readonly path: string;
  /**
   * Makes the file an artifact; it is on disk when this resolves.
   * @param sha256 of what was written, lower-case hex; every later reader checks it
   * @throws storage_full, storage_failed
   */
  publish(sha256: string): Promise<ArtifactReference>;
  /** Deletes the file unless it was published. Never rejects. */
  readonly discard: () => Promise<void>;
}

export interface OrphanArtifact extends ArtifactReference {
  readonly modifiedMs: number;
}

export interface Artifacts {
  /**
   * Stores bytes, or a copy of a file. Idempotent.
   * @throws storage_full, storage_failed
   */
  put(source: Uint8Array | { readonly path: string }): Promise<ArtifactReference>;
  /**
   * Begins an empty file. One that is neither published nor discarded is deleted at the next start.
   * @throws storage_full, storage_failed
   */
  begin(): Promise<ArtifactWriter>;
  /**
   * Names the place of a file that another writes. One that is neither published nor discarded is deleted at the next
   * start.
   */
  place(): ArtifactPlace;
  /**
   * Begins an empty file, or goes on with what an earlier run has written to it, which is hashed again. It stays over
   * restarts until it is published or discarded, or `removePartials` does not name it.
   * @param id UUID of the file
   * @throws storage_full, storage_failed
   */
  beginPartial(id: string): Promise<ArtifactWriter>;
  /** Returns the bytes that are written of such a file; 0 where there is none. */
  partialBytes(id: string): number;
  /** Deletes such a file, which nobody writes to; a missing one is fine. */
  removePartial(id: string): Promise<void>;
  /** Deletes the files of `beginPartial` that are not in `wanted`. Must be called before the first one is begun. */
  removePartials(wanted: ReadonlySet<string>): Promise<void>;
  /**
   * Returns the absolute path of an artifact, for streaming and for workers.
   * @throws artifact_corrupt when the text is not a hash or the file is missing
   */
  resolve(sha256: string): string;
  /** True when the file exists; its content is not checked. */
  has(sha256: string): boolean;
  /**
   * Hashes the file, unless the same unchanged file was hashed before.
   * @throws artifact_corrupt when its content does not have the hash that is its name
   */
  verify(sha256: string): Promise<ArtifactReference>;
  /** Returns the verified content. */
  read(sha256: string): Promise<Buffer>;
  /** Returns the verified content in memory that all threads can share. */
  readShared(sha256: string): Promise<SharedArrayBuffer>;
  /** Deletes unfinished files of an earlier run, and returns their number. Must be called before the first `put`. */
  removeTemporaries(): Promise<number>;
  /**
   * Returns the artifacts that are not in `referenced` and not newer than `olderThanMs`, so that files of a commit that
   * is still being written are left out.
   */
  orphans(referenced: ReadonlySet<string>, olderThanMs: number): Promise<OrphanArtifact[]>;
  /** Deletes an artifact; a missing one is fine. */
  remove(sha256: string): Promise<void>;
}

const SHA256_HEX = /^[0-9a-f]{64}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Bytes per read and write: large enough to make few system calls, small enough for the processor's cache. */
const CHUNK_BYTES = 1 << 20;
/** Verified files that are remembered; an entry takes about 200 bytes. */
const VERIFIED_MAX = 10_000;

/** Opens the artifact folder, and creates it when it is missing. */
export async function openArtifacts(folder: string): Promise<Artifacts> {
  await mkdir(join(folder, "sha256"), { recursive: true, mode: 0o700 });
  await mkdir(join(folder, "tmp"), { recursive: true, mode: 0o700 });
  await mkdir(join(folder, "partial"), { recursive: true, mode: 0o700 });
  syncFolder(folder);
  syncFolder(dirname(folder));
  return new ArtifactFolder(folder);
}

class ArtifactFolder implements Artifacts {
  readonly #folder: string;
  /** Identity of the verified file, by its hash. */
  readonly #verified = new LRUCache<string, string>({ max: VERIFIED_MAX });

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

  async begin(): Promise<ArtifactWriter> {
    const temporary = join(this.#folder, "tmp", newId());
    try {
      const handle = await open(temporary, "wx", 0o600);
      return new GrowingFile(temporary, { handle, publish: (reference) => this.#publish(temporary, reference) });
    } catch (error) {
      throw asStorageError(error);
    }
  }

  place(): ArtifactPlace {
    const path = join(this.#folder, "tmp", newId());
    return {
      path,
      publish: async (sha256) => {
        try {
          await syncPath(path);
          const reference = { sha256, bytes: (await stat(path)).size };
          await this.#publish(path, reference);
          return reference;
        } catch (error) {
          throw asStorageError(error);
        }
      },
      discard: async () => {
        await rm(path, { force: true }).catch(() => undefined);
      },
    };
  }

  async beginPartial(id: string): Promise<ArtifactWriter> {
    const path = this.#partialPath(id);
    try {
      const handle = await open(path, existsSync(path) ? "r+" : "wx+", 0o600);
      const file = new GrowingFile(path, { handle, publish: (reference) => this.#publish(path, reference) });
      await file.readWritten();
      return file;
    } catch (error) {
      throw asStorageError(error);
    }
  }

  partialBytes(id: string): number {
    return statSync(this.#partialPath(id), { throwIfNoEntry: false })?.size ?? 0;
  }

  async removePartial(id: string): Promise<void> {
    await rm(this.#partialPath(id), { force: true });
  }

  async removePartials(wanted: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(join(this.#folder, "partial")))
      if (!wanted.has(name)) await rm(join(this.#folder, "partial", name), { force: true, recursive: true });
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

  #partialPath(id: string): string {
    assert(UUID.test(id), "a partial file is named by a UUID");
    return join(this.#folder, "partial", id);
  }

  #pathOf(sha256: string): string {
    if (!SHA256_HEX.test(sha256)) throw artifactCorrupt("an artifact's name is not a SHA-256");
    return join(this.#folder, "sha256", sha256.slice(0, 2), sha256);
  }

  /** Renames the finished file. Replacing an equal file is harmless, and repairs a damaged one. */
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
      const isVerified = this.#verified.get(sha256) === identity;
      const hash = createHash("sha256");
      const length = await readThrough(handle, content, (chunk) => {
        if (!isVerified) hash.update(chunk);
      });
      if (length !== size) throw artifactCorrupt("an artifact changed while it was read");
      if (!isVerified) this.#accept(sha256, hash, identity);
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
      throw artifactCorrupt("an artifact is damaged: its content does not have the hash that is its name");
    this.#verified.set(sha256, identity);
  }
}

class GrowingFile implements ArtifactWriter {
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
async function writeDurably(path: string, source: Uint8Array | { readonly path: string }): Promise<ArtifactReference> {
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

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length;) {
    written += (await handle.write(chunk, written)).bytesWritten;
  }
}

/**
 * Reads the whole file into `target`, which is overwritten from its start when it is shorter than the file, and calls
 * `onChunk` for each piece. Returns the number of bytes read.
 */
async function readThrough(
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

/** Returns an identity that changes when the file is replaced or written. The inode alone may be reused. */
async function identify(handle: FileHandle): Promise<{ size: number; identity: string }> {
  const { ino, mtimeNs, size } = await handle.stat({ bigint: true });
  assert(size <= BigInt(Number.MAX_SAFE_INTEGER), "an artifact has a sane size");
  return { size: Number(size), identity: `${ino}:${mtimeNs}:${size}` };
}

function artifactCorrupt(message: string, cause?: unknown): AppError {
  return new AppError("artifact_corrupt", { message, cause });
}

const FULL_CODES: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

function asStorageError(error: unknown): Error {
  if (error instanceof AppError) return error;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (FULL_CODES.has(code)) return new AppError("storage_full", { message: "the disk is full", cause: error });
  return new AppError("storage_failed", { message: "a file could not be stored", retryAfterSec: 5, cause: error });
}
