/**
 * Results that take seconds to make and are the same in every run, kept in a folder below dist: by their name, and by a
 * hash of everything that they are made with, so that a change of it makes them anew.
 */
import { createHash, randomUUID, type Hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";

export class KeptResults<T> {
  readonly #folder: string;
  readonly #madeWith: readonly string[];
  #version: string | undefined;

  /**
   * @param options.folder name of the folder below dist
   * @param options.madeWith folders whose files decide the result, absolute
   */
  constructor(options: { readonly folder: string; readonly madeWith: readonly string[] }) {
    this.#folder = join(PACKAGE_ROOT, "dist", options.folder);
    this.#madeWith = options.madeWith;
  }

  /** Returns the result with a name. Makes it if there is none, and keeps it unless `isKept` says no. */
  async get(name: string, make: () => Promise<T>, isKept: (result: T) => boolean = () => true): Promise<T> {
    this.#version ??= hashFolders(this.#madeWith);
    const path = join(this.#folder, this.#version, name);
    if (existsSync(path)) return deserialize(readFileSync(path)) as T;
    const result = await make();
    if (isKept(result)) this.#keep(path, result);
    return result;
  }

  /** Test files run side by side: a file exists whole or not at all. */
  #keep(path: string, result: T): void {
    const folder = dirname(path);
    mkdirSync(folder, { recursive: true });
    for (const other of readdirSync(this.#folder))
      if (join(this.#folder, other) !== folder) rmSync(join(this.#folder, other), { recursive: true, force: true });
    const whole = `${path}.${randomUUID()}`;
    writeFileSync(whole, serialize(result));
    renameSync(whole, path);
  }
}

function hashFolders(folders: readonly string[]): string {
  const hash = createHash("sha256").update(process.version);
  for (const folder of folders) addFolder(hash, folder);
  return hash.digest("hex");
}

function addFolder(hash: Hash, folder: string): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const file of files.sort()) hash.update(`\0${file}\0`).update(readFileSync(file));
}
