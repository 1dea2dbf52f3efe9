/** The Solidity contract of a prover, which verifies its proofs: made when it is first asked for, and kept with it. */
import { AppError, assert } from "../../platform/errors.js";
import type { ArtifactReference, Artifacts } from "../../platform/store/artifacts.js";
import { readyProver } from "../built-prover.js";
import type { Catalog } from "../catalog.js";
import type { ResidentBytes } from "../compute/resident-bytes.js";
import { MADE_FILES, type Asker, type MadeFiles, type MakeOptions } from "../made-files.js";
import type { KeyPins } from "../provisioning/key-pins.js";
import type { StoredProver } from "../repository.js";

interface VerifierContractsDependencies {
  readonly made: Pick<MadeFiles, "get">;
  readonly catalog: Catalog;
  readonly artifacts: Pick<Artifacts, "read" | "resolve">;
  readonly resident: ResidentBytes;
  readonly pins: Pick<KeyPins, "read">;
}

export class VerifierContracts {
  readonly #deadlineMs: number;
  readonly #with: VerifierContractsDependencies;

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
      prover.build.artifacts[MADE_FILES.contract] === undefined &&
      catalog.systemOf(prover).forms.includes("solidity") &&
      catalog.providerOf(prover).verifierContract !== undefined
    );
  }

  /**
   * Makes the contract of a provisioned prover and names it in the record, which stays as it is otherwise.
   * @param asker in whose turn it is made; of several that ask meanwhile, the first
   * @throws AppError `prover_keys_missing`, `artifact_corrupt`, and what pools, vault and `MadeFiles.get` throw
   */
  async make(prover: StoredProver, asker: Asker): Promise<ArtifactReference> {
    return await this.#with.made.get(prover, asker, async (options) => await this.#write(prover, options));
  }

  async #write(prover: StoredProver, options: MakeOptions): Promise<Uint8Array> {
    const { catalog, pins } = this.#with;
    const sha256 = await pins.read(prover, "verifying_key", options.owner);
    const made = await catalog
      .providerOf(prover)
      .verifierContract?.(
        readyProver(prover, catalog.systemOf(prover), { ...this.#with, pinned: { "verifying_key.json": sha256 } }),
        { ...options, deadlineMs: this.#deadlineMs },
      );
    assert(made !== undefined, "a contract is made only where one is awaited");
    if (!made.ok) throw new AppError(made.code, { message: made.message });
    return Buffer.from(made.value.source);
  }
}
