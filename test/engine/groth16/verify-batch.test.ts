import { beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { isOnTwist, negateG1 } from "../../../src/engine/curves/points.js";
import type { G1Point } from "../../../src/engine/curves/points.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { addFq2, multiplyFq2, negateFq2, squareRootFq2 } from "../../../src/engine/field/prime-field.js";
import type { Groth16Proof } from "../../../src/engine/groth16/proof.js";
import { proveGroth16 } from "../../../src/engine/groth16/prove.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../../src/engine/groth16/setup.js";
import { loadPairing } from "../../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../../src/engine/groth16/verify.js";
import type { PreparedVerifyingKey, ProofClaim } from "../../../src/engine/groth16/verify.js";
import { verifyGroth16Batch } from "../../../src/engine/groth16/verify-batch.js";
import { cubicFixture } from "../../support/groth16-fixtures.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();
const fixture = cubicFixture(3n);
let setup: Awaited<ReturnType<typeof setupGroth16>>;
let proofs: Groth16Proof[];

beforeAll(async () => {
  setup = await setupGroth16(fixture.r1cs);
  const key = readProvingKey(setup.zkey);
  proofs = [];
  for (let i = 0; i < 3; i += 1) proofs.push(await proveGroth16(key, fixture.witness));
});

describe.each(["wasm", "reference"] as const)(
  "verifying a batch on the %s backend, seed " + String(random.seed),
  (backend) => {
    let prepared: PreparedVerifyingKey;
    beforeAll(async () => {
      prepared = prepareWith(await loadPairing(backend), setup.verifyingKey);
    });

    const sound = (count: number): ProofClaim[] =>
      Array.from({ length: count }, (_, i) => ({
        proof: proofs[i % proofs.length]!,
        publicSignals: fixture.publicSignals,
      }));
    const wrong = (claim: ProofClaim): ProofClaim => ({
      ...claim,
      publicSignals: claim.publicSignals.map((signal) => signal + 1n),
    });

    it("accepts sound proofs, however many", () => {
      for (const count of [0, 1, 2, 3, 9])
        expect(verifyGroth16Batch(prepared, sound(count))).toEqual(sound(count).map(() => true));
    });

    it("names the wrong ones, wherever they are", () => {
      const all = [0, 1, 2, 3, 4, 5, 6];
      // The reference backend is slow, and the search is the same.
      const batches =
        backend === "reference" ? [[3], all] : [...all.map((i) => [i]), [0, 6], [0, 1, 2], [2, 3, 4, 5], all];
      for (const bad of batches) {
        const claims = sound(7).map((claim, i) => (bad.includes(i) ? wrong(claim) : claim));
        expect(verifyGroth16Batch(prepared, claims), String(bad)).toEqual(claims.map((_, i) => !bad.includes(i)));
      }
    });

    it("agrees with single verification on random mixtures", () => {
      for (let round = 0; round < 3; round += 1) {
        const claims = sound(5 + random.below(6)).map((claim) => {
          if (random.chance(0.7)) return claim;
          return random.pick<ProofClaim>([
            wrong(claim),
            { ...claim, publicSignals: [] },
            { ...claim, publicSignals: [BN254.r] },
            { ...claim, publicSignals: [-1n] },
            { ...claim, proof: { ...claim.proof, a: negateG1(claim.proof.a, BN254) } },
            { ...claim, proof: { ...claim.proof, c: { x: 1n, y: 3n } } },
            { ...claim, proof: { ...claim.proof, b: BN254.generatorG2 } },
          ]);
        });
        expect(verifyGroth16Batch(prepared, claims)).toEqual(
          claims.map(({ proof, publicSignals }) => verifyGroth16(prepared, proof, publicSignals)),
        );
      }
    });

    it("is not taken in by errors that cancel each other without weights", async () => {
      const kernels = await loadReferenceKernels();
      const shift = (point: G1Point, by: bigint): G1Point => {
        const sum = kernels.combineG1([
          { point, scalar: 1n },
          { point: BN254.generatorG1, scalar: (by + BN254.r) % BN254.r },
        ]);
        if (sum === undefined) throw new Error("the sum is infinity");
        return sum;
      };
      const claims = sound(4);
      const [first, second] = [claims[1]!, claims[2]!];
      // e(C1 + T, delta) e(C2 - T, delta) = e(C1, delta) e(C2, delta).
      claims[1] = { ...first, proof: { ...first.proof, c: shift(first.proof.c, 5n) } };
      claims[2] = { ...second, proof: { ...second.proof, c: shift(second.proof.c, -5n) } };
      expect(verifyGroth16Batch(prepared, claims)).toEqual([true, false, false, true]);
      // Exchanged halves of two proofs of the same claim.
      const swapped = sound(5);
      swapped[0] = { ...swapped[0]!, proof: { ...proofs[0]!, c: proofs[1]!.c } };
      swapped[1] = { ...swapped[1]!, proof: { ...proofs[1]!, c: proofs[0]!.c } };
      expect(verifyGroth16Batch(prepared, swapped)).toEqual([false, false, true, true, true]);
    });

    it("accepts one proof many times over and one with its points negated, as single verification does", () => {
      const { a, b, c } = proofs[0]!;
      const negative = { curve: "BN254" as const, a: negateG1(a, BN254), b: { x: b.x, y: negateFq2(b.y, BN254.q) }, c };
      const publicSignals = fixture.publicSignals;
      const same = proofs[0]!;
      const claims: ProofClaim[] = [
        same,
        same,
        negative,
        { ...same, b: { ...b } },
        negative,
        { ...same, b: negative.b },
        same,
      ].map((proof) => ({ proof, publicSignals }));
      const expected = claims.map(({ proof }) => verifyGroth16(prepared, proof, publicSignals));
      expect(expected).toEqual([true, true, true, true, true, false, true]);
      expect(verifyGroth16Batch(prepared, claims)).toEqual(expected);
    });

    it("is not taken in by a proof outside the subgroup beside sound ones", () => {
      const claims = sound(3);
      const { q, twistB } = BN254;
      let b: Groth16Proof["b"] | undefined;
      for (let c0 = 1n; b === undefined; c0 += 1n) {
        const x = { c0, c1: 1n };
        const y = squareRootFq2(addFq2(multiplyFq2(multiplyFq2(x, x, q), x, q), twistB, q), q);
        if (y !== undefined) b = { x, y };
      }
      expect(isOnTwist(b, BN254)).toBe(true);
      const outside = { ...proofs[0]!, b };
      claims[1] = { ...claims[1]!, proof: outside };
      expect(verifyGroth16Batch(prepared, claims)).toEqual([true, false, true]);
    });
  },
);
