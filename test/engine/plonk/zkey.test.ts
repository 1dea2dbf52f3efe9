/** PLONK keys as snarkjs' files: byte for byte the same from here and there, on both curves. */
import { describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { buildPlonkKey } from "../../../src/engine/kernels/plonk/build-plonk-key.js";
import { writePlonkZkey } from "../../../src/engine/kernels/zkey/write-plonk-zkey.js";
import { makeDevelopmentSetup } from "../../../src/engine/plonk/development-setup.js";
import { domainPowerOf } from "../../../src/engine/plonk/key.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { cancellingFixture, cubicFixture, mixedFixture } from "../../support/groth16-fixtures.js";
import { snarkjsKey, snarkjsPlonk } from "../../support/plonk-fixtures.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();

describe(`a PLONK zkey, seed ${String(random.seed)}`, () => {
  it.each([
    ["two rows", BN254, cubicFixture(3n)],
    ["terms that cancel", BN254, cancellingFixture(2n, 9n)],
    ["every kind of row", BN254, mixedFixture(40, random)],
    ["two rows over BLS12-381", BLS12_381, cubicFixture(3n, BLS12_381)],
    ["every kind of row over BLS12-381", BLS12_381, mixedFixture(20, random, BLS12_381)],
  ])("is snarkjs' own for %s", async (_name, curve, fixture) => {
    const gates = gatesOf(fixture.r1cs);
    const domainPower = domainPowerOf(gates.gateCount);
    const points = await makeDevelopmentSetup(await loadReferenceKernels(curve), domainPower);
    const key = buildPlonkKey(gates, points, { curve, workspaces: 1 });
    const file = Buffer.concat([...writePlonkZkey(key, { gates, points }, curve)]);
    const theirs = await snarkjsKey(await snarkjsPlonk(curve), fixture, { curve, points, domainPower });
    expect(file.equals(theirs.zkey.data ?? new Uint8Array(0))).toBe(true);
  });
});
