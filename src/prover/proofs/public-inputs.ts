/**
 * Names of proofs and of what they prove (security 2.12, 'Malleability'). A Groth16 proof can be re-randomised by
 * anyone, so the hash of a proof is evidence that these bytes were seen and nothing more; what is decided by identity
 * is decided on the statement.
 */
import { createHash } from "node:crypto";
import { uuidBytes } from "../../platform/ids.js";

const ELEMENT_BYTES = 32;

/** SHA-256 of a proof's canonical bytes, lower-case hex. */
export function hashProof(proofHex: string): string {
  return createHash("sha256").update(Buffer.from(proofHex, "hex")).digest("hex");
}

/**
 * SHA-256("pv/v1/proof" || prover id(16) || SHA-256 of the verifying key(32) || public signals(32 each, big-endian)),
 * hex.
 * @param publicSignals canonical decimals, outputs first
 */
export function hashStatement(proverId: string, verifyingKeySha256: string, publicSignals: readonly string[]): string {
  const hash = createHash("sha256")
    .update("pv/v1/proof")
    .update(uuidBytes(proverId))
    .update(Buffer.from(verifyingKeySha256, "hex"));
  for (const signal of publicSignals)
    hash.update(
      Buffer.from(
        BigInt(signal)
          .toString(16)
          .padStart(2 * ELEMENT_BYTES, "0"),
        "hex",
      ),
    );
  return hash.digest("hex");
}

/** What the note's leaf is made from: SHA-256("pv/v1/note" || statement hash(32) || proof hash(32)), hex. */
export function noteDigest(statementHash: string, proofHash: string): string {
  return createHash("sha256")
    .update("pv/v1/note")
    .update(Buffer.from(statementHash, "hex"))
    .update(Buffer.from(proofHash, "hex"))
    .digest("hex");
}

/** Key under which a note would be nullified: SHA-256("pv/v1/nullifier" || the note as encrypted), base64. */
export function nullifierKey(ciphertext: string): string {
  return createHash("sha256").update("pv/v1/nullifier").update(ciphertext).digest("base64");
}
