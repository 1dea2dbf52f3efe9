/**
 * Artifacts that stay in memory for the worker threads: one shared copy per machine, least recently used ones dropped
 * when the budget is spent. Loads of the same content that overlap become one.
 */
import type { SharedBytes } from "../../engine/protocol.js";

export interface ResidentBytesOptions {
  /** Bytes kept at most; one artifact larger than this is still handed out, but not kept. */
  readonly budgetBytes: number;
}

export interface ResidentBytesDependencies {
  /** Reads an artifact and checks its hash; rejects with `artifact_corrupt` or `data_corrupt`. */
  readonly load: (sha256: string) => Promise<SharedArrayBuffer>;
}

export class ResidentBytes {
  readonly #options: ResidentBytesOptions;
  readonly #load: ResidentBytesDependencies["load"];
  /** Insertion order is the order of use, oldest first. */
  readonly #resident = new Map<string, SharedBytes>();
  readonly #loading = new Map<string, Promise<SharedBytes>>();
  #bytes = 0;

  constructor(options: ResidentBytesOptions, dependencies: ResidentBytesDependencies) {
    this.#options = options;
    this.#load = dependencies.load;
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#bytes;
  }

  async get(sha256: string): Promise<SharedBytes> {
    const held = this.#resident.get(sha256);
    if (held !== undefined) {
      this.#resident.delete(sha256);
      this.#resident.set(sha256, held);
      return held;
    }
    const pending = this.#loading.get(sha256);
    if (pending !== undefined) return await pending;
    const loading = this.#loadAndKeep(sha256).finally(() => this.#loading.delete(sha256));
    this.#loading.set(sha256, loading);
    return await loading;
  }

  async #loadAndKeep(sha256: string): Promise<SharedBytes> {
    const shared: SharedBytes = { sha256, bytes: await this.#load(sha256) };
    if (shared.bytes.byteLength <= this.#options.budgetBytes) {
      this.#resident.set(sha256, shared);
      this.#bytes += shared.bytes.byteLength;
      this.#dropOldest();
    }
    return shared;
  }

  #dropOldest(): void {
    for (const [sha256, shared] of this.#resident) {
      if (this.#bytes <= this.#options.budgetBytes) return;
      this.#resident.delete(sha256);
      this.#bytes -= shared.bytes.byteLength;
    }
  }
}
