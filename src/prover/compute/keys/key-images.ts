/**
 * The images of open keys in a folder of this server: a key that was open before the start, or was dropped for others,
 * is read from there in about a third of the time in which it is made from its file. Nothing depends on the folder: an
 * image that is missing, damaged, of another form or not the one that its prover's vault knows is made again. The least
 * recently used ones go when the disk that is set for them is full.
 *
 *   <folder>/<SHA-256 of the key's file>.image
 *   <folder>/<SHA-256>.<id of a prover>.mark   what that prover's vault has sealed of the image (key-image-marks.ts)
 *   <folder>/<uuid>.part                       an image being written
 *   <folder>/<mark>.<uuid>.tmp                 a mark being written
 *
 * The time of an image is when its key was last used, to some minutes.
 */
import { mkdir, readFile, readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { KEY_IMAGE_VERSION } from "../../../engine/key-images/key-image.js";
import type { OpenKey, OpenKeyRoom } from "../../../engine/protocol.js";
import type { SharedKey } from "../../../engine/kernels/threads/shared-key.js";
import { replaceFile } from "../../../platform/files/durable-files.js";
import { replacePrivateFile } from "../../../platform/files/private-file.js";
import { newId } from "../../../platform/ids.js";
import type { Log } from "../../../platform/log.js";
import type { RunOptions } from "../../../platform/pool/thread-pool.js";
import type { KeyImagePin } from "../compute.js";
import type { ComputePools } from "../compute-pools.js";

export interface KeyImagesOptions {
  /** Absolute. */
  readonly folder: string;
  /** Disk for all images. */
  readonly bytesMax: number;
  /** Of the server: another one makes its own images. */
  readonly version: string;
}

interface KeyImagesDependencies {
  readonly pools: Pick<ComputePools, "run">;
  readonly log: Log;
}

/** A key that has an image. */
export interface MarkedKey {
  /** Of the key's file. */
  readonly sha256: string;
  readonly usedMs: number;
  /** Provers whose vaults know the image. */
  readonly proverIds: readonly string[];
}

interface Image {
  bytes: number;
  usedMs: number;
  readonly proverIds: Set<string>;
}

/** What a key is opened for. */
interface ImageOf {
  /** Of the key's file. */
  readonly sha256: string;
  readonly pin: KeyImagePin;
  readonly room: OpenKeyRoom;
}

const IMAGE = /^([0-9a-f]{64})\.image$/;
const MARK = /^([0-9a-f]{64})\.([0-9a-f-]{36})\.mark$/;
const UNFINISHED = /\.(?:part|tmp)$/;
/** The times decide in which order keys are opened at a start, and which image goes first. */
const USED_EVERY_MS = 600_000;

export class KeyImages {
  readonly #options: KeyImagesOptions;
  readonly #with: KeyImagesDependencies;
  /** By the SHA-256 of the key's file, the least recently used first. */
  readonly #images = new Map<string, Image>();
  /** Images that are being written. */
  readonly #writing = new Set<string>();

  private constructor(options: KeyImagesOptions, dependencies: KeyImagesDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /** Reads which images there are, and removes what is left of unfinished ones. @throws what the file system throws */
  static async open(options: KeyImagesOptions, dependencies: KeyImagesDependencies): Promise<KeyImages> {
    const images = new KeyImages(options, dependencies);
    await images.#readFolder();
    return images;
  }

  /** Returns the keys that have images, the most recently used first. */
  recent(): MarkedKey[] {
    return [...this.#images]
      .map(([sha256, { usedMs, proverIds }]) => ({ sha256, usedMs, proverIds: [...proverIds] }))
      .sort((a, b) => b.usedMs - a.usedMs);
  }

  /**
   * Reads a key on a thread of the pool `prove`, in the caller's turn. Undefined where there is no image that this
   * server can use; a wrong one is removed.
   * @throws as `ComputePools.run`
   */
  async read({ sha256, pin, room }: ImageOf, call: RunOptions): Promise<SharedKey | undefined> {
    if (!this.#images.has(sha256)) return undefined;
    const known = await pin.find();
    if (known === undefined) return undefined;
    const message = { path: this.#pathOf(sha256), form: this.#form(room), sha256: known };
    const read = await this.#with.pools.run("prove", "read_key_image", message, call);
    if (!read.ok) return undefined;
    if ("key" in read.value) return read.value.key;
    this.#with.log.info("the image of an open key cannot be used, and is made again", {
      path: message.path,
      state: read.value.problem,
    });
    await this.remove(sha256);
    return undefined;
  }

  /** Writes the image of a key that was just opened, where there is disk for it. Never rejects. */
  async keep({ sha256, pin, room }: ImageOf, openKey: OpenKey): Promise<void> {
    if (this.#writing.has(sha256)) return;
    this.#writing.add(sha256);
    const part = join(this.#options.folder, `${newId()}.part`);
    try {
      if (!(await this.#makeRoom(openKey.key.keyBytes + (openKey.key.sectionBytes ?? 0), sha256))) return;
      const message = { path: part, form: this.#form(room), openKey };
      const written = await this.#with.pools.run("prove", "write_key_image", message);
      if (!written.ok || "problem" in written.value) {
        const state = written.ok && "problem" in written.value ? written.value.problem : "failed";
        this.#with.log.warn("the image of an open key was not written", { path: part, state });
        return;
      }
      await replaceFile(part, this.#pathOf(sha256));
      const proverIds = this.#images.get(sha256)?.proverIds ?? new Set();
      this.#images.set(sha256, { bytes: written.value.bytes, usedMs: Date.now(), proverIds });
      await pin.keep(written.value.sha256);
    } catch (error) {
      this.#with.log.debug("the image of an open key was not kept", () => ({ path: part, error }));
    } finally {
      this.#writing.delete(sha256);
      await rm(part, { force: true }).catch(() => undefined);
    }
  }

  /** Notes that a proof uses the key. */
  noteUse(sha256: string): void {
    const image = this.#images.get(sha256);
    const now = Date.now();
    if (image === undefined || now - image.usedMs < USED_EVERY_MS) return;
    image.usedMs = now;
    utimes(this.#pathOf(sha256), now / 1000, now / 1000).catch(() => undefined);
  }

  /** Returns what a prover has written of the image. */
  async readMark(sha256: string, proverId: string): Promise<string | undefined> {
    if (this.#images.get(sha256)?.proverIds.has(proverId) !== true) return undefined;
    return await readFile(this.#markOf(sha256, proverId), "utf8").catch(() => undefined);
  }

  /** Stores what a prover writes of the image. @throws what the file system throws */
  async writeMark(sha256: string, proverId: string, text: string): Promise<void> {
    await replacePrivateFile(this.#markOf(sha256, proverId), Buffer.from(text));
    this.#images.get(sha256)?.proverIds.add(proverId);
  }

  /** Removes an image with its marks. Never rejects. */
  async remove(sha256: string): Promise<void> {
    const image = this.#images.get(sha256);
    if (image === undefined) return;
    this.#images.delete(sha256);
    const marks = [...image.proverIds].map((id) => this.#markOf(sha256, id));
    for (const path of [this.#pathOf(sha256), ...marks]) await rm(path, { force: true }).catch(() => undefined);
  }

  /** Removes the images of keys that are not among these. */
  async retain(keys: ReadonlySet<string>): Promise<void> {
    for (const sha256 of [...this.#images.keys()]) if (!keys.has(sha256)) await this.remove(sha256);
  }

  async #readFolder(): Promise<void> {
    const { folder } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const names = await readdir(folder);
    for (const name of names.filter((each) => UNFINISHED.test(each))) await rm(join(folder, name), { force: true });
    for (const name of names) {
      const [, sha256] = IMAGE.exec(name) ?? [];
      if (sha256 === undefined) continue;
      const { size, mtimeMs } = await stat(join(folder, name));
      this.#images.set(sha256, { bytes: size, usedMs: mtimeMs, proverIds: new Set() });
    }
    for (const name of names) {
      const [, sha256, proverId] = MARK.exec(name) ?? [];
      if (sha256 === undefined || proverId === undefined) continue;
      const image = this.#images.get(sha256);
      if (image === undefined) await rm(join(folder, name), { force: true });
      else image.proverIds.add(proverId);
    }
    await this.#makeRoom(0);
  }

  /** Removes least recently used images until so many bytes are free for one; returns whether they are. */
  async #makeRoom(bytes: number, sha256?: string): Promise<boolean> {
    const { bytesMax } = this.#options;
    if (bytes > bytesMax) return false;
    const others = [...this.#images].filter(([key]) => key !== sha256);
    let used = others.reduce((sum, [, image]) => sum + image.bytes, 0);
    for (const [key, image] of others.sort(([, a], [, b]) => a.usedMs - b.usedMs)) {
      if (used + bytes <= bytesMax) break;
      used -= image.bytes;
      await this.remove(key);
    }
    return true;
  }

  /** What the content of an image means. */
  #form({ workspaces, helpers = 0, tableBytesMax = 0 }: OpenKeyRoom): string {
    const room = [workspaces, helpers, tableBytesMax].map(String).join("+");
    return `${String(KEY_IMAGE_VERSION)} ${this.#options.version} ${room}`;
  }

  #pathOf(sha256: string): string {
    return join(this.#options.folder, `${sha256}.image`);
  }

  #markOf(sha256: string, proverId: string): string {
    return join(this.#options.folder, `${sha256}.${proverId}.mark`);
  }
}
