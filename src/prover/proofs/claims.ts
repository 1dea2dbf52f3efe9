/**
 * Reads what a request wants verified: a proof with its inputs, with its public signals as snarkjs has them, or the
 * answer of prove as it stands. Where something is given twice, both must say the same.
 */
import { isDeepStrictEqual } from "node:util";
import type { UncheckedClaim } from "../../engine/protocol.js";
import { RefusedItem } from "../../platform/contract/refused-item.js";
import { AppError, invalidMember } from "../../platform/errors.js";
import type { ProofItem } from "../schemas.js";

/**
 * Returns the claim of a request or of an item of a batch, or what is wrong with it: what its schema refused, what is
 * missing, or what contradicts itself in it.
 * @param proverId of the prover that verifies
 */
export function readClaim(item: ProofItem | RefusedItem, proverId: string): UncheckedClaim | AppError {
  if (item instanceof RefusedItem)
    return new AppError("invalid_request", {
      message: item.refused[0]?.message ?? "the item is refused",
      details: item.refused,
    });
  const { witness, proof, snarkjs, prover_id } = item;
  if (typeof prover_id === "string" && prover_id.toLowerCase() !== proverId)
    return invalidMember("prover_id", "this proof is of another prover");
  const lists = [item.public_signals, item.publicSignals, snarkjs?.public_signals, snarkjs?.publicSignals].filter(
    (list) => list !== undefined,
  );
  const [publicSignals] = lists;
  if (lists.some((list) => !isDeepStrictEqual(list, publicSignals)))
    return invalidMember("public_signals", "the public signals are given twice, and differ", "witness_invalid");
  const [first, second] = [proof, snarkjs?.proof].filter((form) => form !== undefined);
  if (first === undefined) return invalidMember("proof", "proof required for verification", "proof_malformed");
  if (witness === undefined && publicSignals === undefined)
    return invalidMember("witness", "witness required for verification", "witness_missing");
  return {
    proof: first,
    ...(second === undefined ? {} : { sameProof: second }),
    ...(witness === undefined ? {} : { inputs: witness }),
    ...(publicSignals === undefined ? {} : { publicSignals }),
  };
}
