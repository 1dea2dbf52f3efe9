/**
 * Proving keys as snarkjs' `.zkey`, of systems whose keys are stored in another form: made when one is asked for first,
 * one at a time, and kept with the prover.
 */
import { AppError, notFound } from "../platform/errors.js";
import type { Subject } from "../platform/auth/principal.js";
import { KeyedMutex } from "../platform/concurrency/keyed-mutex.js";
import type { Artifacts, ArtifactReference } from "../platform/store/artifacts.js";
import { StoreConflict, type Store } from "../platform/store/store.js";
import { builtProver } from "./built-prover.js";
import type { Catalog } from "./catalog.js";
import type { SourceFiles } from "./provisioning/source-files.js";
import type { ProverRepository, StoredProver } from "./repository.js";

interface ExportedKeysDependencies {
  readonly store: Store;
  readonly repository: ProverRepository;
  readonly artifacts: Pick<Artifacts, "verify" | "resolve" | "read">;
  readonly files: SourceFiles;
  readonly catalog: Pick<Catalog, "providerOf" | "systemOf">;
  /** The name under which a subject's work waits for its turn. */
  readonly turnOf: (subject: Subject) => string;
}

/** As providers name snarkjs' format. */
const ZKEY_FORMAT = "snarkjs-zkey";
const NAME = "proving_key.zkey";
/** Each makes a file of up to a gigabyte. */
const WAITING_MAX = 64;
const WRITE_TRIES_MAX = 8;

export class ExportedKeys {
  readonly #with: ExportedKeysDependencies;
  readonly #making = new KeyedMutex({ waitingMax: WAITING_MAX });

  constructor(dependencies: ExportedKeysDependencies) {
    this.#with = dependencies;
  }

  /** Returns whether the prover has a key that can be had as snarkjs' file, though it is stored in another form. */
  has(prover: StoredProver): boolean {
    return (
      prover.status === "provisioned" &&
      prover.build.artifacts["proving_key"] !== undefined &&
      this.#with.catalog.providerOf(prover).exportZkey !== undefined &&
      this.#with.catalog.systemOf(prover).keyFormats.proving_key !== ZKEY_FORMAT
    );
  }

  /**
   * Returns the file, after making it if nobody has asked before.
   * @throws AppError `not_found`, `overloaded`, `artifact_corrupt`, `storage_full`, `prover_unsupported` for a key that
   *   is too large for a file
   */
  async get(owner: Subject, proverId: string): Promise<ArtifactReference> {
    return await this.#making.run("export", async () => {
      const prover = this.#find(owner, proverId);
      const kept = prover.build.artifacts[NAME];
      const stored = prover.build.artifacts["proving_key"];
      const { exportZkey } = this.#with.catalog.providerOf(prover);
      if (kept !== undefined) return kept;
      if (stored === undefined || exportZkey === undefined) throw notFound("artifact");
      await this.#with.artifacts.verify(stored.sha256);
      const built = builtProver(prover, this.#with.catalog.systemOf(prover), this.#with);
      const made = await exportZkey(built, { owner: this.#with.turnOf(owner) });
      if (!made.ok) throw new AppError("prover_unsupported", { message: made.errors[0]?.message ?? "no file" });
      return await this.#with.files.hold(made.value, async (file) => {
        await this.#write(owner, proverId, file);
        return file;
      });
    });
  }

  async #write(owner: Subject, proverId: string, file: ArtifactReference): Promise<void> {
    for (let tries = 0; tries < WRITE_TRIES_MAX; tries += 1) {
      const record = this.#with.repository.find(owner, proverId);
      if (record === undefined) throw notFound("prover");
      const { build } = record.value;
      const next = { ...record.value, build: { ...build, artifacts: { ...build.artifacts, [NAME]: file } } };
      try {
        await this.#with.store.commit(this.#with.repository.update(record, next));
        return;
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error;
      }
    }
    throw new AppError("prover_busy", { message: "the prover keeps changing; ask again" });
  }

  #find(owner: Subject, id: string): StoredProver {
    const found = this.#with.repository.find(owner, id);
    if (found === undefined) throw notFound("prover");
    return found.value;
  }
}
