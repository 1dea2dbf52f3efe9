/**
 * What a request wants of a decision beside the decision itself: that other verifiers confirm it, and that a receipt
 * says so. One object for each request, which `Proofs` calls between its own steps.
 */
import type { Clock } from "../../platform/clock.js";
import { newId } from "../../platform/ids.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { CrossChecks } from "../assurance/cross-checks.js";
import type { Attestation, Decision, NotePlace } from "../proofs/attestation.js";
import type { StoredProver } from "../repository.js";
import { receiptClaims, type ReceiptIssuer } from "./receipt-claims.js";
import type { ReceiptKeys } from "./receipt-keys.js";
import type { Checker } from "./receipt-schemas.js";

interface ReceiptsDependencies {
  readonly keys: Pick<ReceiptKeys, "prepare" | "sign">;
  readonly checks: Pick<CrossChecks, "require" | "requireOffered">;
  readonly clock: Clock;
}

/** What a request asks for, and who asks. */
export interface AttestationRequest {
  readonly caller: Subject;
  readonly wantsReceipt: boolean;
  readonly assurance: "single" | "triple" | undefined;
  readonly requestId: string;
  /** By which the caller named the prover. */
  readonly reference: string;
  readonly signal: AbortSignal;
}

/** Members of the answer. */
export interface Attested {
  readonly receipt?: string;
  /** Why there is none, although what it would say has happened. */
  readonly receipt_error?: { readonly code: string; readonly message: string };
  readonly checked_by?: Checker[];
}

export class Receipts {
  readonly #issuer: ReceiptIssuer;
  readonly #with: ReceiptsDependencies;

  constructor(issuer: ReceiptIssuer, dependencies: ReceiptsDependencies) {
    this.#issuer = issuer;
    this.#with = dependencies;
  }

  /** Returns what attests one request. */
  begin(request: AttestationRequest): RequestAttestation {
    return new RequestAttestation(this.#issuer, request, this.#with);
  }
}

/** The attestation of one request: one proof, or the proofs of a batch. */
export class RequestAttestation implements Attestation {
  readonly #issuer: ReceiptIssuer;
  readonly #request: AttestationRequest;
  readonly #with: ReceiptsDependencies;
  /** By the index of the item. */
  readonly #receipts: (Pick<Attested, "receipt" | "receipt_error"> | undefined)[] = [];
  #checkedBy: readonly Checker[] = ["proofwright"];

  constructor(issuer: ReceiptIssuer, request: AttestationRequest, dependencies: ReceiptsDependencies) {
    this.#issuer = issuer;
    this.#request = request;
    this.#with = dependencies;
  }

  /** See Attestation.begin. */
  async begin(prover: StoredProver, { isBatch }: { readonly isBatch: boolean }): Promise<void> {
    if (isBatch && this.#request.assurance === "triple")
      throw invalidMember("assurance", "`assurance: triple` is for one proof at a time, and not with `batch`");
    if (this.#request.assurance === "triple") this.#with.checks.requireOffered(prover);
    if (this.#request.wantsReceipt) await this.#with.keys.prepare(prover);
  }

  /** See Attestation.confirm. */
  async confirm(decision: Decision): Promise<void> {
    if (this.#request.assurance !== "triple") return;
    const { caller: subject, signal, requestId } = this.#request;
    this.#checkedBy = await this.#with.checks.require(decision, { subject, signal, requestId });
  }

  /** See Attestation.sign. */
  async sign(
    decisions: readonly (Decision | undefined)[],
    { isAnything, note }: Parameters<Attestation["sign"]>[1],
  ): Promise<void> {
    if (!this.#request.wantsReceipt) return;
    const decided = decisions.filter((each) => each !== undefined);
    try {
      const signed = (await this.#tokens(decided, note)).values();
      this.#receipts.push(
        ...decisions.map((decision) => (decision === undefined ? undefined : { receipt: signed.next().value ?? "" })),
      );
    } catch (error) {
      // An error would hide from the caller what is stored and spent, and a second try would spend it twice.
      if (!isAnything || !(error instanceof AppError)) throw error;
      const receipt_error = { code: error.code, message: error.message };
      this.#receipts.push(...decisions.map((decision) => (decision === undefined ? undefined : { receipt_error })));
    }
  }

  async #tokens(decided: readonly Decision[], note: NotePlace | undefined): Promise<readonly string[]> {
    const prover = decided[0]?.admission.prover;
    if (prover === undefined) return [];
    const payloads = decided.map((decision) => JSON.stringify(receiptClaims(decision, this.#context(note))));
    return await this.#with.keys.sign(prover, payloads);
  }

  /** Returns the members of the answer that the request asked for. */
  answer(): Attested {
    return { ...this.receiptOf(0), ...this.confirmed() };
  }

  /** See Attestation.confirmed. */
  confirmed(): Pick<Attested, "checked_by"> {
    return this.#request.assurance === "triple" ? { checked_by: [...this.#checkedBy] } : {};
  }

  /** Returns the receipt of an item of a batch, or why it has none. */
  receiptOf(index: number): Pick<Attested, "receipt" | "receipt_error"> {
    return this.#receipts[index] ?? {};
  }

  #context(note: NotePlace | undefined): Parameters<typeof receiptClaims>[1] {
    const { requestId, reference } = this.#request;
    const nowMs = this.#with.clock.nowMs();
    return { issuer: this.#issuer, id: newId(), requestId, reference, nowMs, checkedBy: this.#checkedBy, note };
  }
}
