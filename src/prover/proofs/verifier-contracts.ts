/**
 * The Solidity contract of a prover, which verifies its proofs, and an example of one that calls it: made when they are
 * first asked for, and kept with the prover.
 */
import { AppError, assert } from "../../platform/errors.js";
import type { ArtifactReference, Artifacts } from "../../platform/store/artifacts.js";
import { readyProver } from "../built-prover.js";
import type { Catalog } from "../catalog.js";
import type { ResidentBytes } from "../compute/keys/resident-bytes.js";
import { MADE_FILES, type Asker, type MadeFiles, type MakeOptions } from "../made-files.js";
import { callerContract, contractName, namedVerifier } from "../on-chain/verifier-source.js";
import type { KeyPins } from "../provisioning/key-pins.js";
import type { StoredProver } from "../repository.js";

export type ContractFile = (typeof CONTRACT_FILES)[number];

const CONTRACT_FILES = [MADE_FILES.contract, MADE_FILES.caller] as const;

interface VerifierContractsDependencies {
  readonly made: Pick<MadeFiles, "get">;
  readonly madeCaller: Pick<MadeFiles, "get">;
  readonly catalog: Catalog;
  readonly artifacts: Pick<Artifacts, "read" | "readShared" | "resolve">;
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

  /** Returns the names of a prover's contracts that are not made yet. */
  awaited(prover: StoredProver): ContractFile[] {
    return CONTRACT_FILES.filter((name) => this.isAwaited(prover, name));
  }

  /** Tells whether a prover has such a contract that is not made yet. */
  isAwaited(prover: StoredProver, name: string): name is ContractFile {
    const { catalog } = this.#with;
    return (
      prover.status === "provisioned" &&
      CONTRACT_FILES.some((each) => each === name) &&
      prover.build.artifacts[name] === undefined &&
      catalog.systemOf(prover).forms.includes("solidity") &&
      catalog.providerOf(prover).verifierContract !== undefined
    );
  }

  /** Makes the one or the other; see `make`. */
  async makeNamed(prover: StoredProver, name: ContractFile, asker: Asker): Promise<ArtifactReference> {
    if (name === MADE_FILES.contract) return await this.make(prover, asker);
    const { sha256 } = await this.make(prover, asker);
    return await this.#with.madeCaller.get(prover, asker, async ({ owner }) => {
      const text = Buffer.from(await this.#with.artifacts.read(sha256)).toString("utf8");
      const keyHash = await this.#with.pins.read(prover, "verifying_key", owner);
      // The contract of an earlier version has no name of its own.
      return Buffer.from(callerContract(namedVerifier(text, { name: contractName(prover.name, prover.id), keyHash })));
    });
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
    const name = contractName(prover.name, prover.id);
    return Buffer.from(namedVerifier(made.value.source, { name, keyHash: sha256 }));
  }
}
