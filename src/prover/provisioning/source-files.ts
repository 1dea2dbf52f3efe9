/**
 * The files of provers, which callers bring or provisioning makes: each stays only while a record names it or a request
 * or job is about to, so that refused requests and deleted provers fill no disk, and no deletion takes a file whose
 * content another has just stored. What is held lives in this process's memory, as its requests do, and other nodes of
 * a cluster do not remove it (platform/store/shared-files.ts). A file that a crash leaves is removed later as an
 * orphan.
 */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { AppError } from "../../platform/errors.js";
import type { ArtifactReference, Artifacts } from "../../platform/store/artifacts.js";

interface SourceFilesDependencies {
  readonly artifacts: Pick<Artifacts, "keep" | "put" | "remove" | "verify">;
  /** Whether a committed record names the file. */
  readonly isUsed: (sha256: string) => boolean;
  /** Removes what was made of a file that is gone. Never rejects. */
  readonly onRemoved?: (sha256: string) => Promise<void>;
}

/** Bytes that are hashed at once: a few milliseconds in which nobody else is served. */
const HASH_STEP_BYTES = 4 * 1024 * 1024;

export class SourceFiles {
  readonly #with: SourceFilesDependencies;
  /** Requests that are about to name a file, by its hash. */
  readonly #holders = new Map<string, number>();
  readonly #removals = new Map<string, Promise<void>>();

  constructor(dependencies: SourceFilesDependencies) {
    this.#with = dependencies;
  }

  /**
   * Stores files and keeps them until `use` has ended; afterwards each stays only where a record names it.
   * @param contents by the names under which `use` gets them; undefined ones are left out
   * @throws storage_full, storage_failed, and what `use` throws
   */
  async holdAll<Name extends string, Result>(
    contents: { readonly [N in Name]?: Uint8Array | undefined },
    use: (files: { readonly [N in Name]?: ArtifactReference }) => Promise<Result>,
  ): Promise<Result> {
    return await this.#holdRest(Object.keys(contents) as Name[], contents, {}, use);
  }

  /**
   * Stores a source and keeps it until `use` has ended; afterwards it stays only where a prover names it.
   * @throws storage_full, storage_failed, and what `use` throws
   */
  async hold<Result>(content: Uint8Array, use: (source: ArtifactReference) => Promise<Result>): Promise<Result> {
    return await this.holdFile(await sha256Of(content), async () => await this.#with.artifacts.put(content), use);
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

  /**
   * Verifies a file that is stored already, before a record names it once more: for `holdFile`.
   * @throws artifact_corrupt when it is gone or damaged
   */
  async verifyKept(sha256: string): Promise<ArtifactReference> {
    if (!(await this.keepAll([{ sha256 }]))) throw new AppError("artifact_corrupt", { message: "an artifact is gone" });
    return await this.#with.artifacts.verify(sha256);
  }

  /**
   * Must precede a commit that names files which another record names and nobody has just stored. Returns false when
   * one of them is gone, as another node of the cluster has removed it; always true in a single server.
   */
  async keepAll(files: readonly Pick<ArtifactReference, "sha256">[]): Promise<boolean> {
    for (const { sha256 } of files) if (!(await this.#with.artifacts.keep(sha256))) return false;
    return true;
  }

  /** Removes a file unless a prover names it or a request holds it. Never rejects. */
  async removeUnused(sha256: string): Promise<void> {
    if (this.#holders.has(sha256) || this.#with.isUsed(sha256)) return;
    const removal = this.#removals.get(sha256) ?? this.#remove(sha256);
    this.#removals.set(sha256, removal);
    await removal;
  }

  async #holdRest<Name extends string, Result>(
    names: readonly Name[],
    contents: { readonly [N in Name]?: Uint8Array | undefined },
    held: { readonly [N in Name]?: ArtifactReference },
    use: (files: { readonly [N in Name]?: ArtifactReference }) => Promise<Result>,
  ): Promise<Result> {
    const [name, ...rest] = names;
    if (name === undefined) return await use(held);
    const content = contents[name];
    if (content === undefined) return await this.#holdRest(rest, contents, held, use);
    return await this.holdFile(
      await sha256Of(content),
      async () => await this.#with.artifacts.put(content),
      async (file) => await this.#holdRest(rest, contents, { ...held, [name]: file }, use),
    );
  }

  async #remove(sha256: string): Promise<void> {
    try {
      await this.#with.artifacts.remove(sha256);
      await this.#with.onRemoved?.(sha256);
    } catch {
      // Removed later as an orphan; what the caller asked for does not depend on it.
    } finally {
      this.#removals.delete(sha256);
    }
  }
}

async function sha256Of(content: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < content.length; at += HASH_STEP_BYTES) {
    if (at > 0) await setImmediate();
    hash.update(content.subarray(at, at + HASH_STEP_BYTES));
  }
  return hash.digest("hex");
}
