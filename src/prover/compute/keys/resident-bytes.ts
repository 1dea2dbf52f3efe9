/**
 * Artifacts that stay in memory for the worker threads: one shared copy per machine, least recently used ones dropped
 * when the budget is spent. Overlapping loads of the same content become one.
 */
import { LRUCache } from "lru-cache";
import type { SharedBytes } from "../../../engine/protocol.js";

interface ResidentBytesOptions {
  /** Bytes kept at most; a larger artifact is returned but not kept. */
  readonly budgetBytes: number;
}

interface ResidentBytesDependencies {
  /** Reads an artifact and checks its hash; rejects with `artifact_corrupt` or `data_corrupt`. */
  readonly load: (sha256: string) => Promise<SharedArrayBuffer>;
}

export class ResidentBytes {
  readonly #load: ResidentBytesDependencies["load"];
  readonly #resident: LRUCache<string, SharedBytes>;
  readonly #loading = new Map<string, Promise<SharedBytes>>();

  constructor(options: ResidentBytesOptions, dependencies: ResidentBytesDependencies) {
    this.#load = dependencies.load;
    this.#resident = new LRUCache<string, SharedBytes>({
      maxSize: options.budgetBytes,
      sizeCalculation: ({ bytes }) => Math.max(1, bytes.byteLength),
    });
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#resident.calculatedSize;
  }

  /**
   * Returns an artifact from memory, or loads it.
   * @param sha256 lower-case hex
   * @throws AppError `artifact_corrupt` or `data_corrupt`, as the loader
   */
  async get(sha256: string): Promise<SharedBytes> {
    const resident = this.#resident.get(sha256);
    if (resident !== undefined) return resident;
    const pending = this.#loading.get(sha256);
    if (pending !== undefined) return await pending;
    const loading = this.#loadAndKeep(sha256).finally(() => this.#loading.delete(sha256));
    this.#loading.set(sha256, loading);
    return await loading;
  }

  async #loadAndKeep(sha256: string): Promise<SharedBytes> {
    const shared: SharedBytes = { sha256, bytes: await this.#load(sha256) };
    this.#resident.set(sha256, shared);
    return shared;
  }
}
