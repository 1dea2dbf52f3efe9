/**
 * Reads many proofs whose points are all in G1, with the square roots and the membership in the subgroup computed for
 * all together. Malformed proofs are left to the decoder of one.
 */
import type { PairingKernels } from "../curves/curve-kernels.js";
import type { G1Point } from "../curves/points.js";
import { radicandG1 } from "./compressed-points.js";
import { decoding } from "./decoded.js";
import type { Decoded } from "./decoded.js";

/** The kernels' part in decoding a proof. */
export type ProofChecks = Pick<PairingKernels, "curve" | "areInSubgroupG1" | "isInSubgroupG2" | "squareRootPower">;

/** The kernels' part in decoding many proofs at once. */
export type JointProofChecks = ProofChecks & Pick<PairingKernels, "squareRootPowers">;

/** The forms of a scheme's proofs. In the binary one the points come first. */
interface ProofForm<Proof> {
  readonly pointCount: number;
  /** Reads a proof in any form. */
  decode(value: unknown, checks: ProofChecks): Decoded<Proof>;
  pointsOf(proof: Proof): readonly G1Point[];
}

/** Reads each value as `form.decode` does; the result is the same. */
export function decodeJointly<Proof>(
  values: readonly unknown[],
  checks: JointProofChecks,
  form: ProofForm<Proof>,
): Decoded<Proof>[] {
  const radicands = values.flatMap((value) => radicandsOf(value, checks, form.pointCount));
  const powers = new Map<bigint, bigint>();
  for (const [i, power] of checks.squareRootPowers(radicands).entries()) powers.set(radicands[i] ?? 0n, power);
  const unchecked: ProofChecks = {
    curve: checks.curve,
    areInSubgroupG1: (points) => points.map(() => true),
    isInSubgroupG2: (point) => checks.isInSubgroupG2(point),
    squareRootPower: (value) => powers.get(value) ?? checks.squareRootPower(value),
  };
  const decoded = values.map((value) => form.decode(value, unchecked));
  const points = decoded.map((each) => (each.ok ? form.pointsOf(each.value) : []));
  const areMembers = checks.areInSubgroupG1(points.flat());
  let next = 0;
  return decoded.map((each, i) => {
    const own = areMembers.slice(next, (next += points[i]?.length ?? 0));
    // Decoded once more, for the decoder's own message.
    return own.includes(false) ? form.decode(values[i], checks) : each;
  });
}

/** Returns the numbers whose square roots a proof's points take; none where the text has other than hex digits. */
function radicandsOf(value: unknown, { curve }: ProofChecks, pointCount: number): bigint[] {
  if (typeof value !== "string") return [];
  const { fqBytes } = curve;
  const start = value.startsWith("0x") ? 2 : 0;
  const bytes = Buffer.from(value.slice(start, start + 2 * pointCount * fqBytes), "hex");
  if (bytes.length !== pointCount * fqBytes) return [];
  const read = decoding(() =>
    Array.from({ length: pointCount }, (_, i) => radicandG1(bytes.subarray(i * fqBytes, (i + 1) * fqBytes), curve)),
  );
  return read.ok ? read.value : [];
}
