/** Groth16 keys of snarkjs against the powers of tau that they were made from: each point, and what no other gate sees. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { readBigIntLE, writeBigIntLE } from "../../../src/engine/field/bytes.js";
import { encodeG1 } from "../../../src/engine/curves/points.js";
import { ZKEY_SECTION } from "../../../src/engine/groth16/zkey-layout.js";
import { groth16System } from "../../../src/engine/proof-systems/groth16.js";
import type { StoredKeyResult } from "../../../src/engine/proof-systems/proof-system.js";
import { openReferenceString } from "../../../src/engine/proof-systems/reference-string-file.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { chainFixture, cubicFixture, r1csFile } from "../../support/groth16-fixtures.js";
import type { Fixture } from "../../support/groth16-fixtures.js";
import { snarkjsPowersOfTau } from "../../support/powers-of-tau.js";
import { seededRandom } from "../../support/seeded.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const random = seededRandom();
const system = groth16System(BN254);
/** A domain of 4 and one of 8; the ceremony serves domains up to 8, so that the second takes all of it. */
const FIXTURES: readonly (readonly [string, Fixture])[] = [
  ["a smaller domain", cubicFixture(3n)],
  ["the whole of the ceremony", chainFixture(4)],
];
const POINT_BYTES = 2 * BN254.fqBytes;

let folder: string;
let powers: string;
let plainPowers: string;
let others: string;
const keys = new Map<Fixture, { zkey: Uint8Array; verifyingKey: string }>();

beforeAll(async () => {
  folder = newFolder("powers");
  const { prepared, contributed } = await snarkjsPowersOfTau(3);
  powers = write("powers.ptau", prepared);
  plainPowers = write("plain.ptau", contributed);
  others = write("others.ptau", (await snarkjsPowersOfTau(3)).prepared);
  const snarkjs = await primeSnarkjs();
  for (const [, fixture] of FIXTURES) {
    const [first, second] = [
      { type: "mem" } as { type: "mem"; data?: Uint8Array },
      { type: "mem" } as { type: "mem"; data?: Uint8Array },
    ];
    await snarkjs.zKey.newZKey(r1csFile(fixture), prepared, first);
    await snarkjs.zKey.contribute(first.data!, second, "one", "some text");
    const verifyingKey = JSON.stringify(await snarkjs.zKey.exportVerificationKey(second.data!));
    keys.set(fixture, { zkey: second.data!, verifyingKey });
  }
});

afterAll(() => {
  removeFolder(folder);
});

function write(name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

async function check(
  fixture: Fixture,
  { zkey, string }: { zkey?: Uint8Array; string?: string },
): Promise<StoredKeyResult> {
  const key = keys.get(fixture)!;
  return await system.checkKey({
    r1cs: r1csFile(fixture),
    provingKey: zkey ?? key.zkey,
    verifyingKey: key.verifyingKey,
    isImported: true,
    ...(string === undefined ? {} : { referenceString: openReferenceString({ path: string, sha256: "" }) }),
  });
}

/** Adds the generator to a point of a section, which stays in the group. */
async function withOtherPoint(zkey: Uint8Array, section: number, index: number): Promise<Uint8Array> {
  const changed = Buffer.from(zkey);
  let at = 12;
  while (changed.readUInt32LE(at) !== section) at += 12 + Number(changed.readBigUInt64LE(at + 4));
  const place = at + 12 + index * POINT_BYTES;
  const kernels = await loadReferenceKernels();
  const weights = Buffer.alloc(2 * BN254.frBytes);
  weights[0] = weights[BN254.frBytes] = 1;
  const both = Buffer.concat([changed.subarray(place, place + POINT_BYTES), encodeG1(BN254.generatorG1, BN254)]);
  encodeG1(kernels.msmG1(both, weights)!, BN254).forEach((byte, i) => (changed[place + i] = byte));
  return changed;
}

describe(`a key of snarkjs, seed ${String(random.seed)}`, () => {
  it.each(FIXTURES)("passes against its powers of tau, and against no others, for %s", async (_name, fixture) => {
    expect(await check(fixture, {})).toEqual({ ok: true });
    expect(await check(fixture, { string: powers })).toEqual({ ok: true });
    expect(await check(fixture, { string: plainPowers })).toEqual({ ok: true });
    expect(await check(fixture, { string: others })).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^reference_string: alpha/) as string,
    });
  });

  it.each(FIXTURES)(
    "with one other point of C or H passes all other gates, and not this one, for %s",
    async (_name, fixture) => {
      const { zkey } = keys.get(fixture)!;
      const counts = {
        [ZKEY_SECTION.c]: fixture.r1cs.wireCount - fixture.publicSignals.length - 1,
        [ZKEY_SECTION.h]: 4,
      };
      for (const [section, what] of [
        [ZKEY_SECTION.c, "C"],
        [ZKEY_SECTION.h, "H"],
      ] as const) {
        const wrong = await withOtherPoint(zkey, section, random.below(counts[section]));
        expect(await check(fixture, { zkey: wrong })).toEqual({ ok: true });
        expect(await check(fixture, { zkey: wrong, string: powers })).toEqual({
          ok: false,
          message: expect.stringMatching(new RegExp(`^reference_string: a point of ${what} `)) as string,
        });
      }
    },
  );

  it("with a coordinate that is spelled with the field's order added is refused by every gate of points", async () => {
    const [, fixture] = FIXTURES[0]!;
    for (const section of [ZKEY_SECTION.a, ZKEY_SECTION.b2, ZKEY_SECTION.h]) {
      const changed = Buffer.from(keys.get(fixture)!.zkey);
      let at = 12;
      while (changed.readUInt32LE(at) !== section) at += 12 + Number(changed.readBigUInt64LE(at + 4));
      // The first one that is not infinity.
      for (let place = at + 12; place < at + 12 + Number(changed.readBigUInt64LE(at + 4)); place += BN254.fqBytes) {
        const value = readBigIntLE(changed, place, BN254.fqBytes);
        if (value === 0n) continue;
        writeBigIntLE(value + BN254.q, changed, place, BN254.fqBytes);
        break;
      }
      expect(await check(fixture, { zkey: changed })).toMatchObject({
        ok: false,
        message: expect.stringMatching(/^points: .*not on the curve/) as string,
      });
    }
  });

  it("with one other point of A is found, which the coefficients do not show", async () => {
    const [, fixture] = FIXTURES[0]!;
    const { zkey } = keys.get(fixture)!;
    const wrong = await withOtherPoint(zkey, ZKEY_SECTION.a, random.below(fixture.r1cs.wireCount));
    expect(await check(fixture, { zkey: wrong, string: powers })).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^reference_string: a point of A /) as string,
    });
  });
});
