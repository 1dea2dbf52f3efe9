/** The text that a contributor signs: it names ceremony, circuit and contribution, so that it fits no other. */

export interface StatedContribution {
  /** Of the ceremony. */
  readonly ceremonyId: string;
  /** By which snarkjs names the key before its contributions; 128 hex digits. */
  readonly circuitHash: string;
  readonly index: number;
  /** BLAKE2b-512 of the contribution, 128 hex digits. */
  readonly hash: string;
  /** Under which the contributor joined. */
  readonly contributor: string;
}

/** Returns the text: one line each, with a line feed behind all but the last one. */
export function contributionStatement({
  ceremonyId,
  circuitHash,
  index,
  hash,
  contributor,
}: StatedContribution): string {
  return [
    "I contributed to a Groth16 ceremony and have destroyed what I drew for it.",
    `ceremony: ${ceremonyId}`,
    `circuit: ${circuitHash}`,
    `contribution: ${index}`,
    `hash: ${hash}`,
    `name: ${contributor}`,
  ].join("\n");
}
