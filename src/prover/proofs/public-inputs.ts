/**
 * Hashes that identify proofs and what they prove. Anyone can re-randomise a Groth16 proof, so the hash of a proof is
 * only evidence that these bytes were seen; decisions about identity use the hash of the statement (prover, key and
 * public signals).
 */
import { createHash } from "node:crypto";
import { uuidBytes } from "../../platform/ids.js";

const ELEMENT_BYTES = 32;

/** Returns the SHA-256 of a proof's canonical bytes, lower-case hex. */
export function hashProof(proofHex: string): string {
  return createHash("sha256").update(Buffer.from(proofHex, "hex")).digest("hex");
}

/**
 * Returns the hash of a statement, lower-case hex: SHA-256("pv/v1/proof" || prover id(16) || SHA-256 of the verifying
 * key(32) || public signals(32 each, big-endian)).
 * @param publicSignals canonical decimals, outputs first
 */
export function hashStatement(proverId: string, verifyingKeySha256: string, publicSignals: readonly string[]): string {
  const hash = createHash("sha256")
    .update("pv/v1/proof")
    .update(uuidBytes(proverId))
    .update(Buffer.from(verifyingKeySha256, "hex"))
    .update(signalBytes(publicSignals));
  return hash.digest("hex");
}

/** Returns public signals as bytes, 32 each, big-endian. */
export function signalBytes(publicSignals: readonly string[]): Uint8Array {
  const digits = publicSignals.map((signal) =>
    BigInt(signal)
      .toString(16)
      .padStart(2 * ELEMENT_BYTES, "0"),
  );
  return Buffer.from(digits.join(""), "hex");
}

/**
 * Returns the digest that becomes a note's leaf, lower-case hex: SHA-256("pv/v1/note" || statement hash(32) || proof
 * hash(32)).
 */
export function noteDigest(statementHash: string, proofHash: string): string {
  return createHash("sha256")
    .update("pv/v1/note")
    .update(Buffer.from(statementHash, "hex"))
    .update(Buffer.from(proofHash, "hex"))
    .digest("hex");
}

/**
 * Returns the key that nullifies a note, 64 hex digits: SHA-256("pv/v1/nullifier" || the encrypted note) without its
 * first byte, so that it is an element of every curve's scalar field.
 */
export function noteNullifier(ciphertext: string): string {
  return shortened(createHash("sha256").update("pv/v1/nullifier").update(ciphertext).digest("hex"));
}

/** Returns the key by which a statement itself is spent, 64 hex digits: its hash without the first byte. */
export function statementNullifier(statementHash: string): string {
  return shortened(statementHash);
}

/** 248 bits: below the order of both curves' scalar fields, and as hard to collide as is known how to. */
function shortened(digest: string): string {
  return digest.slice(2).padStart(2 * ELEMENT_BYTES, "0");
}
