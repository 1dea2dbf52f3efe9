/**
 * Proving keys in the kernels' form: opened once by a thread of the lane `prove`, then shared by all of them, least
 * recently used first to go. A key that cannot be opened is proved with by the reference backend, so nothing here fails
 * a request.
 */
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { OpenKey, SharedBytes } from "../../engine/protocol.js";
import type { Lanes } from "./compute-pools.js";

export interface OpenKeysOptions {
  /** Memory of all open keys together, workspaces included. */
  readonly budgetBytes: number;
  /** Proofs that may be under way with one key at once. */
  readonly workspaces: number;
}

export interface OpenKeysDependencies {
  readonly lanes: Lanes;
  readonly log: Log;
}

export class OpenKeys {
  readonly #options: OpenKeysOptions;
  readonly #with: OpenKeysDependencies;
  /** By the zkey's hash, in order of use, oldest first. A promise, so that calls that overlap open a key once. */
  readonly #open = new Map<string, Promise<OpenKey | undefined>>();
  readonly #bytes = new Map<string, number>();

  constructor(options: OpenKeysOptions, dependencies: OpenKeysDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /**
   * The open key, or undefined when the reference backend has to do. The first call takes about a second per million
   * points.
   */
  async get(provingKey: SharedBytes): Promise<OpenKey | undefined> {
    const { sha256 } = provingKey;
    const held = this.#open.get(sha256) ?? this.#openNow(provingKey);
    this.#open.delete(sha256);
    this.#open.set(sha256, held);
    return await held;
  }

  /** Forgets a key: after a thread died while proving with it, the workspace that it had is lost. */
  drop(sha256: string): void {
    this.#open.delete(sha256);
    this.#bytes.delete(sha256);
  }

  async #openNow(provingKey: SharedBytes): Promise<OpenKey | undefined> {
    const { sha256 } = provingKey;
    try {
      const opened = await this.#with.lanes.run("prove", "open_key", {
        provingKey,
        workspaces: this.#options.workspaces,
      });
      if (!opened.ok) throw new Error(opened.message);
      if (this.#open.has(sha256)) this.#bytes.set(sha256, opened.value.memory.buffer.byteLength);
      this.#dropOldest(sha256);
      return { id: newId(), key: opened.value };
    } catch {
      // A full queue passes, a kernel that cannot run here does not: either way the next request finds out anew.
      this.#with.log.warn("a proving key could not be opened; the reference backend proves", { kind: "kernels" });
      this.drop(sha256);
      return undefined;
    }
  }

  #dropOldest(kept: string): void {
    const total = (): number => [...this.#bytes.values()].reduce((sum, bytes) => sum + bytes, 0);
    for (const sha256 of [...this.#open.keys()]) {
      if (total() <= this.#options.budgetBytes) return;
      if (sha256 !== kept) this.drop(sha256);
    }
  }
}
