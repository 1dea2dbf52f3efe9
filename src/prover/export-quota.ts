/**
 * The disk that one owner's keys may take as snarkjs' files, which are made on demand and are several times as long as
 * the keys. Where the room ends, the files of the owner's oldest provers go, and are made again when asked for. Files
 * are made one at a time (made-files.ts), so that what was found free stays so; a second process could exceed the room
 * by the file that it makes.
 */
import { AppError } from "../platform/errors.js";
import type { Subject } from "../platform/auth/principal.js";
import type { Store } from "../platform/store/store.js";
import { retryOnConflict } from "../platform/store/tables.js";
import { MADE_FILES } from "./made-files.js";
import type { SourceFiles } from "./provisioning/source-files.js";
import type { ProverRepository, StoredProver } from "./repository.js";

interface ExportQuotaDependencies {
  readonly store: Pick<Store, "commit">;
  readonly repository: Pick<ProverRepository, "exported" | "find" | "update">;
  readonly files: Pick<SourceFiles, "removeUnused">;
}

/** A file, and the provers that name it, oldest first. */
interface KeptFile {
  readonly sha256: string;
  readonly bytes: number;
  readonly proverIds: string[];
}

export class ExportQuota {
  readonly #bytesPerOwnerMax: number;
  readonly #with: ExportQuotaDependencies;

  /** @param options.bytesPerOwnerMax of the files of one owner, together */
  constructor(options: { readonly bytesPerOwnerMax: number }, dependencies: ExportQuotaDependencies) {
    this.#bytesPerOwnerMax = options.bytesPerOwnerMax;
    this.#with = dependencies;
  }

  /** Returns whether a file of this length can ever be made. */
  allows(bytes: number): boolean {
    return bytes <= this.#bytesPerOwnerMax;
  }

  /**
   * Makes room for a file of an owner.
   * @param bytes the length of the file, at most
   * @throws AppError `prover_unsupported` when it would be longer than all of an owner's files may be together
   */
  async makeRoom(owner: Subject, bytes: number): Promise<void> {
    if (!this.allows(bytes)) throw this.#tooLong(bytes);
    const kept = keptFiles(this.#with.repository.exported(owner).map(({ value }) => value));
    let left = kept.reduce((sum, file) => sum + file.bytes, bytes);
    for (const file of kept) {
      if (left <= this.#bytesPerOwnerMax) return;
      for (const id of file.proverIds) await this.#forget(owner, id, file.sha256);
      await this.#with.files.removeUnused(file.sha256);
      left -= file.bytes;
    }
  }

  async #forget(owner: Subject, id: string, sha256: string): Promise<void> {
    const { store, repository } = this.#with;
    await retryOnConflict(async () => {
      const record = repository.find(owner, id);
      const build = record?.value.build;
      // Deleted meanwhile, or made anew.
      if (record === undefined || build?.artifacts[MADE_FILES.zkey]?.sha256 !== sha256) return;
      const { [MADE_FILES.zkey]: _, ...artifacts } = build.artifacts;
      await store.commit(repository.update(record, { ...record.value, build: { ...build, artifacts } }));
    });
  }

  #tooLong(bytes: number): AppError {
    const mebibytes = (count: number): string => String(Math.ceil(count / 2 ** 20));
    return new AppError("prover_unsupported", {
      message: `the key as snarkjs' file takes up to ${mebibytes(bytes)} MiB, and the files of one owner may have ${mebibytes(this.#bytesPerOwnerMax)} MiB together (PROOFWRIGHT_ZKEY_MAX_MB)`,
    });
  }
}

function keptFiles(provers: readonly StoredProver[]): KeptFile[] {
  const files = new Map<string, KeptFile>();
  for (const { id, build } of provers) {
    const made = build.artifacts[MADE_FILES.zkey];
    if (made === undefined) continue;
    const file = files.get(made.sha256) ?? { ...made, proverIds: [] };
    file.proverIds.push(id);
    files.set(made.sha256, file);
  }
  return [...files.values()];
}
