/** What a receipt says of a decision, as `ReceiptClaims` has it. */
import { createHash } from "node:crypto";
import { hashProof, hashStatement, signalBytes } from "../proofs/public-inputs.js";
import type { Decision, NotePlace } from "../proofs/attestation.js";
import { LISTED_SIGNALS_MAX, RECEIPT_VERSION, type Checker, type ReceiptClaims } from "./receipt-schemas.js";

/** The server that signs. */
export interface ReceiptIssuer {
  /** As the access tokens have it. */
  readonly issuer: string;
  readonly version: string;
}

interface ReceiptContext {
  readonly issuer: ReceiptIssuer;
  readonly id: string;
  readonly requestId: string;
  /** By which the caller named the prover. */
  readonly reference: string;
  readonly nowMs: number;
  readonly checkedBy: readonly Checker[];
  readonly note: NotePlace | undefined;
}

/** Artifact of a ceremony, where the prover has one. */
const TRANSCRIPT = "ceremony-transcript.json";

/** Returns the claims of a receipt. */
export function receiptClaims(decision: Decision, context: ReceiptContext): ReceiptClaims {
  const { prover, isOwner } = decision.admission;
  const { action, result, proof, publicSignals, verifyingKeySha256, contract } = decision;
  const { artifacts } = prover.build;
  const { issuer, nowMs, reference } = context;
  const string = prover.setup ?? null;
  return {
    iss: issuer.issuer,
    sub: prover.id,
    jti: context.id,
    iat: Math.floor(nowMs / 1000),
    time: new Date(nowMs).toISOString(),
    version: RECEIPT_VERSION,
    ...{ action, result },
    prover: { id: prover.id, name: prover.name, tag: reference.includes(":") ? reference : null },
    circuit: {
      identifier: prover.identifier,
      r1cs_sha256: artifacts["circuit.r1cs"]?.sha256 ?? null,
      // A source prover's identifier has the first 16 digits for everybody; the whole hash is the owner's.
      source_sha256: isOwner ? (prover.source_hash ?? null) : null,
    },
    scheme: prover.proving_scheme,
    curve: prover.curve,
    setup: {
      kind: prover.trusted_setup,
      transcript_sha256: artifacts[TRANSCRIPT]?.sha256 ?? null,
      reference_string: string === null ? null : { origin: string.origin, sha256: string.sha256, power: string.power },
    },
    keys: { verifying_sha256: verifyingKeySha256, proving_sha256: decision.provingKeySha256 ?? null },
    public_signals: publicSignals.length > LISTED_SIGNALS_MAX ? null : [...publicSignals],
    public_signals_count: publicSignals.length,
    public_signals_sha256: createHash("sha256").update(signalBytes(publicSignals)).digest("hex"),
    proof_sha256: hashProof(proof),
    statement_sha256: hashStatement(prover.id, verifyingKeySha256, publicSignals),
    note: context.note ?? null,
    spent: (decision.spent ?? []).map(({ key, index, size, root }) => ({ key, index, size, root })),
    checked_by: [...context.checkedBy, ...(contract === undefined ? [] : (["contract"] as const))],
    ...(contract === undefined ? {} : { on_chain: { ...contract } }),
    request_id: context.requestId,
    server: { name: "Proofwright", version: issuer.version },
  };
}
