/**
 * The Solidity contract that verifies a prover's proofs: made when it is first asked for, then one of the prover's
 * artifacts. Requests that come while it is made wait for it; that they do is in this process's memory, and two
 * processes would make the same file.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { AppError, assert, notFound } from "../../platform/errors.js";
import type { ArtifactReference, Artifacts } from "../../platform/store/artifacts.js";
import { StoreConflict, type Store } from "../../platform/store/store.js";
import { readyProver } from "../built-prover.js";
import type { Catalog } from "../catalog.js";
import type { ResidentBytes } from "../compute/resident-bytes.js";
import type { KeyPins } from "../provisioning/key-pins.js";
import type { SourceFiles } from "../provisioning/source-files.js";
import type { ProverRepository, StoredProver } from "../repository.js";

interface VerifierContractsDependencies {
  readonly store: Store;
  readonly repository: ProverRepository;
  readonly catalog: Catalog;
  readonly artifacts: Pick<Artifacts, "read" | "resolve">;
  readonly resident: ResidentBytes;
  readonly pins: KeyPins;
  readonly files: SourceFiles;
  /** The name under which a subject's work waits for its turn. */
  readonly turnOf: (subject: Subject) => string;
}

const ARTIFACT = "verifier.sol";
/** Another request may change the record meanwhile; a few tries are enough. */
const TRIES_MAX = 8;

export class VerifierContracts {
  readonly #deadlineMs: number;
  readonly #with: VerifierContractsDependencies;
  /** By prover. */
  readonly #making = new Map<string, Promise<ArtifactReference>>();

  /** @param options.deadlineMs time that one contract may take, waiting for a thread included */
  constructor(options: { readonly deadlineMs: number }, dependencies: VerifierContractsDependencies) {
    this.#deadlineMs = options.deadlineMs;
    this.#with = dependencies;
  }

  /** Tells whether a prover has a contract that is not made yet. */
  isAwaited(prover: StoredProver): boolean {
    const { catalog } = this.#with;
    return (
      prover.status === "provisioned" &&
      prover.build.artifacts[ARTIFACT] === undefined &&
      catalog.systemOf(prover).forms.includes("solidity") &&
      catalog.providerOf(prover).verifierContract !== undefined
    );
  }

  /**
   * Makes the contract of a provisioned prover and names it in the record, which stays as it is otherwise.
   * @param asker in whose turn it is made; of several that ask meanwhile, the first
   * @throws AppError `not_found` when the prover is deleted meanwhile, `prover_keys_missing`, `artifact_corrupt`, and
   *   what pools, vault and store throw
   */
  async make(prover: StoredProver, asker: Subject): Promise<ArtifactReference> {
    const making =
      this.#making.get(prover.id) ?? this.#make(prover, asker).finally(() => this.#making.delete(prover.id));
    this.#making.set(prover.id, making);
    return await making;
  }

  async #make(prover: StoredProver, asker: Subject): Promise<ArtifactReference> {
    const { owner } = prover.build;
    const sha256 = await this.#with.pins.read(owner, prover, "verifying_key");
    const { catalog } = this.#with;
    const made = await catalog
      .providerOf(prover)
      .verifierContract?.(
        readyProver(prover, catalog.systemOf(prover), { ...this.#with, pinned: { "verifying_key.json": sha256 } }),
        { owner: this.#with.turnOf(asker), deadlineMs: this.#deadlineMs },
      );
    assert(made !== undefined, "a contract is made only where one is awaited");
    if (!made.ok) throw new AppError(made.code, { message: made.message });
    return await this.#with.files.hold(Buffer.from(made.value.source), async (file) => {
      await this.#record(owner, prover.id, file);
      return file;
    });
  }

  async #record(owner: Subject, id: string, file: ArtifactReference): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const record = this.#with.repository.find(owner, id);
      if (record === undefined) throw notFound("prover");
      const { build } = record.value;
      const artifacts = { ...build.artifacts, [ARTIFACT]: { sha256: file.sha256, bytes: file.bytes } };
      try {
        const named: StoredProver = { ...record.value, build: { ...build, artifacts } };
        await this.#with.store.commit(this.#with.repository.update(record, named));
        return;
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error;
      }
    }
    throw new AppError("prover_busy", { message: "the prover is in use; try again" });
  }
}
