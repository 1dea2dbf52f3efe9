/** The gates of an FFLONK key: every part of the file is compared with what follows from circuit and string. */
import { beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { fflonkDomainPowerOf } from "../../../src/engine/fflonk/fflonk-values.js";
import { FFLONK_DOMAIN_POWER_MAX, STRING_POWER_MORE } from "../../../src/engine/fflonk/make-fflonk-key.js";
import { makeDevelopmentPowers } from "../../../src/engine/plonk/development-setup.js";
import { fflonkSystem } from "../../../src/engine/proof-systems/fflonk.js";
import type { MakeKeyResult, StoredKey } from "../../../src/engine/proof-systems/proof-system.js";
import type { StructuredReferenceString } from "../../../src/engine/proof-systems/reference-string.js";
import { loadReferenceKernels } from "../../../src/engine/reference/reference-kernels.js";
import { cubicFixture, r1csFile } from "../../support/groth16-fixtures.js";
import { binaryFile, scalar, u32 } from "../../support/plonk-fixtures.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();
const system = fflonkSystem();
const r1cs = r1csFile(cubicFixture(3n));

/** A string that is asked for powers alone. */
async function referenceString(power: number): Promise<StructuredReferenceString> {
  const { powers, tauG2 } = await makeDevelopmentPowers(await loadReferenceKernels(), 2 ** (power + 1) - 1);
  return {
    curve: BN254,
    sha256: "00".repeat(32),
    power,
    powersG1: (count) => powers.subarray(0, 64 * count),
    lagrangeG1: () => {
      throw new RangeError("FFLONK takes no Lagrange points");
    },
    openPowers: () => {
      throw new RangeError("FFLONK takes no alpha and beta");
    },
    tauG2,
  };
}

let string: StructuredReferenceString;
let stored: StoredKey;

beforeAll(async () => {
  string = await referenceString(6);
  const made = await system.makeKey(r1cs, { referenceString: (power) => (power <= 6 ? string : undefined) });
  if (!made.ok) throw new Error(made.code);
  const { provingKey, verifyingKey } = made;
  stored = { r1cs, provingKey, verifyingKey: JSON.stringify(verifyingKey), referenceString: string };
});

describe(`the gates of an FFLONK key, seed ${String(random.seed)}`, () => {
  it("let an honest key through", async () => {
    expect(await system.checkKey(stored)).toEqual({ ok: true });
  });

  it("stop a file with one bit changed, wherever it is", async () => {
    const bits = 8 * stored.provingKey.length;
    const view = new DataView(stored.provingKey.buffer, stored.provingKey.byteOffset);
    const places: number[] = [];
    // One in each section's content, which a random choice would leave out, and some anywhere.
    for (let at = 12; at < stored.provingKey.length; at += 12 + view.getUint32(at + 4, true))
      places.push(8 * (at + 12) + random.below(8 * view.getUint32(at + 4, true)));
    for (let i = 0; i < 20; i += 1) places.push(random.below(bits));
    for (const place of places) {
      const provingKey = Uint8Array.from(stored.provingKey);
      provingKey[place >>> 3] = (provingKey[place >>> 3] ?? 0) ^ (1 << (place & 7));
      expect(await system.checkKey({ ...stored, provingKey }), String(place)).toMatchObject({ ok: false });
    }
  });

  it("stop a key of another string, circuit or length, and another verifying key", async () => {
    const other = await referenceString(6);
    const json = JSON.parse(stored.verifyingKey) as Record<string, unknown>;
    const wrong: Partial<StoredKey>[] = [
      { referenceString: other },
      { referenceString: { ...string, power: 5 } },
      { r1cs: r1csFile({ ...cubicFixture(3n), r1cs: { ...cubicFixture(3n).r1cs, publicInputCount: 0 } }) },
      { provingKey: stored.provingKey.subarray(0, -1) },
      { provingKey: Buffer.concat([stored.provingKey, new Uint8Array(1)]) },
      { verifyingKey: JSON.stringify({ ...json, C0: ["1", "2", "1"] }) },
      { verifyingKey: JSON.stringify({ ...json, w8: "1" }) },
      { verifyingKey: "{}" },
    ];
    for (const change of wrong) expect(await system.checkKey({ ...stored, ...change })).toMatchObject({ ok: false });
    const { referenceString: __, ...without } = stored;
    expect(await system.checkKey(without)).toMatchObject({ ok: false });
  });

  it("are reached by no circuit that is too large, and the string is asked for by its power", async () => {
    const asked: number[] = [];
    const ask = async (bytes: Uint8Array): Promise<MakeKeyResult> =>
      await system.makeKey(bytes, {
        referenceString: (power) => {
          asked.push(power);
          return undefined;
        },
      });
    const power = fflonkDomainPowerOf(3) + STRING_POWER_MORE;
    expect(await ask(r1cs)).toEqual({ ok: false, code: "reference_string_required", power });
    const constraintCount = 2 ** FFLONK_DOMAIN_POWER_MAX;
    const header = Buffer.concat([u32(32), scalar(BN254.r), u32(4, 0, 1, 1, 4, 0, constraintCount)]);
    // Rows without a term: three counts of 0 each.
    const large = binaryFile("r1cs", 1, [
      [1, header],
      [2, new Uint8Array(12 * constraintCount)],
      [3, u32(0, 0, 1, 0, 2, 0, 3, 0)],
    ]);
    expect(await ask(large)).toMatchObject({ ok: false, code: "circuit_unsupported" });
    // 8192 rows and 2000 public signals: five times the domain for each is over 2 GB.
    const wide = binaryFile("r1cs", 1, [
      [1, Buffer.concat([u32(32), scalar(BN254.r), u32(2001, 0, 2000, 0, 2001, 0, 5000)])],
      [2, new Uint8Array(12 * 5000)],
      [3, new Uint8Array(8 * 2001)],
    ]);
    expect(await ask(wide)).toMatchObject({
      code: "circuit_unsupported",
      message: expect.stringMatching(/public/) as string,
    });
    expect(asked).toEqual([power]);
  });
});
