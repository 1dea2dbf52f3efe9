/** Files that must not be used: each is refused with the name of its fault. */
import { beforeAll, describe, expect, it } from "vitest";
import { makePowersOfTau, ptauFile } from "../../../bench/full-powers-of-tau.js";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { BLS12_381 } from "../../../src/engine/curves/bls12-381.js";
import { rootOfUnity } from "../../../src/engine/curves/curve-parameters.js";
import { encodeG1, encodeG2 } from "../../../src/engine/curves/points.js";
import { writeBigIntLE } from "../../../src/engine/field/bytes.js";
import { loadKernelPairing } from "../../../src/engine/kernels/pairing/pairing.js";
import { checkPowersOfTau } from "../../../src/engine/powers-of-tau/check-powers.js";
import { clearCofactorG2 } from "../../../src/engine/powers-of-tau/cofactor.js";
import { SECTION, readLayout, sectionOf } from "../../../src/engine/powers-of-tau/file-layout.js";
import type { SectionName } from "../../../src/engine/powers-of-tau/file-layout.js";
import { SeededStream } from "../../../src/engine/powers-of-tau/random-points.js";
import { rangeOfBytes } from "../../../src/engine/powers-of-tau/range-file.js";
import { seededRandom } from "../../support/seeded.js";

const POWER = 4;
const POINT_SECTIONS = (Object.keys(SECTION) as SectionName[]).filter(
  (name) => name !== "header" && name !== "contributions",
);
/** Named at random places, so that every point is some run's wrong one. */
const random = seededRandom();
const { seed } = random;

describe("powers-of-tau files that are refused", () => {
  const pairing = loadKernelPairing();
  const secrets = { tau: 11n ** 60n % BN254.r, alpha: 13n ** 60n % BN254.r, beta: 17n ** 60n % BN254.r };
  let sound: Uint8Array;
  let other: Uint8Array;

  beforeAll(async () => {
    sound = await makePowersOfTau(POWER, { isPrepared: true, secrets });
    other = await makePowersOfTau(POWER, { isPrepared: true, secrets: { ...secrets, tau: 19n ** 60n % BN254.r } });
  });

  const faultOf = async (bytes: Uint8Array): Promise<string> => {
    const result = await checkPowersOfTau(rangeOfBytes(bytes), pairing);
    return result.ok ? "none" : result.fault;
  };
  const changed = (change: (bytes: Uint8Array) => void): Uint8Array => {
    const bytes = sound.slice();
    change(bytes);
    return bytes;
  };
  const placeOf = (name: SectionName, index: number): { readonly at: number; readonly bytes: number } => {
    const section = sectionOf(readLayout(rangeOfBytes(sound)), name);
    if (section === undefined) throw new Error(`no section ${name}`);
    return { at: section.offset + index * section.pointBytes, bytes: section.pointBytes };
  };
  const sectionsOf = (bytes: Uint8Array): (readonly [number, Uint8Array])[] => {
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const sections: (readonly [number, Uint8Array])[] = [];
    for (let at = 12; at < bytes.length;) {
      const size = Number(view.getBigUint64(at + 4, true));
      sections.push([view.getUint32(at, true), bytes.slice(at + 12, at + 12 + size)]);
      at += 12 + size;
    }
    return sections;
  };
  const withSection = (type: number, content: Uint8Array): Uint8Array =>
    ptauFile(sectionsOf(sound).map(([own, bytes]) => [own, own === type ? content : bytes]));

  it("accepts the file that the others are made from", async () => {
    expect(await faultOf(sound)).toBe("none");
    expect(await faultOf(ptauFile(sectionsOf(sound)))).toBe("none");
  });

  it("finds one point that is replaced by another of the subgroup, in every section", async () => {
    for (const name of POINT_SECTIONS) {
      const count = sectionOf(readLayout(rangeOfBytes(sound)), name)?.count ?? 0;
      const index = random.below(count);
      const { at, bytes } = placeOf(name, index);
      const isG1 = bytes === 2 * BN254.fqBytes;
      const point = isG1
        ? encodeG1({ x: BN254.generatorG1.x, y: BN254.q - BN254.generatorG1.y }, BN254)
        : encodeG2(
            {
              x: BN254.generatorG2.x,
              y: { c0: BN254.q - BN254.generatorG2.y.c0, c1: BN254.q - BN254.generatorG2.y.c1 },
            },
            BN254,
          );
      const fault = await faultOf(changed((file) => file.set(point, at)));
      const expected = name.startsWith("lagrange")
        ? ["lagrange_inconsistent"]
        : ["powers_inconsistent", "generator_missing", "contribution_invalid"];
      expect(expected, `${name} ${index}, seed ${seed}`).toContain(fault);
    }
  });

  it("finds a point off the curve in every section", async () => {
    for (const name of POINT_SECTIONS) {
      const count = sectionOf(readLayout(rangeOfBytes(sound)), name)?.count ?? 0;
      const { at } = placeOf(name, random.below(count));
      const fault = await faultOf(changed((file) => file.set([(file[at] ?? 0) ^ 1], at)));
      expect(fault, `${name}, seed ${seed}`).toBe("point_not_on_curve");
    }
  });

  it("finds infinity and a coordinate above the prime in every section", async () => {
    for (const name of POINT_SECTIONS) {
      const section = sectionOf(readLayout(rangeOfBytes(sound)), name);
      const { at, bytes } = placeOf(name, (section?.count ?? 1) - 1);
      const isHead = name === "betaG2";
      expect(await faultOf(changed((file) => file.fill(0, at, at + bytes))), name).toBe(
        isHead ? "point_not_on_curve" : "point_at_infinity",
      );
      expect(await faultOf(changed((file) => file.fill(0xff, at + bytes - 32, at + bytes))), name).toBe(
        isHead ? "point_not_on_curve" : "point_not_canonical",
      );
      const prime = new Uint8Array(32);
      writeBigIntLE(BN254.q, prime);
      expect(await faultOf(changed((file) => file.set(prime, at))), name).toBe(
        isHead ? "point_not_on_curve" : "point_not_canonical",
      );
    }
  });

  it("finds a point of the twist outside the subgroup", async () => {
    const outside = encodeG2(new SeededStream(Buffer.alloc(32, 7)).nextPointOnTwist(BN254), BN254);
    for (const name of ["tauG2", "lagrangeTauG2", "betaG2"] as const) {
      const count = sectionOf(readLayout(rangeOfBytes(sound)), name)?.count ?? 1;
      const { at } = placeOf(name, count - 1);
      expect(await faultOf(changed((file) => file.set(outside, at))), name).toBe("point_outside_subgroup");
    }
  });

  it("refuses other generators", async () => {
    for (const name of ["tauG1", "tauG2"] as const) {
      const [first, second] = [placeOf(name, 0), placeOf(name, 1)];
      const file = changed((bytes) => bytes.copyWithin(first.at, second.at, second.at + second.bytes));
      expect(await faultOf(file)).toBe("generator_missing");
    }
  });

  it("refuses alpha, beta, powers and Lagrange points of another file", async () => {
    const foreign = new Map(sectionsOf(other));
    const expected: Readonly<Partial<Record<SectionName, string>>> = {
      tauG1: "contribution_invalid",
      tauG2: "contribution_invalid",
      alphaTauG1: "powers_inconsistent",
      betaTauG1: "powers_inconsistent",
      contributions: "contribution_invalid",
      lagrangeTauG1: "lagrange_inconsistent",
      lagrangeTauG2: "lagrange_inconsistent",
      lagrangeAlphaTauG1: "lagrange_inconsistent",
      lagrangeBetaTauG1: "lagrange_inconsistent",
    };
    for (const [name, fault] of Object.entries(expected) as [SectionName, string][])
      expect(await faultOf(withSection(SECTION[name], foreign.get(SECTION[name]) ?? new Uint8Array())), name).toBe(
        fault,
      );
  });

  it("refuses swapped sections", async () => {
    const swapped = (a: number, b: number): Uint8Array => {
      const own = new Map(sectionsOf(sound));
      return ptauFile(
        sectionsOf(sound).map(([type, bytes]) => [type, own.get(type === a ? b : type === b ? a : type) ?? bytes]),
      );
    };
    expect(await faultOf(swapped(SECTION.alphaTauG1, SECTION.betaTauG1))).toBe("contribution_invalid");
    expect(await faultOf(swapped(SECTION.lagrangeAlphaTauG1, SECTION.lagrangeBetaTauG1))).toBe("lagrange_inconsistent");
    expect(await faultOf(swapped(SECTION.tauG1, SECTION.tauG2))).toBe("section_size");
  });

  it("refuses a file that is cut off at and around each section's bounds", async () => {
    let at = 12;
    for (const [, content] of sectionsOf(sound)) {
      for (const length of [at - 1, at, at + 11, at + 12, at + 12 + content.length - 1])
        expect(await faultOf(sound.slice(0, length)), String(length)).toBe("truncated");
      at += 12 + content.length;
    }
    expect(await faultOf(new Uint8Array())).toBe("truncated");
  });

  it("refuses sizes and numbers that lie", async () => {
    const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer);
    const faults: readonly (readonly [string, (bytes: Uint8Array) => void])[] = [
      ["truncated", (bytes) => view(bytes).setBigUint64(16, 2n ** 64n - 1n, true)],
      ["header_invalid", (bytes) => view(bytes).setUint32(24, 0xffffffff, true)],
      ["header_invalid", (bytes) => view(bytes).setUint32(24, 48, true)],
      ["power_unsupported", (bytes) => view(bytes).setUint32(24 + 36, 0, true)],
      ["power_unsupported", (bytes) => view(bytes).setUint32(24 + 36, 28, true)],
      ["section_size", (bytes) => view(bytes).setUint32(24 + 36, POWER - 1, true)],
      ["header_invalid", (bytes) => view(bytes).setUint32(24 + 40, POWER - 1, true)],
      ...[POWER + 1, 25, 26, 27, 28].map(
        (ceremonyPower) =>
          ["contribution_invalid", (bytes: Uint8Array) => view(bytes).setUint32(24 + 40, ceremonyPower, true)] as const,
      ),
      ["not_powers_of_tau", (bytes) => view(bytes).setUint32(8, 33, true)],
      ["not_powers_of_tau", (bytes) => view(bytes).setUint32(4, 2, true)],
      ["not_powers_of_tau", (bytes) => bytes.set(Buffer.from("zkey"))],
      ["trailing_bytes", (bytes) => view(bytes).setUint32(8, 10, true)],
    ];
    for (const [fault, change] of faults) expect(await faultOf(changed(change)), fault).toBe(fault);
    expect(await faultOf(Buffer.concat([sound, Buffer.alloc(1)]))).toBe("trailing_bytes");
    expect(await faultOf(withSection(SECTION.alphaTauG1, new Uint8Array(64)))).toBe("section_size");
  });

  it("refuses missing and repeated sections, and the other curve", async () => {
    for (const name of ["header", "tauG1", "tauG2", "alphaTauG1", "betaTauG1", "betaG2", "contributions"] as const)
      expect(await faultOf(ptauFile(sectionsOf(sound).filter(([type]) => type !== SECTION[name])))).toBe(
        "section_missing",
      );
    const sections = sectionsOf(sound);
    // Prepared in part: the sections of a prepared file are checked by each other.
    for (const name of POINT_SECTIONS.filter((each) => each.startsWith("lagrange")))
      expect(await faultOf(ptauFile(sections.filter(([type]) => type !== SECTION[name])))).toBe("section_missing");
    expect(await faultOf(ptauFile([...sections, ...sections.slice(-1)]))).toBe("section_repeated");
    const header = Buffer.alloc(60);
    header.writeUInt32LE(48, 0);
    writeBigIntLE(BLS12_381.q, header, 4, 48);
    header.writeUInt32LE(POWER, 52);
    header.writeUInt32LE(POWER, 56);
    expect(await faultOf(withSection(SECTION.header, header))).toBe("curve_unsupported");
  });

  it("clears the cofactor of BN254's twist alone", () => {
    expect(() => clearCofactorG2(BLS12_381, BLS12_381.generatorG2)).toThrow(RangeError);
  });

  it("refuses secrets that everyone knows", async () => {
    for (const known of [{ tau: 1n }, { tau: rootOfUnity(BN254, POWER) }, { alpha: 1n }, { beta: 1n }])
      expect(
        await faultOf(await makePowersOfTau(POWER, { isPrepared: false, secrets: { ...secrets, ...known } })),
      ).toBe("secret_trivial");
  });

  it("refuses contributions that are changed in any byte that counts", async () => {
    const { contributions } = readLayout(rangeOfBytes(sound));
    // Points and keys, the chain of the response's hash, the next challenge; the name is free, and so are bytes of the
    // hash's state that nothing reads.
    const ranges = [
      [4, 1216],
      [4 + 1216 + 128, 64],
      [4 + 1216 + 216, 64],
    ] as const;
    for (let i = 0; i < 9; i += 1) {
      const [from, length] = ranges[i % 3] ?? ranges[0];
      const at = contributions.offset + from + random.below(length);
      const fault = await faultOf(changed((bytes) => bytes.set([(bytes[at] ?? 0) ^ 0x10], at)));
      expect(["contributions_malformed", "contribution_invalid", "challenge_inconsistent"], `${at}, ${seed}`).toContain(
        fault,
      );
    }
  });

  it("refuses or accepts random bytes in the file's heads, and never throws", async () => {
    for (let i = 0; i < 100; i += 1) {
      const at = random.below(100);
      const result = await checkPowersOfTau(
        rangeOfBytes(changed((bytes) => bytes.set([random.below(256)], at))),
        pairing,
      );
      expect(typeof result.ok, `seed ${seed}`).toBe("boolean");
    }
  });
});
