/**
 * The compiled Solidity verifiers of keys, for the EVM of cross-checks: each compiled once, in a process, for all who
 * wait for it. Kept in memory alone; after a start they are compiled again.
 */
import { keccak256 } from "../../crypto/hashes/keccak.js";
import type { CrossCheckMessage } from "../../engine/protocol.js";
import type { SolidityRequest, SolidityResult } from "../../engine/solidity/compile-solidity.js";
import { AppError } from "../../platform/errors.js";
import type { Artifacts } from "../../platform/store/artifacts.js";
import { LRUCache } from "lru-cache";
import type { Asker } from "../made-files.js";
import type { VerifierContracts } from "../proofs/verifier-contracts.js";
import { MADE_FILES } from "../made-files.js";
import type { StoredProver } from "../repository.js";
import type { Catalog } from "../catalog.js";

/** Compiles in a process; resolves to undefined when the process ended without an answer. */
export type CompileContract = (request: SolidityRequest) => Promise<SolidityResult | undefined>;

type ContractCode = NonNullable<CrossCheckMessage["contract"]>;

interface ContractCodesDependencies {
  readonly contracts: Pick<VerifierContracts, "make">;
  readonly artifacts: Pick<Artifacts, "read">;
  readonly catalog: Pick<Catalog, "systemOf">;
  /** Absent where no compiler is at hand; contracts are then not asked. */
  readonly compile: CompileContract | undefined;
}

/** Codes in memory: 10 to 50 KB of hex each. */
const CODES_MAX = 128;
/** All of the contracts' memory is laid out by their own assembly, as snarkjs writes it. */
const SETTINGS = { evmVersion: "cancun", optimizerRuns: 200, viaIr: false } as const;
const SELECTOR_BYTES = 4;

export class ContractCodes {
  readonly #with: ContractCodesDependencies;
  /** By the hash of the verifying key. False where the compiler takes no contract of the key. */
  readonly #codes = new LRUCache<string, Promise<ContractCode | false>>({ max: CODES_MAX });

  constructor(dependencies: ContractCodesDependencies) {
    this.#with = dependencies;
  }

  /**
   * Returns the code of a key's verifier; undefined where there is none: on other curves than BN254, and for keys whose
   * contract the compiler does not take, such as one of thousands of public signals. The first time takes seconds.
   * @throws AppError `internal_error` when the compiler ends without an answer, and as `VerifierContracts.make`
   */
  async of(prover: StoredProver, verifyingKeySha256: string, asker: Asker): Promise<ContractCode | undefined> {
    if (this.#with.compile === undefined || !this.#with.catalog.systemOf(prover).forms.includes("solidity"))
      return undefined;
    let code = this.#codes.get(verifyingKeySha256);
    if (code === undefined) {
      code = this.#compile(prover, asker, this.#with.compile);
      this.#codes.set(verifyingKeySha256, code);
      code.catch(() => {
        this.#codes.delete(verifyingKeySha256);
      });
    }
    const found = await code;
    return found === false ? undefined : found;
  }

  async #compile(prover: StoredProver, asker: Asker, compile: CompileContract): Promise<ContractCode | false> {
    const { contracts, artifacts } = this.#with;
    // Others may wait for the code as well, so that the asker's leaving does not end it.
    const file =
      prover.build.artifacts[MADE_FILES.contract] ?? (await contracts.make(prover, { subject: asker.subject }));
    const source = Buffer.from(await artifacts.read(file.sha256)).toString("utf8");
    const result = await compile({ sources: { "verifier.sol": source }, settings: SETTINGS });
    if (result === undefined)
      throw new AppError("internal_error", { message: "the verifier contract did not compile" });
    if (!result.ok) return false;
    return { bytecode: result.bytecode, selector: selectorOf(result.abi) };
  }
}

interface AbiEntry {
  readonly type?: string;
  readonly name?: string;
  readonly inputs?: readonly { readonly type: string }[];
}

function selectorOf(abi: readonly unknown[]): string {
  const entry = (abi as readonly AbiEntry[]).find(({ type, name }) => type === "function" && name === "verifyProof");
  if (entry === undefined)
    throw new AppError("internal_error", { message: "the verifier contract has no verifyProof" });
  const signature = `verifyProof(${(entry.inputs ?? []).map(({ type }) => type).join(",")})`;
  return Buffer.from(keccak256(Buffer.from(signature, "latin1"))).toString("hex", 0, SELECTOR_BYTES);
}
