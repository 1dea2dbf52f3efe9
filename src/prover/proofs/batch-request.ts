/** A request to verify many proofs, and its answer. */
import { PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import type { Subject } from "../../platform/auth/principal.js";
import type { WithRefusedItems } from "../../platform/contract/refused-item.js";
import { invalidMember } from "../../platform/errors.js";
import type { RequestAttestation } from "../receipts/receipts.js";
import { SINGLE_PROOF_MEMBERS, type VerifyBody, type VerifyResult } from "../schemas.js";
import type { SpentKey } from "../stores/pending-append.js";
import type { Attestation } from "./attestation.js";
import type { Proofs } from "./proofs.js";

export interface BatchRequest {
  readonly body: WithRefusedItems<Omit<VerifyBody, "receipt" | "assurance">>;
  readonly signal: AbortSignal;
  readonly attest?: Attestation & Pick<RequestAttestation, "receiptOf">;
  /** Of the caller; none unless given, and then nothing is spent. */
  readonly permissions?: number;
}

/**
 * Verifies many proofs; the result of a malformed one, or of one that the schema refused, is its errors.
 * @throws AppError `invalid_request` when the body also has members of a single proof, `store` included: only single
 *   proofs are stored
 */
export async function verifyBatchRequest(
  proofs: Proofs,
  { caller, id }: { readonly caller: Subject; readonly id: string },
  { body, signal, attest, permissions = 0 }: BatchRequest,
): Promise<VerifyResult> {
  const { batch = [], nullifier, ...single } = body;
  requireBatchOnly(single);
  const spent = new Map<number, readonly SpentKey[]>();
  const results = await proofs.verifyBatch(caller, id, {
    items: batch,
    signal,
    ...(attest === undefined ? {} : { attest }),
    spend: {
      nullifier,
      mayCreate: holdsAll(permissions, PERMISSIONS.create),
      onSpent: (index, keys) => {
        spent.set(index, keys);
      },
    },
  });
  return {
    result: results.every((result) => result === true),
    batch: results.map((result, index) => {
      if (typeof result !== "boolean") return { errors: [...result.details] };
      const keys = spent.get(index);
      return { result, ...(keys === undefined ? {} : { spent: [...keys] }), ...attest?.receiptOf(index) };
    }),
  };
}

function requireBatchOnly(single: Readonly<Record<string, unknown>>): void {
  for (const [path, value] of Object.entries(single)) {
    const isChain = path === "on_chain" || path === "network_id";
    if (value === false || !(path === "store" || isChain || SINGLE_PROOF_MEMBERS.includes(path))) continue;
    const message = isChain
      ? `\`${path}\` is not possible with \`batch\`: contracts are asked about one proof at a time`
      : path === "store"
        ? "`store` is not possible with `batch`: proofs are stored one at a time"
        : `give one proof or \`batch\`; in a batch, \`${path}\` is a member of each item`;
    throw invalidMember(path, message);
  }
}
