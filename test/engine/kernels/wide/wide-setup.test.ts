/** Multiples of generators, and keys of them, with the four-lane form on. */
import { afterEach, describe, expect, it } from "vitest";
import { BLS12_381 } from "../../../../src/engine/curves/bls12-381.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import type { CurveParameters } from "../../../../src/engine/curves/curve-parameters.js";
import { randomScalars } from "../../../../src/engine/field/bytes.js";
import { cutIntoJobs, runFixedBaseJobs } from "../../../../src/engine/groth16/fixed-base-work.js";
import { makeGroth16Key } from "../../../../src/engine/groth16/make-key.js";
import { runChecked } from "../../../../src/engine/kernels/wide/checked-work.js";
import { isWideOn, onTwoLanes, useWideForms, wideDiscards } from "../../../../src/engine/kernels/wide/wide-form.js";
import { chainFixture, r1csFile } from "../../../support/groth16-fixtures.js";
import { KERNEL_KINDS } from "../../../support/kernels.js";
import { soundForms, swappedForms } from "../../../support/wide.js";

const SCALARS = 300;

afterEach(() => {
  useWideForms(undefined);
});

/** Multiples of both generators by the same scalars. */
function multiples(curve: CurveParameters, scalars: Uint8Array, isChecked: boolean): Buffer {
  const [g1, g2] = [2 * curve.fqBytes * SCALARS, 4 * curve.fqBytes * SCALARS] as const;
  const secret = new SharedArrayBuffer(scalars.length);
  new Uint8Array(secret).set(scalars);
  const output = new SharedArrayBuffer(g1 + g2);
  const jobs = [
    { group: "G1", scalarsAt: 0, outputAt: 0, count: SCALARS } as const,
    { group: "G2", scalarsAt: 0, outputAt: g1, count: SCALARS } as const,
  ].flatMap((run) => cutIntoJobs(run, curve));
  const work = { curve: curve.name, jobs, scalars: secret, output, next: new SharedArrayBuffer(4), isChecked };
  runFixedBaseJobs(work, 1, () => undefined);
  return Buffer.from(new Uint8Array(output));
}

describe.each(KERNEL_KINDS.filter((kind) => kind === "fma"))("setups on four lanes, %s", () => {
  it.each([BN254, BLS12_381])("have the same points as on two lanes, on $name", (curve) => {
    useWideForms(soundForms(curve));
    const scalars = randomScalars(SCALARS, { length: curve.frBytes, randomLength: 31 });
    const points = multiples(curve, scalars, true);
    expect(points.equals(onTwoLanes(() => multiples(curve, scalars, true)))).toBe(true);
  });

  it("take four lanes for points alone that are checked", () => {
    useWideForms(swappedForms());
    const scalars = randomScalars(SCALARS, { length: BN254.frBytes, randomLength: 31 });
    const right = onTwoLanes(() => multiples(BN254, scalars, true));
    expect(multiples(BN254, scalars, true).equals(right)).toBe(false);
    expect(multiples(BN254, scalars, false).equals(right)).toBe(true);
  });

  it("pass the gates, and keep the form", async () => {
    useWideForms(soundForms());
    expect(await makeGroth16Key(r1csFile(chainFixture(200)))).toMatchObject({ ok: true });
    expect([isWideOn(), wideDiscards()]).toEqual([true, 0]);
  });

  it("pass no gate when a lane was wrong, and are made again on two lanes", async () => {
    useWideForms(swappedForms());
    const again = await runChecked(
      async () => await makeGroth16Key(r1csFile(chainFixture(200))),
      ({ ok }) => !ok,
    );
    expect(again).toMatchObject({ result: { ok: true }, isWideWrong: true });
    expect([isWideOn(), wideDiscards()]).toEqual([false, 1]);
  });
});
