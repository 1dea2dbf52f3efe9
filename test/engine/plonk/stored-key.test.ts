/** The file of a PLONK key: what its gates compare, and what opening it takes from it. */
import { beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { makeDevelopmentSetup } from "../../../src/engine/plonk/development-setup.js";
import { commitmentsOf, domainPowerOf } from "../../../src/engine/plonk/key.js";
import { readPlonkKey, writePlonkKey } from "../../../src/engine/plonk/key-file.js";
import type { PlonkProvingKey } from "../../../src/engine/plonk/key-file.js";
import { gatesOf } from "../../../src/engine/plonk/plonk-gates.js";
import { plonkSystem } from "../../../src/engine/proof-systems/plonk.js";
import type { StoredKey } from "../../../src/engine/proof-systems/proof-system.js";
import type { StructuredReferenceString } from "../../../src/engine/proof-systems/reference-string.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { cubicFixture, r1csFile } from "../../support/groth16-fixtures.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();
const system = plonkSystem(BN254);
const fixture = cubicFixture(3n);
const r1cs = r1csFile(fixture);
const POINT_BYTES = 2 * BN254.fqBytes;
const COMMITMENTS = 8;

let stored: StoredKey;
let key: PlonkProvingKey;

beforeAll(async () => {
  const power = domainPowerOf(gatesOf(fixture.r1cs).gateCount);
  const { powers, lagrange, tauG2 } = await makeDevelopmentSetup(await loadReferenceKernels(), power);
  const string: StructuredReferenceString = {
    ...{ curve: BN254, sha256: "00".repeat(32), power, tauG2 },
    powersG1: (count) => powers.subarray(0, POINT_BYTES * count),
    lagrangeG1: async () => lagrange,
    openPowers: () => {
      throw new RangeError("PLONK takes no alpha and beta");
    },
  };
  const made = await system.makeKey(r1cs, { referenceString: () => string });
  if (!made.ok) throw new Error(made.code);
  const { provingKey, verifyingKey } = made;
  stored = { r1cs, provingKey, verifyingKey: JSON.stringify(verifyingKey), referenceString: string };
  key = readPlonkKey(provingKey, BN254);
});

describe(`the file of a PLONK key, seed ${String(random.seed)}`, () => {
  it("passes the gates, and opens with its own commitments as with computed ones", async () => {
    expect(await system.checkKey(stored)).toEqual({ ok: true });
    const opened = system.openKey(key, { workspaces: 1 });
    const { commitments, ...bare } = key;
    const computed = system.openKey(bare, { workspaces: 1 });
    expect(opened.verifyingKey).toEqual(computed.verifyingKey);
    expect(commitments).toEqual(commitmentsOf(computed.verifyingKey));
  });

  it("is read without commitments, as files of version 1 are", async () => {
    const { commitments: _, ...bare } = key;
    const provingKey = writePlonkKey(bare, BN254);
    expect(provingKey.length).toBe(stored.provingKey.length - COMMITMENTS * POINT_BYTES);
    expect(readPlonkKey(provingKey, BN254)).toEqual(bare);
    expect(await system.checkKey({ ...stored, provingKey })).toEqual({ ok: true });
  });

  it("is stopped with a bit of its commitments changed, and with two of them exchanged", async () => {
    const from = stored.provingKey.length - COMMITMENTS * POINT_BYTES;
    const changed: Uint8Array[] = Array.from({ length: COMMITMENTS }, (_, i) => {
      const provingKey = Uint8Array.from(stored.provingKey);
      const bit = 8 * (from + i * POINT_BYTES) + random.below(8 * POINT_BYTES);
      provingKey[bit >>> 3] = (provingKey[bit >>> 3] ?? 0) ^ (1 << (bit & 7));
      return provingKey;
    });
    const { commitments } = key;
    if (commitments === undefined) throw new Error("the key has no commitments");
    const { s1, s2 } = commitments;
    changed.push(writePlonkKey({ ...key, commitments: { ...commitments, s1: s2, s2: s1 } }, BN254));
    for (const provingKey of changed)
      expect(await system.checkKey({ ...stored, provingKey })).toMatchObject({ ok: false });
  });

  it("makes no proof that verifies when a commitment is another point", async () => {
    const { commitments } = key;
    if (commitments === undefined) throw new Error("the key has no commitments");
    const wrong = { ...key, commitments: { ...commitments, s1: BN254.generatorG1 } };
    const prepared = system.prepareKey(JSON.parse(stored.verifyingKey), await system.loadPairing("wasm"));
    const prove = (from: PlonkProvingKey) =>
      system.openProver(system.openKey(from, { workspaces: 1 })).prove(fixture.witness);
    expect(system.verify(prepared, prove(key), fixture.publicSignals)).toBe(true);
    expect(system.verify(prepared, prove(wrong), fixture.publicSignals)).toBe(false);
  });
});
