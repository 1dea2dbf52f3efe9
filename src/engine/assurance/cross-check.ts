/**
 * The task that verifies a proof again by others' code: by @noble/curves, and by the prover's Solidity contract in an
 * EVM or, where there is none, by the server's verifier on ffjavascript's arithmetic. Tells what each says; the caller
 * compares.
 */
import type { CrossCheckMessage, CrossCheckValue, CrossVerdict, TaskResult } from "../protocol.js";
import type { ProofSystem, SystemClaim } from "../proof-systems/proof-system.js";
import { proofSystem } from "../proof-systems/table.js";
import { verifyInEvm } from "./verify-in-evm.js";
import { verifyOnNoble } from "./verify-on-noble.js";

/** Runs the task `cross_check`: 50 to 200 ms, and 0.5 s more when a thread does it first. */
export async function crossCheck(message: CrossCheckMessage): Promise<TaskResult<CrossCheckValue>> {
  const system = proofSystem(message.system);
  const pairing = await system.loadPairing("reference");
  const verifyingKey: unknown = JSON.parse(Buffer.from(message.verifyingKey.bytes).toString("utf8"));
  const [decoded] = system.decodeProofs([message.proof], pairing);
  if (decoded?.ok !== true) return { ok: false, code: "proof_malformed", message: "the proof is malformed" };
  const claim = { proof: decoded.value, publicSignals: message.publicSignals.map(BigInt) };
  const noble = verifyOnNoble(message.system, {
    verifyingKey,
    proof: system.toJson(claim.proof),
    publicSignals: message.publicSignals,
  });
  const third = await thirdVerdict(message, system, claim);
  const fallback = (): CrossVerdict => ({
    checker: "ffjavascript",
    valid: system.verify(system.prepareKey(verifyingKey, pairing), claim.proof, claim.publicSignals),
  });
  return { ok: true, value: { verdicts: [{ checker: "noble", valid: noble }, third ?? fallback()] } };
}

async function thirdVerdict(
  { contract }: CrossCheckMessage,
  system: ProofSystem,
  { proof, publicSignals }: SystemClaim,
): Promise<CrossVerdict | undefined> {
  const args = system.solidityArguments?.(proof, publicSignals);
  if (contract === undefined || args === undefined) return undefined;
  return { checker: "evm", valid: await verifyInEvm(contract, args) };
}
