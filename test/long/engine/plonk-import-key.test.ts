/** PLONK keys of snarkjs as they are read: whatever byte of a file is another, it is found. */
import { beforeAll, describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import type { CurveParameters } from "../../../src/engine/curves/curve-parameters.js";
import { encodeG1 } from "../../../src/engine/curves/points.js";
import { readBigIntLE, writeBigIntLE } from "../../../src/engine/field/bytes.js";
import { makeDevelopmentSetup } from "../../../src/engine/plonk/development-setup.js";
import { domainPowerOf } from "../../../src/engine/plonk/key.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { plonkSystem } from "../../../src/engine/proof-systems/plonk.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { cubicFixture, r1csFile } from "../../support/groth16-fixtures.js";
import { snarkjsKey, snarkjsPlonk } from "../../support/plonk-fixtures.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();

describe.each([BN254, BLS12_381].map((curve) => [curve.name, curve] as const))(
  `a PLONK key of snarkjs on %s, seed ${String(random.seed)}`,
  (_name, curve: CurveParameters) => {
    const fixture = cubicFixture(3n, curve);
    const system = plonkSystem(curve);
    let zkey: Uint8Array;

    beforeAll(async () => {
      const domainPower = domainPowerOf(gatesOf(fixture.r1cs).gateCount);
      const points = await makeDevelopmentSetup(await loadReferenceKernels(curve), domainPower);
      const made = await snarkjsKey(await snarkjsPlonk(curve), fixture, { curve, points, domainPower });
      zkey = made.zkey.data ?? new Uint8Array(0);
    });

    /** Reads a file, and runs the gates on what was read. */
    async function outcomeOf(provingKey: Uint8Array): Promise<{ ok: boolean; message?: string }> {
      const r1cs = r1csFile(fixture);
      const read = await system.importKey({ r1cs, provingKey, strings: [] });
      if (!read.ok || read.provingKey === undefined) return read;
      const { provingKey: stored, verifyingKey } = read;
      return await system.checkKey({ r1cs, provingKey: stored, verifyingKey, isImported: true });
    }

    /** Where the content of a section begins, and its length. */
    function sectionOf(type: number): readonly [at: number, length: number] {
      const view = new DataView(zkey.buffer, zkey.byteOffset);
      let at = 12;
      while (view.getUint32(at, true) !== type) at += 12 + view.getUint32(at + 4, true);
      return [at + 12, view.getUint32(at + 4, true)];
    }

    it("is sound as it is", async () => {
      expect(await outcomeOf(zkey)).toEqual({ ok: true });
    });

    it("is refused wherever a bit is another", async () => {
      const places = Array.from({ length: 14 }, (_, i) => sectionOf(i + 1))
        .filter(([, length]) => length > 0)
        .map(([at, length]) => at + random.below(length));
      for (let i = 0; i < 8; i += 1) places.push(random.below(zkey.length));
      for (const place of places) {
        const changed = Uint8Array.from(zkey);
        changed[place] = (changed[place] ?? 0) ^ (1 << random.below(8));
        expect(await outcomeOf(changed), String(place)).toMatchObject({
          ok: false,
          message: expect.any(String) as string,
        });
      }
    });

    it("is refused wherever it is cut off, and with its sections in another order", async () => {
      for (const length of [0, 11, 12, 23, zkey.length - 1, random.below(zkey.length)])
        expect(await outcomeOf(zkey.subarray(0, length)), String(length)).toMatchObject({ ok: false });
      const [[first, bytes], [second, more]] = [sectionOf(4), sectionOf(5)];
      const swapped = Buffer.concat([
        zkey.subarray(0, first - 12),
        zkey.subarray(second - 12, second + more),
        zkey.subarray(first - 12, first + bytes),
        zkey.subarray(second + more),
      ]);
      expect(await outcomeOf(swapped)).toMatchObject({ ok: false });
    });

    it("is refused with a coordinate that is spelled with the field's order added", async () => {
      const [at, length] = sectionOf(14);
      const place = at + 2 * curve.fqBytes * random.below(length / (2 * curve.fqBytes));
      const changed = Uint8Array.from(zkey);
      writeBigIntLE(readBigIntLE(zkey, place, curve.fqBytes) + curve.q, changed, place, curve.fqBytes);
      expect(await outcomeOf(changed)).toMatchObject({
        ok: false,
        message: expect.stringMatching(/not on the curve/) as string,
      });
    });

    it("is refused where its powers are not those of one secret, though each is a point of the group", async () => {
      const [at, length] = sectionOf(14);
      const pointBytes = 2 * curve.fqBytes;
      const changed = Uint8Array.from(zkey);
      changed.set(encodeG1(curve.generatorG1, curve), at + length - pointBytes);
      expect(await outcomeOf(changed)).toMatchObject({
        ok: false,
        message: expect.stringMatching(/not consecutive/) as string,
      });
    });
  },
);
