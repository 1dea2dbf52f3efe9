/**
 * Large files beside the store, named by their SHA-256: proving keys, wasm, r1cs. A file is complete, fsynced and
 * immutable before its name exists; the record that names it is committed afterwards. Paths are made from hashes only,
 * never from text of a caller or of the store.
 *
 * On a node of a cluster the storage that the nodes share is the truth (shared-files.ts), and the folder a cache of it:
 * a file is there before the call that stores it resolves, and one that is not in the folder is fetched when it is
 * needed.
 *
 *   <folder>/sha256/<first two hex digits>/<64 hex digits>
 *   <folder>/tmp/<uuid>      a file being written; on the same file system, so that its rename is atomic
 *   <folder>/partial/<uuid>  the same, of an upload that goes on after a restart
 */
import { createHash, type Hash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { mkdir, open, readdir, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LRUCache } from "lru-cache";
import { AppError, assert } from "../errors.js";
import { newId } from "../ids.js";
import { syncFolder, syncPath } from "../files/durable-files.js";
import {
  CHUNK_BYTES,
  GrowingFile,
  artifactCorrupt,
  asStorageError,
  identify,
  moveInto,
  readThrough,
  writeAll,
  writeDurably,
  type ArtifactReference,
  type ArtifactWriter,
} from "./artifact-files.js";
import type { SharedFiles } from "./shared-files.js";

export type { ArtifactReference, ArtifactWriter };

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

/**
 * On a node of a cluster, all that stores or needs a file may also throw `store_unreachable`, `storage_full` and
 * `storage_failed` for the shared storage.
 */
export interface Artifacts {
  /** Whether other nodes have the same files. Those of `begin` and `beginPartial` are this node's alone until then. */
  readonly isShared: boolean;
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
  /** Deletes the files of `beginPartial` that are not wanted, as is asked of each before it is deleted. */
  removePartials(isWanted: (id: string) => boolean): Promise<void>;
  /**
   * Returns the absolute path of an artifact, for streaming and for workers. Only what is fetched for it is checked.
   * @throws artifact_corrupt when the text is not a hash or the file is missing
   */
  resolve(sha256: string): Promise<string>;
  /** True when the file exists in this folder; its content is not checked, and other nodes may have it. */
  has(sha256: string): boolean;
  /**
   * Must be called before a record names a file that is stored already: keeps other nodes from removing it for a day.
   * Returns false when it is gone; always true in a single server, where `verify` tells.
   */
  keep(sha256: string): Promise<boolean>;
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
   * Deletes the files of the folder that are not in `referenced` and not newer than `olderThanMs`, so that files of a
   * commit that is still being written stay. Returns their number. On a node these are copies.
   */
  removeOrphans(referenced: ReadonlySet<string>, olderThanMs: number): Promise<number>;
  /**
   * Deletes shared files that no record names and that nobody has stored or kept within the last day, and what is left
   * of unfinished ones. Returns their number, 0 in a single server.
   * @param referencedNow returns the hashes that the cluster's records name, as of the call or later
   */
  removeSharedOrphans(referencedNow: () => Promise<ReadonlySet<string>>): Promise<number>;
  /**
   * Deletes an artifact; a missing one is fine. What another node has stored or kept within the last day stays shared,
   * and is left to `removeSharedOrphans`.
   */
  remove(sha256: string): Promise<void>;
  /** Ends connections to the shared storage. Nothing may be stored or fetched after it. Never rejects. */
  close(): Promise<void>;
}

const SHA256_HEX = /^[0-9a-f]{64}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Verified files that are remembered; an entry takes about 200 bytes. */
const VERIFIED_MAX = 10_000;

/**
 * Opens the artifact folder, and creates it when it is missing.
 * @param shared the storage of which the folder is a cache, on a node of a cluster
 */
export async function openArtifacts(folder: string, shared?: SharedFiles): Promise<Artifacts> {
  await mkdir(join(folder, "sha256"), { recursive: true, mode: 0o700 });
  await mkdir(join(folder, "tmp"), { recursive: true, mode: 0o700 });
  await mkdir(join(folder, "partial"), { recursive: true, mode: 0o700 });
  syncFolder(folder);
  syncFolder(dirname(folder));
  return new ArtifactFolder(folder, shared);
}

class ArtifactFolder implements Artifacts {
  readonly #folder: string;
  readonly #shared: SharedFiles | undefined;
  /** Files that are being fetched, by their hash. */
  readonly #fetches = new Map<string, Promise<void>>();
  /** Identity of the verified file, by its hash. */
  readonly #verified = new LRUCache<string, string>({ max: VERIFIED_MAX });

  constructor(folder: string, shared: SharedFiles | undefined) {
    this.#folder = folder;
    this.#shared = shared;
  }

  get isShared(): boolean {
    return this.#shared !== undefined;
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

  async removePartials(isWanted: (id: string) => boolean): Promise<void> {
    for (const name of await readdir(join(this.#folder, "partial")))
      if (!isWanted(name)) await rm(join(this.#folder, "partial", name), { force: true, recursive: true });
  }

  async resolve(sha256: string): Promise<string> {
    const path = this.#pathOf(sha256);
    if (!existsSync(path)) await this.#fetch(sha256);
    return path;
  }

  has(sha256: string): boolean {
    return existsSync(this.#pathOf(sha256));
  }

  async keep(sha256: string): Promise<boolean> {
    return this.#shared === undefined ? true : await this.#shared.keep(sha256);
  }

  async verify(sha256: string): Promise<ArtifactReference> {
    return await this.#use(sha256, async (handle) => {
      const { size, identity } = await identify(handle);
      if (this.#verified.get(sha256) !== identity) {
        const hash = createHash("sha256");
        await readThrough(handle, Buffer.allocUnsafe(CHUNK_BYTES), (chunk) => {
          hash.update(chunk);
        });
        this.#accept(sha256, hash, identity);
      }
      return { sha256, bytes: size };
    });
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

  async removeOrphans(referenced: ReadonlySet<string>, olderThanMs: number): Promise<number> {
    let removed = 0;
    for (const shelf of await readdir(join(this.#folder, "sha256"))) {
      for (const sha256 of await readdir(join(this.#folder, "sha256", shelf))) {
        if (!SHA256_HEX.test(sha256) || referenced.has(sha256)) continue;
        // Another request may have removed it meanwhile.
        const found = await stat(this.#pathOf(sha256)).catch(() => undefined);
        if (found === undefined || found.mtimeMs > Date.now() - olderThanMs) continue;
        await this.#removeHere(sha256);
        removed += 1;
      }
    }
    return removed;
  }

  async removeSharedOrphans(referencedNow: () => Promise<ReadonlySet<string>>): Promise<number> {
    const shared = this.#shared;
    if (shared === undefined) return 0;
    const old: string[] = [];
    for await (const { sha256 } of shared.old()) old.push(sha256);
    // Listed first: whoever names one of these files in a record afterwards has kept it, so that it is not old then.
    const referenced = await referencedNow();
    let removed = 0;
    for (const sha256 of old) if (!referenced.has(sha256) && (await shared.removeOld(sha256))) removed += 1;
    await shared.removeUnfinished();
    return removed;
  }

  async remove(sha256: string): Promise<void> {
    await this.#removeHere(sha256);
    await this.#shared?.remove(sha256);
  }

  async close(): Promise<void> {
    await this.#shared?.close();
  }

  async #removeHere(sha256: string): Promise<void> {
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

  async #publish(temporary: string, reference: ArtifactReference): Promise<void> {
    await this.#shared?.put({ ...reference, path: temporary });
    await this.#moveIn(temporary, reference.sha256);
  }

  async #moveIn(temporary: string, sha256: string): Promise<void> {
    const path = this.#pathOf(sha256);
    const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await moveInto(path, { temporary, sha256 });
    await syncPath(dirname(path));
    if (made !== undefined) await syncPath(dirname(dirname(path)));
  }

  async #load<B extends Uint8Array>(sha256: string, allocate: (bytes: number) => B): Promise<B> {
    return await this.#use(sha256, async (handle) => {
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
    });
  }

  /** Opens a file for `read`. A copy that is missing or damaged is fetched, once. */
  async #use<Result>(sha256: string, read: (handle: FileHandle) => Promise<Result>): Promise<Result> {
    try {
      return await this.#useHere(sha256, read);
    } catch (error) {
      const mayFetch = this.#shared !== undefined && SHA256_HEX.test(sha256);
      if (!mayFetch || !(error instanceof AppError) || error.code !== "artifact_corrupt") throw error;
      await this.#fetch(sha256);
      return await this.#useHere(sha256, read);
    }
  }

  async #useHere<Result>(sha256: string, read: (handle: FileHandle) => Promise<Result>): Promise<Result> {
    const handle = await this.#open(sha256);
    try {
      return await read(handle);
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

  /** Fetches a file into the folder; those who ask while it is on its way wait for the same one. */
  async #fetch(sha256: string): Promise<void> {
    if (this.#shared === undefined) throw artifactCorrupt("an artifact is missing");
    const fetch =
      this.#fetches.get(sha256) ??
      this.#fetchOnce(sha256, this.#shared).finally(() => {
        this.#fetches.delete(sha256);
      });
    this.#fetches.set(sha256, fetch);
    await fetch;
  }

  async #fetchOnce(sha256: string, shared: SharedFiles): Promise<void> {
    const temporary = join(this.#folder, "tmp", newId());
    try {
      const identity = await this.#download(sha256, { shared, temporary });
      await this.#moveIn(temporary, sha256);
      this.#verified.set(sha256, identity);
    } catch (error) {
      await rm(temporary, { force: true });
      throw asStorageError(error);
    }
  }

  /** Returns the identity of the file, which is checked and on disk. */
  async #download(
    sha256: string,
    { shared, temporary }: { readonly shared: SharedFiles; readonly temporary: string },
  ): Promise<string> {
    const handle = await open(temporary, "wx", 0o600);
    try {
      const hash = createHash("sha256");
      const isThere = await shared.read(sha256, async (piece) => {
        hash.update(piece);
        await writeAll(handle, piece);
      });
      if (!isThere) throw artifactCorrupt("an artifact is missing in the cluster's storage of files");
      if (hash.digest("hex") !== sha256)
        throw artifactCorrupt(
          "an artifact is damaged in the cluster's storage of files: its content does not have the hash that is its name",
        );
      await handle.sync();
      return (await identify(handle)).identity;
    } finally {
      await handle.close();
    }
  }

  #accept(sha256: string, hash: Hash, identity: string): void {
    if (hash.digest("hex") !== sha256)
      throw artifactCorrupt("an artifact is damaged: its content does not have the hash that is its name");
    this.#verified.set(sha256, identity);
  }
}
