/** Contributions against snarkjs, both ways: it goes on from ours and verifies them, and we check its. */
import { beforeAll, describe, expect, it } from "vitest";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import type { PairingKernels } from "../../../../src/engine/curves/curve-kernels.js";
import { encodeG1 } from "../../../../src/engine/curves/points.js";
import { CeremonyError } from "../../../../src/engine/groth16/ceremony/ceremony-fault.js";
import { readCeremonyKey } from "../../../../src/engine/groth16/ceremony/ceremony-key.js";
import { checkContribution } from "../../../../src/engine/groth16/ceremony/check-contribution.js";
import { applyBeacon, contributeToKey } from "../../../../src/engine/groth16/ceremony/contribute-to-key.js";
import { loadPairing } from "../../../../src/engine/groth16/pairing-backend.js";
import { SeededStream } from "../../../../src/engine/powers-of-tau/random-points.js";
import { rangeOfBytes } from "../../../../src/engine/powers-of-tau/range-file.js";
import {
  MemoryTarget,
  contributeOurs,
  memoryFile,
  sectionOf,
  startCeremony,
  withSection,
  withTranscript,
} from "../../../support/ceremonies.js";
import type { StartedCeremony } from "../../../support/ceremonies.js";
import { chainFixture, cubicFixture, mixedFixture } from "../../../support/groth16-fixtures.js";
import { seededRandom } from "../../../support/seeded.js";

const POWER = 5;
const VALUE = "0102030405060708090a0b0c0d0e0f10";
const random = seededRandom();

describe("contributions to keys", () => {
  let pairing: PairingKernels;
  let ceremony: StartedCeremony;

  beforeAll(async () => {
    pairing = await loadPairing("wasm");
    ceremony = await startCeremony(mixedFixture(20, random), POWER);
  });

  const check = async (before: Uint8Array, after: Uint8Array, added = 1) =>
    await checkContribution({ before: rangeOfBytes(before), after: rangeOfBytes(after) }, pairing, { added });
  const verifyBySnarkjs = async ({ snarkjs, r1cs, ptau, initial }: StartedCeremony, key: Uint8Array) => [
    await snarkjs.verifyFromR1cs(memoryFile(r1cs), memoryFile(ptau), memoryFile(key)),
    await snarkjs.verifyFromInit(memoryFile(initial), memoryFile(ptau), memoryFile(key)),
  ];

  it("alternate between snarkjs and us, and a beacon of either ends them in the same bytes", async () => {
    const { snarkjs, initial } = ceremony;
    const first = await contributeOurs(initial, { name: "ours" });
    const second = memoryFile();
    const hash = await snarkjs.contribute(memoryFile(first), second, "theirs", "some text");
    const third = await contributeOurs(second.data!, { name: "", entropy: Buffer.from("dice") });
    const [theirs, ours] = [memoryFile(), new MemoryTarget()];
    const beaconHash = await snarkjs.beacon(memoryFile(third), theirs, "the end", VALUE, 10);
    const record = await applyBeacon(
      { source: rangeOfBytes(third), target: ours },
      { name: "the end", value: Buffer.from(VALUE, "hex"), iterationsLog: 10 },
    );
    expect(Buffer.compare(ours.written, theirs.data!), `seed ${random.seed}`).toBe(0);
    expect(record).toMatchObject({ index: 4, kind: "beacon", hash: Buffer.from(beaconHash).toString("hex") });
    expect(await verifyBySnarkjs(ceremony, ours.written)).toEqual([true, true]);

    const { added, contributionCount } = await check(first, second.data!);
    expect(added).toMatchObject([{ index: 2, name: "theirs", hash: Buffer.from(hash).toString("hex") }]);
    expect(contributionCount).toBe(2);
    expect((await check(second.data!, third)).added).toMatchObject([{ index: 3, name: null, kind: "contribution" }]);
    const all = await check(initial, ours.written, 4);
    expect(all.added.map(({ name }) => name)).toEqual(["ours", "theirs", null, "the end"]);
    expect(all.added.map(({ previous_hash: previous }) => previous)).toEqual([
      all.circuitHash,
      ...all.added.slice(0, -1).map((each) => each.hash),
    ]);
  });

  it.each([
    ["a circuit that fills its domain", chainFixture(2 ** POWER - 3)],
    ["a small circuit", cubicFixture(3n)],
  ])("pass snarkjs for %s", async (_, fixture) => {
    const started = await startCeremony(fixture, POWER);
    const key = await contributeOurs(started.initial, { name: "ours" });
    expect(await verifyBySnarkjs(started, key)).toEqual([true, true]);
    await check(started.initial, key);
  });

  it("differ each time, also with the same entropy", async () => {
    const entropy = Buffer.from("the same");
    const keys = [];
    for (let i = 0; i < 3; i += 1) keys.push(await contributeOurs(ceremony.initial, { entropy }));
    const deltas = keys.map((key) => readCeremonyKey(rangeOfBytes(key)).delta.g1.x);
    expect(new Set([...deltas, BN254.generatorG1.x]).size).toBe(4);
  });

  it("keep names that snarkjs keeps, and refuse others before anything is written", async () => {
    const { snarkjs, initial } = ceremony;
    for (const name of ["Zoë 𝔾₁", "x".repeat(64), "語".repeat(64)]) {
      const ours = await contributeOurs(initial, { name });
      const theirs = memoryFile();
      await snarkjs.contribute(memoryFile(ours), theirs, "next", "some text");
      expect((await check(ours, theirs.data!)).contributionCount).toBe(2);
      expect(readCeremonyKey(rangeOfBytes(theirs.data!)).transcript.contributions[0]!.name).toBe(name);
    }
    for (const name of ["x".repeat(65), "\ufeffmark", "\ud800"]) {
      const target = new MemoryTarget();
      await expect(contributeToKey({ source: rangeOfBytes(initial), target }, { name })).rejects.toMatchObject({
        fault: "name_unsupported",
      });
      expect(target.written.length).toBe(0);
    }
  });

  it("refuse beacons that snarkjs refuses, or that nobody can repeat", async () => {
    const files = () => ({ source: rangeOfBytes(ceremony.initial), target: new MemoryTarget() });
    const value = Buffer.from(VALUE, "hex");
    for (const request of [
      { value, iterationsLog: 9 },
      { value, iterationsLog: 25 },
      { value, iterationsLog: 10.5 },
      { value: new Uint8Array(), iterationsLog: 10 },
      { value: new Uint8Array(256), iterationsLog: 10 },
    ])
      await expect(applyBeacon(files(), request)).rejects.toThrow(CeremonyError);
  });

  it("refuse keys whose points would tell the secret: off the curve, or of a small order", async () => {
    const { initial } = ceremony;
    const refusalOf = async (key: Uint8Array) => {
      const refused = contributeOurs(key).then(() => "none");
      return await refused.catch((error: unknown) => (error instanceof CeremonyError ? error.fault : error));
    };
    for (const name of ["c", "h"] as const) {
      const points = sectionOf(initial, name);
      const at = points.length - 2 * BN254.fqBytes;
      // (1, 1) lies on y^2 = x^3, where such a multiple is one of a number, and its quotient the secret.
      points.set(encodeG1({ x: 1n, y: 1n }, BN254), at);
      expect(await refusalOf(withSection(initial, name, points)), name).toBe("point_not_on_curve");
    }
    const { delta, transcript } = readCeremonyKey(rangeOfBytes(initial));
    const outside = new SeededStream(Uint8Array.from({ length: 32 }, (_, i) => i)).nextPointOnTwist(BN254);
    const key = withTranscript(initial, { ...delta, g2: outside }, transcript);
    expect(await refusalOf(key)).toBe("point_outside_subgroup");
  });

  it("report their progress up to the end", async () => {
    const shares: number[] = [];
    await contributeToKey(
      { source: rangeOfBytes(ceremony.initial), target: new MemoryTarget() },
      {},
      { onProgress: (share) => shares.push(share) },
    );
    expect(shares.at(-1)).toBe(1);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  });
});
