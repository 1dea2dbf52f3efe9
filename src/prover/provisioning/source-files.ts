/**
 * The files that callers bring, sources and imported artifacts: each stays only while a prover names it or a request is
 * about to, so that refused requests and deleted provers fill no disk. What is held lives in this process's memory, as
 * its requests do; a file that a crash leaves is removed at the next start.
 */
import { createHash } from "node:crypto";
import type { ArtifactReference, Artifacts } from "../../platform/store/artifacts.js";

interface SourceFilesDependencies {
  readonly artifacts: Pick<Artifacts, "put" | "remove">;
  /** Whether a committed prover names the file. */
  readonly isUsed: (sha256: string) => boolean;
}

export class SourceFiles {
  readonly #with: SourceFilesDependencies;
  /** Requests that are about to name a file, by its hash. */
  readonly #holders = new Map<string, number>();
  readonly #removals = new Map<string, Promise<void>>();

  constructor(dependencies: SourceFilesDependencies) {
    this.#with = dependencies;
  }

  /**
   * Stores a source and keeps it until `use` has ended; afterwards it stays only where a prover names it.
   * @throws storage_full, storage_failed, and what `use` throws
   */
  async hold<Result>(content: Uint8Array, use: (source: ArtifactReference) => Promise<Result>): Promise<Result> {
    const sha256 = createHash("sha256").update(content).digest("hex");
    return await this.holdFile(sha256, async () => await this.#with.artifacts.put(content), use);
  }

  /**
   * The same for a file that is not in memory.
   * @param store makes it an artifact, or checks that it is one
   */
  async holdFile<Result>(
    sha256: string,
    store: () => Promise<ArtifactReference>,
    use: (file: ArtifactReference) => Promise<Result>,
  ): Promise<Result> {
    // Before the file exists: another request with the same file may be removing it.
    this.#holders.set(sha256, (this.#holders.get(sha256) ?? 0) + 1);
    try {
      await this.#removals.get(sha256);
      return await use(await store());
    } finally {
      const others = (this.#holders.get(sha256) ?? 1) - 1;
      if (others > 0) this.#holders.set(sha256, others);
      else this.#holders.delete(sha256);
      await this.removeUnused(sha256);
    }
  }

  /** Removes a file unless a prover names it or a request holds it. Never rejects. */
  async removeUnused(sha256: string): Promise<void> {
    if (this.#holders.has(sha256) || this.#with.isUsed(sha256)) return;
    const removal = this.#removals.get(sha256) ?? this.#remove(sha256);
    this.#removals.set(sha256, removal);
    await removal;
  }

  async #remove(sha256: string): Promise<void> {
    try {
      await this.#with.artifacts.remove(sha256);
    } catch {
      // Removed at the next start; what the caller asked for does not depend on it.
    } finally {
      this.#removals.delete(sha256);
    }
  }
}
