/** Whole sums, transforms and proofs with the four-lane form on, held against two lanes. */
import { afterEach, describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { readProvingKey } from "../../../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../../../src/engine/groth16/setup.js";
import { ResidentProver } from "../../../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../../../../src/engine/kernels/groth16/resident-proving.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../../../../src/engine/kernels/kernels.js";
import { LIST_ENTRY_BYTES } from "../../../../src/engine/kernels/point/batch-layout.js";
import { Arena } from "../../../../src/engine/kernels/wasm/arena.js";
import { scratchBytesFor } from "../../../../src/engine/kernels/wasm/scratch-bytes.js";
import { isWideOn, onTwoLanes, useWideForms } from "../../../../src/engine/kernels/wide/wide-form.js";
import { chainFixture } from "../../../support/groth16-fixtures.js";
import { KERNEL_KINDS, bigBelow, readPoint, writeMultiples } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";
import { soundForms } from "../../../support/wide.js";

const random = seededRandom();
const PAGES = 64;

afterEach(() => {
  useWideForms(undefined);
});

describe.each(KERNEL_KINDS.filter((kind) => kind === "fma"))(
  "kernels on four lanes, %s, seed " + String(random.seed),
  () => {
    it.each(["g1", "g2"] as const)("add the same points as on two lanes, in batches of any size, in %s", (group) => {
      useWideForms(soundForms());
      const kernels = loadKernels({ pages: PAGES, isChecked: true });
      const arena = new Arena(KERNEL_RESERVED_BYTES, PAGES * 65_536);
      const logs = [0n, ...Array.from({ length: 30 }, (_, i) => BigInt(i + 1)), 5n, 5n];
      const points = writeMultiples({ kernels, arena }, group, logs);
      const { pointBytes, batchScratch, entriesPerStep } = kernels[group];
      for (const count of [31, 32, 33, 36, 37, 39, 40, 200]) {
        const pick = (): number => (points + random.below(logs.length) * pointBytes) | random.below(2);
        const pairs = Array.from({ length: count }, () => [pick(), pick()] as const);
        arena.scoped(() => {
          const list = arena.take((count + entriesPerStep) * LIST_ENTRY_BYTES);
          const results = arena.take(count * pointBytes);
          const scratch = arena.take(scratchBytesFor(batchScratch, count + entriesPerStep));
          const sums = (): (bigint[] | undefined)[] => {
            for (const [i, pair] of pairs.entries())
              kernels.words(list + i * LIST_ENTRY_BYTES, 3).set([...pair, results + i * pointBytes]);
            kernels.addBatch(group, list, count, scratch);
            return pairs.map((_, i) => readPoint({ kernels, arena }, group, results + i * pointBytes));
          };
          expect(isWideOn()).toBe(true);
          expect(sums()).toEqual(onTwoLanes(sums));
        });
      }
    });

    it.each([
      ...[1, 2, 3, 1000, 4000].map((constraints) => ({ constraints, curve: BN254 })),
      ...[3, 1000].map((constraints) => ({ constraints, curve: BLS12_381 })),
    ])("make the same proof as on two lanes, of $constraints constraints over $curve.name", async (each) => {
      const { constraints, curve } = each;
      const fixture = chainFixture(constraints, 7n, curve);
      const key = readProvingKey((await setupGroth16(fixture.r1cs)).zkey);
      useWideForms(soundForms(curve));
      const prover = new ResidentProver(makeKeyResident(key, { workspaces: 1 }));
      const blinding = { r: 1n + bigBelow(random, curve.r - 1n), s: 1n + bigBelow(random, curve.r - 1n) };
      const proof = proveResident(prover, fixture.witness, blinding);
      expect(proof).toEqual(onTwoLanes(() => proveResident(prover, fixture.witness, blinding)));
    });

    it("stay on two lanes where nothing checks what they compute", () => {
      useWideForms(soundForms());
      const [unchecked, checked] = [false, true].map((isChecked) => loadKernels({ pages: 1, isChecked }));
      expect([unchecked?.formOf("g1_add_batch"), checked?.formOf("g1_add_batch")]).toEqual(["two", "four"]);
      expect(onTwoLanes(() => checked?.formOf("g1_add_batch"))).toBe("two");
      expect(checked?.formOf("fr_join")).toBe("two");
    });
  },
);
