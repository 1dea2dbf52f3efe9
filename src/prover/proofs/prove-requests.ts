/**
 * One request for a proof with all that its body may ask for: what it says of the prover, closed inputs, a receipt,
 * what it spends. The same for a request that waits for its answer, for an item of a batch, and for a job.
 */
import type { Principal, Subject } from "../../platform/auth/principal.js";
import type { ClosedInputs, ClosedRequest } from "../closed-inputs/closed-inputs.js";
import type { RequestAttestation, Receipts } from "../receipts/receipts.js";
import type { ProveBody, ProveResult } from "../schemas.js";
import type { ProverService } from "../service.js";
import type { Admission } from "../sharing/prover-access.js";
import { spentKeys } from "../stores/spent-keys.js";
import type { KeptAlong } from "./kept-along.js";
import type { Proofs } from "./proofs.js";

/** Who asks for a proof, and what the request says. */
export interface AskedProof {
  readonly principal: Principal;
  readonly requestId: string;
  readonly address: string;
  readonly proverId: string;
  /** By which the caller named the prover. */
  readonly reference: string;
  readonly format: "snarkjs" | "solidity" | undefined;
  readonly body: ProveBody;
}

interface ProveRequestsDependencies {
  readonly provers: Pick<ProverService, "requireSaid">;
  readonly proofs: Pick<Proofs, "admit" | "prove" | "requireProver">;
  readonly receipts: Pick<Receipts, "begin">;
  readonly closedInputs: Pick<ClosedInputs, "read">;
}

/** How a proof is made. */
interface Making {
  readonly signal: AbortSignal;
  readonly deadlineMs?: number;
  /** What is kept in the proof's own commit. */
  readonly along?: KeptAlong;
}

export class ProveRequests {
  readonly #with: ProveRequestsDependencies;

  constructor(dependencies: ProveRequestsDependencies) {
    this.#with = dependencies;
  }

  /** Requires a prover that proves for the caller; see `Proofs.requireProver`. */
  requireProver(caller: Subject, proverId: string): void {
    this.#with.proofs.requireProver(caller, proverId);
  }

  /**
   * Checks what shows before anything is computed, and returns the caller's right to the proof.
   * @throws AppError as `make`
   */
  require(asked: AskedProof): Admission {
    const { principal, proverId } = asked;
    return this.#with.proofs.admit(principal.subject, proverId, this.#read(asked));
  }

  /**
   * Makes the proof.
   * @throws AppError as `Proofs.prove`, and what closed inputs and the prover's own members are refused for
   */
  async make(asked: AskedProof, making: Making): Promise<ProveResult> {
    const { principal, proverId, body } = asked;
    const request = this.#read(asked);
    const attest = this.#attestation(asked, making.signal);
    const spent = spentKeys();
    const made = await this.#with.proofs.prove(principal.subject, proverId, {
      ...{ ...request, ...making },
      ...(attest === undefined ? {} : { attest }),
      spend: { nullifier: body.nullifier, spends: body.spends, mayCreate: true, onSpent: spent.take },
    });
    return { ...made, ...spent.answer(), ...attest?.answer() };
  }

  /** The API's member `witness` holds the inputs; everywhere else a witness is the full assignment. */
  #read(asked: AskedProof): {
    readonly inputs: ProveBody["witness"];
    readonly closed: ClosedRequest | undefined;
    readonly witnessFile?: Uint8Array;
    readonly meta?: NonNullable<ProveBody["meta"]>;
    readonly format: AskedProof["format"];
  } {
    const { principal, proverId, format, body } = asked;
    this.#with.provers.requireSaid(principal, proverId, body);
    return {
      inputs: body.witness,
      closed: this.#with.closedInputs.read(asked, proverId, body),
      ...(body.witness_file === undefined ? {} : { witnessFile: Buffer.from(body.witness_file, "base64") }),
      ...(body.meta === undefined ? {} : { meta: body.meta }),
      format,
    };
  }

  #attestation(
    { principal, requestId, reference, body }: AskedProof,
    signal: AbortSignal,
  ): RequestAttestation | undefined {
    const { receipt: wantsReceipt = false, assurance } = body;
    if (!wantsReceipt && assurance !== "triple") return undefined;
    const caller = principal.subject;
    return this.#with.receipts.begin({ caller, wantsReceipt, assurance, requestId, reference, signal });
  }
}
