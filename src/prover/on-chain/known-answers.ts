/**
 * Valid proofs with which a contract is tried. A stored proof may let whoever has it do something, and the node of a
 * network is a stranger: so only a proof that the owner names is shown to it, and one of the public inputs that come
 * with a built-in circuit.
 */
import type { TaskFailure, TaskResult, UncheckedClaim, VerifyValue } from "../../engine/protocol.js";
import { AppError, assert, invalidMember } from "../../platform/errors.js";
import { missingReference } from "../../platform/references.js";
import { pinnedProver, type PinnedProverDependencies } from "../proofs/pinned-prover.js";
import type { Catalog } from "../catalog.js";
import { isVerifierOnly } from "../imports/import-files.js";
import { readClaim } from "../proofs/claims.js";
import { taskError, type Proofs } from "../proofs/proofs.js";
import type { BuiltInCircuits } from "../provisioning/sources.js";
import type { ProverRepository, StoredProver } from "../repository.js";
import type { ProofItem } from "../schemas.js";
import { verifierCalldata } from "./verifier-calldata.js";
import type { CheckVerifier, KnownAnswer } from "./verifier-schemas.js";

interface KnownAnswersDependencies extends PinnedProverDependencies {
  readonly repository: Pick<ProverRepository, "findProof">;
  readonly proofs: Pick<Proofs, "note">;
  readonly catalog: Catalog;
  readonly builtIns: Pick<BuiltInCircuits, "find">;
}

interface KnownAnswersOptions {
  readonly proveDeadlineMs: number;
  readonly verifyDeadlineMs: number;
}

/** What circuits say of inputs that do not fit: of a built-in one, an older version than the inputs are for. */
const UNFIT: ReadonlySet<TaskFailure["code"]> = new Set<TaskFailure["code"]>([
  "constraints_unsatisfied",
  "witness_invalid",
]);

export class KnownAnswers {
  readonly #options: KnownAnswersOptions;
  readonly #with: KnownAnswersDependencies;

  constructor(options: KnownAnswersOptions, dependencies: KnownAnswersDependencies) {
    this.#options = options;
    this.#with = dependencies;
  }

  /**
   * Returns the valid proof that a request names; null when it names none.
   * @throws AppError `known_answer_invalid` for one that is not valid, `not_found` for a record or its note,
   *   `invalid_request` for two, and as `Proofs.verify`
   */
  async given(
    prover: StoredProver,
    { proof_id, proof, public_signals }: CheckVerifier,
    signal: AbortSignal,
  ): Promise<KnownAnswer | null> {
    if (proof_id === undefined && proof === undefined && public_signals === undefined) return null;
    if (proof_id !== undefined && (proof !== undefined || public_signals !== undefined))
      throw invalidMember("proof_id", "give proof_id, or proof with public_signals, not both");
    const item: ProofItem =
      proof_id === undefined
        ? { ...(proof === undefined ? {} : { proof }), ...(public_signals === undefined ? {} : { public_signals }) }
        : await this.#stored(prover, proof_id);
    const claim = readClaim(item, prover.id);
    if (claim instanceof AppError) throw claim;
    const { result, solidity, publicSignals } = await this.#verified(prover, claim, signal);
    if (!result)
      throw invalidMember(
        proof_id === undefined ? "proof" : "proof_id",
        "the proof is not valid for its public signals, so that a contract cannot be tried with it",
        "known_answer_invalid",
      );
    assert(solidity !== undefined, "a system with a contract has the form of its arguments");
    return {
      origin: proof_id === undefined ? "given" : "proof",
      proof_id: proof_id ?? null,
      public_signals: [...publicSignals],
      calldata: verifierCalldata(prover.proving_scheme, solidity),
    };
  }

  /**
   * Proves the inputs that come with a built-in circuit; null where there are none.
   * @throws AppError what pins and pools throw
   */
  async sample(prover: StoredProver, signal: AbortSignal): Promise<KnownAnswer | null> {
    const { build, identifier } = prover;
    const inputs = build.is_built_in ? this.#with.builtIns.find(identifier)?.satisfyingInputs : undefined;
    if (inputs === undefined || isVerifierOnly(prover)) return null;
    const made = await this.#with.catalog
      .providerOf(prover)
      .prove(
        await pinnedProver(prover, ["verifying_key", "proving_key"], this.#with),
        { inputs, format: "solidity" },
        { owner: this.#with.turnOf(build.owner), signal, deadlineMs: this.#options.proveDeadlineMs },
      );
    if (!made.ok) {
      if (UNFIT.has(made.code)) return null;
      throw taskError(made);
    }
    const { solidity, publicSignals } = made.value;
    assert(solidity !== undefined, "a system with a contract has the form of its arguments");
    return {
      origin: "sample",
      proof_id: null,
      public_signals: [...publicSignals],
      calldata: verifierCalldata(prover.proving_scheme, solidity),
    };
  }

  async #stored({ id, build: { owner } }: StoredProver, proofId: string): Promise<ProofItem> {
    const record = this.#with.repository.findProof(owner, id, proofId);
    if (record === undefined) throw missingReference("proof_id", "proof");
    const { value } = await this.#with.proofs.note(owner, id, record.note_index);
    const content = JSON.parse(Buffer.from(value, "base64").toString("utf8")) as {
      readonly proof: string;
      readonly public_signals: string[];
    };
    return { proof: content.proof, public_signals: content.public_signals };
  }

  async #verified(prover: StoredProver, claim: UncheckedClaim, signal: AbortSignal): Promise<VerifyValue> {
    const checked: TaskResult<VerifyValue> = await this.#with.catalog
      .providerOf(prover)
      .verify(
        await pinnedProver(prover, ["verifying_key"], this.#with),
        { ...claim, form: "solidity" },
        { owner: this.#with.turnOf(prover.build.owner), signal, deadlineMs: this.#options.verifyDeadlineMs },
      );
    if (!checked.ok) throw taskError(checked);
    return checked.value;
  }
}
