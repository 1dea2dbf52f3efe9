/**
 * Asks verifiers of others' code whether a proof is what the server's own says of it. All must agree; where they do
 * not, one of them is wrong, which is a fault of a cryptographic library or of this server: nothing is then answered,
 * signed or stored, and the operator is told in every way there is.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { AppError, assert, invalidMember } from "../../platform/errors.js";
import type { EventDraft } from "../../platform/events/events.js";
import type { Catalog } from "../catalog.js";
import type { Decision } from "../proofs/attestation.js";
import { hashProof, hashStatement } from "../proofs/public-inputs.js";
import type { Checker } from "../receipts/receipt-schemas.js";
import type { StoredProver } from "../repository.js";
import type { ContractCodes } from "./contract-code.js";
import { Disagreements } from "./disagreements.js";

interface CrossChecksOptions {
  /** Time that one check may take, waiting for a thread included. */
  readonly deadlineMs: number;
}

type CrossChecksDependencies = ConstructorParameters<typeof Disagreements>[0] & {
  readonly catalog: Catalog;
  readonly codes: Pick<ContractCodes, "of">;
  readonly turnOf: (subject: Subject) => string;
};

interface CheckAsker {
  readonly subject: Subject;
  readonly signal: AbortSignal;
  readonly requestId: string;
}

/** What each verifier says. */
type Verdicts = Readonly<Partial<Record<Checker, boolean>>>;

export class CrossChecks {
  readonly #options: CrossChecksOptions;
  readonly #with: CrossChecksDependencies;
  readonly #disagreements: Disagreements;

  constructor(options: CrossChecksOptions, dependencies: CrossChecksDependencies) {
    this.#options = options;
    this.#with = dependencies;
    this.#disagreements = new Disagreements(dependencies);
  }

  /** Disagreements since the start of the process. */
  get disagreements(): number {
    return this.#disagreements.count;
  }

  /** @throws AppError `invalid_request` for a provider without other verifiers */
  requireOffered(prover: StoredProver): void {
    if (this.#with.catalog.providerOf(prover).crossCheck === undefined)
      throw invalidMember("assurance", `there is no second verifier for proofs of ${prover.provider}`);
  }

  /**
   * Returns the verifiers that agree on a decision, the server's own among them.
   * @throws AppError `assurance_disagreement`, and what pools and the compiler throw
   */
  async require(decision: Decision, asker: CheckAsker): Promise<readonly Checker[]> {
    const { prover } = decision.admission;
    const { crossCheck } = this.#with.catalog.providerOf(prover);
    assert(crossCheck !== undefined, "`requireOffered` was asked before");
    const contract = await this.#with.codes.of(prover, decision.verifyingKeySha256, asker);
    asker.signal.throwIfAborted();
    const { proof, publicSignals } = decision;
    const checked = await crossCheck(
      decision.ready,
      { proof, publicSignals, ...(contract === undefined ? {} : { contract }) },
      { owner: this.#with.turnOf(asker.subject), signal: asker.signal, deadlineMs: this.#options.deadlineMs },
    );
    if (!checked.ok) throw new AppError(checked.code, { message: checked.message });
    const verdicts: Verdicts = {
      proofwright: decision.result,
      ...Object.fromEntries(checked.value.verdicts.map(({ checker, valid }) => [checker, valid])),
    };
    if (Object.values(verdicts).some((valid) => valid !== decision.result))
      await this.#alarm(decision, verdicts, asker);
    const checkers = Object.keys(verdicts) as Checker[];
    assert(checkers.length > 1, "a cross-check asks others");
    return checkers;
  }

  async #alarm(decision: Decision, verdicts: Verdicts, { requestId }: CheckAsker): Promise<never> {
    const { prover } = decision.admission;
    const said = Object.entries(verdicts).map(([checker, valid]) => `${checker}: ${valid ? "valid" : "invalid"}`);
    const code = "assurance_disagreement";
    await this.#disagreements.tell({
      message: `verifiers disagree on a proof (${said.join(", ")})`,
      fields: { code, prover_id: prover.id, request_id: requestId },
      row: {
        action: "assurance.disagreement",
        outcome: "refused",
        code,
        request_id: requestId,
        target: { id: prover.id },
        detail: { ...verdicts, proof_sha256: hashProof(decision.proof) },
      },
      drafts: [this.#event(decision, verdicts)],
    });
    throw new AppError(code, {
      message: `the verifiers do not agree on this proof (${said.join(", ")}); nothing was stored, and the operator is told`,
    });
  }

  #event({ admission, proof, publicSignals, verifyingKeySha256 }: Decision, verdicts: Verdicts): EventDraft {
    const { id, build } = admission.prover;
    return {
      subject: "privacy.prover.assurance.disagreement",
      payload: {
        prover_id: id,
        proof_sha256: hashProof(proof),
        statement_sha256: hashStatement(id, verifyingKeySha256, publicSignals),
        verdicts: { ...verdicts },
      },
      audience: [build.owner],
    };
  }
}
