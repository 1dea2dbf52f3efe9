/** The circuits that every server has, with inputs that satisfy them, for a first proof within seconds. */
import cubic from "../../../../circuits/cubic/inputs.json";
import eddsa from "../../../../circuits/eddsa_signature/inputs.json";
import membership from "../../../../circuits/merkle_membership/inputs.json";
import mimc from "../../../../circuits/mimc/inputs.json";
import ownership from "../../../../circuits/ownership/inputs.json";
import poseidon from "../../../../circuits/poseidon_preimage/inputs.json";
import range from "../../../../circuits/range_proof/inputs.json";
import semaphore from "../../../../circuits/semaphore/inputs.json";
import sha256 from "../../../../circuits/sha256_preimage/inputs.json";

export interface BuiltIn {
  readonly identifier: string;
  /** What a proof shows that one knows. */
  readonly says: string;
  readonly constraints: number;
  readonly example: Readonly<Record<string, unknown>>;
}

export const BUILT_INS: readonly BuiltIn[] = [
  row("cubic", "X with Y = X³ + X + 5", 2, cubic),
  row("poseidon_preimage", "the preimage of a Poseidon hash", 213, poseidon),
  row("mimc", "the preimage of a MiMC hash", 273, mimc),
  row("range_proof", "a committed value, and that it lies in a range", 560, range),
  row("eddsa_signature", "a signature of this key on this message", 4207, eddsa),
  row("merkle_membership", "a leaf of a Merkle tree with this root", 4840, membership),
  row("semaphore", "a member of a group, once for each scope", 6411, semaphore),
  row("ownership", "a note of a note store with this root", 8246, ownership),
  row("sha256_preimage", "64 bytes with this SHA-256 digest", 59793, sha256),
];

function row(identifier: string, says: string, constraints: number, inputs: { readonly satisfying: object }): BuiltIn {
  return { identifier, says, constraints, example: inputs.satisfying as Readonly<Record<string, unknown>> };
}
