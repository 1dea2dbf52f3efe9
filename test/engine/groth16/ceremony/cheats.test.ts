/** Every way to hand in a key that is not the one before it with one honest contribution more. */
import { beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import type { PairingKernels } from "../../../../src/engine/curves/curve-kernels.js";
import { decodeG1, encodeG1 } from "../../../../src/engine/curves/points.js";
import { readBigIntLE, writeBigIntLE } from "../../../../src/engine/field/bytes.js";
import { inverse } from "../../../../src/engine/field/prime-field.js";
import { CeremonyError } from "../../../../src/engine/groth16/ceremony/ceremony-fault.js";
import type { CeremonyFault } from "../../../../src/engine/groth16/ceremony/ceremony-fault.js";
import { readCeremonyKey } from "../../../../src/engine/groth16/ceremony/ceremony-key.js";
import type { KeySectionName } from "../../../../src/engine/groth16/ceremony/ceremony-key.js";
import { checkContribution } from "../../../../src/engine/groth16/ceremony/check-contribution.js";
import { applyBeacon } from "../../../../src/engine/groth16/ceremony/contribute-to-key.js";
import { loadPairing } from "../../../../src/engine/groth16/pairing-backend.js";
import type { Phase2Contribution } from "../../../../src/engine/groth16/phases/phase2.js";
import { headerOffsets } from "../../../../src/engine/groth16/zkey-layout.js";
import { SeededStream } from "../../../../src/engine/powers-of-tau/random-points.js";
import { rangeOfBytes } from "../../../../src/engine/powers-of-tau/range-file.js";
import {
  MemoryTarget,
  contributeOurs,
  contributeSecret,
  contributeSnarkjs,
  sectionOf,
  startCeremony,
  withSection,
  withTranscript,
} from "../../../support/ceremonies.js";
import type { StartedCeremony } from "../../../support/ceremonies.js";
import { chainFixture, mixedFixture } from "../../../support/groth16-fixtures.js";
import { seededRandom } from "../../../support/seeded.js";

const POWER = 5;
const POINT_BYTES = 2 * BN254.fqBytes;
const random = seededRandom();

describe("a key that is handed in", () => {
  let pairing: PairingKernels;
  let ceremony: StartedCeremony;
  let before: Uint8Array;
  let after: Uint8Array;

  beforeAll(async () => {
    pairing = await loadPairing("wasm");
    ceremony = await startCeremony(mixedFixture(20, random), POWER);
    before = await contributeSnarkjs(ceremony, await contributeOurs(ceremony.initial, { name: "one" }), "two");
    after = await contributeOurs(before, { name: "three" });
  });

  const faultOf = async (key: Uint8Array, old = before): Promise<CeremonyFault | "none"> => {
    try {
      await checkContribution({ before: rangeOfBytes(old), after: rangeOfBytes(key) }, pairing);
      return "none";
    } catch (error) {
      if (error instanceof CeremonyError) return error.fault;
      throw error;
    }
  };
  const changed = (name: KeySectionName, change: (content: Uint8Array) => void, key = after): Uint8Array => {
    const content = sectionOf(key, name);
    change(content);
    return withSection(key, name, content);
  };
  const contributionsOf = (key: Uint8Array): readonly Phase2Contribution[] =>
    readCeremonyKey(rangeOfBytes(key)).transcript.contributions;
  const withContributions = (key: Uint8Array, contributions: readonly Phase2Contribution[]): Uint8Array => {
    const { delta, transcript } = readCeremonyKey(rangeOfBytes(key));
    return withTranscript(key, delta, { ...transcript, contributions });
  };
  /** The place of a finite point. */
  const finiteIn = (section: Uint8Array): number => {
    for (;;) {
      const at = random.below(section.length / POINT_BYTES) * POINT_BYTES;
      if (section.subarray(at, at + POINT_BYTES).some((byte) => byte !== 0)) return at;
    }
  };

  it("passes when it is honest", async () => {
    expect(await faultOf(after), `seed ${random.seed}`).toBe("none");
  });

  it("is refused with a chain of the cheat's own, however sound in itself", async () => {
    let own = ceremony.initial;
    for (const name of ["one", "two", "three"]) own = await contributeOurs(own, { name });
    expect(await faultOf(own)).toBe("history_differs");
    const last = await contributeSnarkjs(ceremony, await contributeOurs(ceremony.initial, { name: "one" }), "two");
    expect(await faultOf(await contributeOurs(last, { name: "three" }))).toBe("history_differs");
  });

  it("is refused when contributions were dropped, repeated, exchanged or come several at once", async () => {
    const [one, two, three] = contributionsOf(after);
    expect(await faultOf(before)).toBe("contribution_missing");
    expect(await faultOf(await contributeOurs(ceremony.initial))).toBe("contribution_missing");
    expect(await faultOf(await contributeOurs(after))).toBe("contribution_extra");
    expect(await faultOf(withContributions(after, [one!, three!, two!]))).toBe("history_differs");
    expect(await faultOf(withContributions(after, [two!, one!, three!]))).toBe("history_differs");
    expect(await faultOf(withContributions(after, [one!, two!]))).toBe("contribution_missing");
    expect(await faultOf(withContributions(after, [one!, two!, two!]))).toBe("delta_trivial");
    expect(await faultOf(withContributions(before, [one!, two!, one!]))).toBe("delta_trivial");
    const renamed = { ...one!, name: "eve" };
    expect(await faultOf(withContributions(after, [renamed, two!, three!]))).toBe("history_differs");
  });

  it("is refused for another circuit, and for any other byte of this one", async () => {
    const other = await startCeremony(chainFixture(9), POWER);
    let key = other.initial;
    for (let i = 0; i < 3; i += 1) key = await contributeOurs(key);
    expect(await faultOf(key)).toBe("circuit_differs");
    for (const name of ["ic", "coefficients", "a", "b1", "b2"] as const) {
      const flip = (content: Uint8Array): void => {
        const at = random.below(content.length);
        content[at] = content[at]! ^ (1 << random.below(8));
      };
      expect(await faultOf(changed(name, flip)), `${name}, seed ${random.seed}`).toBe("circuit_differs");
    }
    const at = headerOffsets(BN254);
    const swapped = changed("header", (header) => header.copyWithin(at.alphaG1, at.betaG1, at.betaG2));
    expect(await faultOf(swapped)).toBe("circuit_differs");
    expect(await faultOf(changed("contributions", (content) => (content[0] = content[0]! ^ 1)))).toBe(
      "circuit_differs",
    );
  });

  it.each(["c", "h"] as const)("is refused with one wrong point in %s", async (name) => {
    const old = sectionOf(before, name);
    const left = changed(name, (content) => {
      const at = finiteIn(content);
      content.set(old.subarray(at, at + POINT_BYTES), at);
    });
    expect(await faultOf(left), `seed ${random.seed}`).toBe("points_inconsistent");
    const negative = changed(name, (content) => {
      const at = finiteIn(content);
      const point = decodeG1(content, at, BN254)!;
      content.set(encodeG1({ x: point.x, y: BN254.q - point.y }, BN254), at);
    });
    expect(await faultOf(negative)).toBe("points_inconsistent");
    // What cancels in a plain sum.
    const moved = changed(name, (content) => {
      const [a, b] = [finiteIn(content), finiteIn(content)];
      const [first, second] = [content.slice(a, a + POINT_BYTES), content.slice(b, b + POINT_BYTES)];
      content.set(second, a);
      content.set(first, b);
      if (Buffer.compare(first, second) === 0) content.set(old.subarray(a, a + POINT_BYTES), a);
    });
    expect(await faultOf(moved)).toBe("points_inconsistent");
    expect(await faultOf(withSection(after, name, old))).toBe("points_inconsistent");
    const zeroed = changed(name, (content) => {
      const at = finiteIn(content);
      content.fill(0, at, at + POINT_BYTES);
    });
    expect(await faultOf(zeroed)).toBe("infinity_differs");
  });

  it.each(["c", "h"] as const)("is refused with points of %s off the curve or spelled twice", async (name) => {
    const off = changed(name, (content) => {
      const at = finiteIn(content);
      content[at] = content[at]! ^ 1;
    });
    expect(await faultOf(off), `seed ${random.seed}`).toBe("point_not_on_curve");
    const alias = changed(name, (content) => {
      const at = finiteIn(content);
      writeBigIntLE(readBigIntLE(content, at) + BN254.q, content, at);
    });
    expect(await faultOf(alias)).toBe("point_not_canonical");
  });

  it("is refused when delta is infinity, spelled twice, or not the contribution's", async () => {
    const at = headerOffsets(BN254);
    expect(await faultOf(changed("header", (header) => header.fill(0, at.deltaG1, at.deltaG2)))).toBe("not_a_key");
    expect(await faultOf(changed("header", (header) => header.fill(0, at.deltaG2, at.end)))).toBe("not_a_key");
    const alias = changed("header", (header) => {
      writeBigIntLE(readBigIntLE(header, at.deltaG1) + BN254.q, header, at.deltaG1);
    });
    expect(await faultOf(alias)).toBe("not_a_key");
    const old = sectionOf(before, "header");
    const oldG1 = changed("header", (header) => header.set(old.subarray(at.deltaG1, at.deltaG2), at.deltaG1));
    expect(await faultOf(oldG1)).toBe("delta_inconsistent");
    const oldG2 = changed("header", (header) => header.set(old.subarray(at.deltaG2, at.end), at.deltaG2));
    expect(await faultOf(oldG2)).toBe("delta_inconsistent");
    const { delta, transcript } = readCeremonyKey(rangeOfBytes(after));
    const outside = { g1: delta.g1, g2: new SeededStream(new Uint8Array(32)).nextPointOnTwist(BN254) };
    expect(await faultOf(withTranscript(after, outside, transcript))).toBe("point_outside_subgroup");
  });

  it("is refused when its contribution multiplied by 1, or undid those before it", async () => {
    expect(await faultOf(contributeSecret(before, 1n))).toBe("delta_trivial");
    const known = contributeSecret(ceremony.initial, 77n);
    expect(await faultOf(known, ceremony.initial)).toBe("none");
    expect(await faultOf(contributeSecret(known, inverse(77n, BN254.r)), known)).toBe("delta_trivial");
    expect(await faultOf(contributeSecret(ceremony.initial, 1n), ceremony.initial)).toBe("delta_trivial");
  });

  it("is refused when the contribution does not prove that it knew its secret", async () => {
    const [one, two, three] = contributionsOf(after);
    const replaced = (change: Partial<Phase2Contribution>): Uint8Array =>
      withContributions(after, [one!, two!, { ...three!, ...change }]);
    expect(await faultOf(replaced({ s: one!.s, sd: one!.sd }))).toBe("transcript_inconsistent");
    expect(await faultOf(replaced({ transcript: one!.transcript }))).toBe("transcript_inconsistent");
    expect(await faultOf(replaced({ spd: one!.spd }))).toBe("proof_of_knowledge_invalid");
    const outside = new SeededStream(Uint8Array.from({ length: 32 }, (_, i) => i)).nextPointOnTwist(BN254);
    expect(await faultOf(replaced({ spd: outside }))).toBe("point_outside_subgroup");
    // Sound for another history: made from the key before the last.
    const earlier = await contributeOurs(await contributeOurs(ceremony.initial, { name: "one" }), { name: "x" });
    expect(await faultOf(withContributions(after, [one!, two!, contributionsOf(earlier)[1]!]))).toBe(
      "transcript_inconsistent",
    );
  });

  it("is refused as a beacon of another value, or of other iterations", async () => {
    const target = new MemoryTarget();
    const value = Buffer.from("0102030405060708090a0b0c0d0e0f10", "hex");
    await applyBeacon({ source: rangeOfBytes(before), target }, { name: "end", value, iterationsLog: 10 });
    const key = target.written;
    expect(await faultOf(key)).toBe("none");
    const [one, two, beacon] = contributionsOf(key);
    for (const wrong of [
      { hash: value, iterationsLog: 11 },
      { hash: Uint8Array.from([...value.subarray(1), 0]), iterationsLog: 10 },
    ])
      expect(await faultOf(withContributions(key, [one!, two!, { ...beacon!, beacon: wrong }]))).toBe("beacon_invalid");
    const [, , three] = contributionsOf(after);
    const claimed = { ...three!, beacon: { hash: value, iterationsLog: 10 } };
    expect(await faultOf(withContributions(after, [one!, two!, claimed]))).toBe("beacon_invalid");
  });

  it("is refused with a name that snarkjs would cut, and with bytes that it would not write", async () => {
    const [one, two, three] = contributionsOf(after);
    for (const name of ["x".repeat(65), ""])
      expect(await faultOf(withContributions(after, [one!, two!, { ...three!, name }]))).toBe("contribution_malformed");
    const content = sectionOf(after, "contributions");
    for (const tail of [new Uint8Array(1), content.slice(-100)])
      expect(await faultOf(withSection(after, "contributions", Buffer.concat([content, tail])))).toBe(
        "contribution_malformed",
      );
  });

  it("is refused at every length but its own", async () => {
    for (let i = 0; i < 200; i += 1) {
      const length = i < 40 ? i : random.below(after.length);
      expect(await faultOf(after.slice(0, length)), `length ${length}, seed ${random.seed}`).toBe("not_a_key");
    }
    expect(await faultOf(Buffer.concat([after, Buffer.alloc(1)]))).toBe("not_a_key");
  });

  it("is never taken with random bytes changed, and never crashes the check", async () => {
    for (let i = 0; i < 150; i += 1) {
      const key = after.slice();
      for (let changes = 1 + random.below(3); changes > 0; changes -= 1) {
        // Half of them where the frame, the header and the transcript are.
        const at = random.chance(0.5)
          ? random.below(1000)
          : key.length - 1 - random.below(random.pick([1800, key.length]));
        key[at] = (key[at]! + 1 + random.below(255)) % 256;
      }
      if (Buffer.compare(key, after) !== 0) expect(await faultOf(key), `seed ${random.seed}, ${i}`).not.toBe("none");
    }
  });
});
