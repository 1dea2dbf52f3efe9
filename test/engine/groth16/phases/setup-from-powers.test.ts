/** Keys whose phase 1 is a powers-of-tau file, against snarkjs: it verifies ours against circuit and file, and we its. */
import { beforeAll, describe, expect, it } from "vitest";
import { primeSnarkjs } from "../../../../src/engine/backends/snarkjs.js";
import { readR1cs } from "../../../../src/engine/circuit/r1cs.js";
import type { CurveKernels } from "../../../../src/engine/curves/curve-kernels.js";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import {
  Phase2Error,
  checkTranscript,
  contributionHash,
  readTranscript,
  writeTranscript,
} from "../../../../src/engine/groth16/phases/phase2.js";
import { setupFromPowers } from "../../../../src/engine/groth16/phases/setup-from-powers.js";
import { proveGroth16, publicSignalsOf } from "../../../../src/engine/groth16/prove.js";
import { readProvingKey, verifyingKeyOf } from "../../../../src/engine/groth16/proving-key.js";
import { prepareWith, verifyGroth16 } from "../../../../src/engine/groth16/verify.js";
import { openPowersOfTau } from "../../../../src/engine/powers-of-tau/lagrange-points.js";
import { rangeOfBytes } from "../../../../src/engine/powers-of-tau/range-file.js";
import { loadReferenceKernels } from "../../../../src/engine/reference/reference-kernels.js";
import { chainFixture, cubicFixture, mixedFixture, r1csFile } from "../../../support/groth16-fixtures.js";
import type { Fixture } from "../../../support/groth16-fixtures.js";
import { snarkjsPowersOfTau } from "../../../support/powers-of-tau.js";
import type { SnarkjsCeremony } from "../../../support/powers-of-tau.js";
import { seededRandom } from "../../../support/seeded.js";

const POWER = 5;
interface MemoryFile {
  readonly type: "mem";
  data?: Uint8Array;
}
interface SnarkjsZkey {
  verifyFromR1cs(r1cs: MemoryFile, ptau: MemoryFile, zkey: MemoryFile): Promise<boolean>;
  newZKey(r1cs: MemoryFile, ptau: MemoryFile, zkey: MemoryFile): Promise<Uint8Array>;
  contribute(from: MemoryFile, to: MemoryFile, name: string, entropy: string): Promise<Uint8Array>;
  beacon(from: MemoryFile, to: MemoryFile, name: string, hash: string, iterationsLog: number): Promise<Uint8Array>;
}

const file = (data?: Uint8Array): MemoryFile => (data === undefined ? { type: "mem" } : { type: "mem", data });

describe("a setup from powers of tau", () => {
  let kernels: CurveKernels;
  let ceremony: SnarkjsCeremony;
  let snarkjs: SnarkjsZkey;
  const random = seededRandom();
  const fixtures: readonly (readonly [string, Fixture])[] = [
    ["a small circuit", cubicFixture(3n)],
    ["a circuit that fills the file's domain", chainFixture(2 ** POWER - 3)],
    ["a circuit whose domain is smaller than the file's", chainFixture(6)],
    ["a circuit with every kind of row", mixedFixture(20, random)],
  ];

  beforeAll(async () => {
    kernels = await loadReferenceKernels(BN254);
    ceremony = await snarkjsPowersOfTau(POWER);
    snarkjs = (await primeSnarkjs()).zKey as unknown as SnarkjsZkey;
  });

  const make = async (fixture: Fixture, bytes: Uint8Array): Promise<Uint8Array> =>
    Uint8Array.from(await setupFromPowers(readR1cs(r1csFile(fixture)), openPowersOfTau(rangeOfBytes(bytes))));
  const verify = async (fixture: Fixture, zkey: Uint8Array): Promise<boolean> =>
    await snarkjs.verifyFromR1cs(file(r1csFile(fixture)), file(ceremony.prepared), file(zkey));

  it.each(fixtures)("makes a key of %s that snarkjs verifies and that proves", async (_, fixture) => {
    const zkey = await make(fixture, ceremony.prepared);
    expect(await verify(fixture, zkey), `seed ${random.seed}`).toBe(true);
    const key = readProvingKey(zkey);
    const proof = await proveGroth16(key, fixture.witness);
    const prepared = prepareWith(kernels, verifyingKeyOf(key));
    expect(verifyGroth16(prepared, proof, publicSignalsOf(key, fixture.witness))).toBe(true);
  });

  it("makes the same points from a file that is not prepared", async () => {
    const fixture = chainFixture(6);
    const [one, other] = [ceremony.prepared, ceremony.contributed].map((bytes) => make(fixture, bytes));
    const [prepared, plain] = [readProvingKey(await one!), readProvingKey(await other!)];
    for (const name of ["icPoints", "aPoints", "b1Points", "b2Points", "circuitHash"] as const)
      expect(Buffer.from(plain[name]), name).toEqual(Buffer.from(prepared[name]));
    expect(await verify(fixture, await other!)).toBe(true);
  });

  it("is refused by snarkjs with the points of another key in any section", async () => {
    const fixture = chainFixture(6);
    const [zkey, other] = [await make(fixture, ceremony.prepared), await make(fixture, ceremony.prepared)];
    const own = readProvingKey(zkey);
    const theirs = readProvingKey(other);
    for (const name of ["cPoints", "hPoints"] as const) {
      const changed = Uint8Array.from(zkey);
      changed.set(theirs[name].subarray(0, 64), own[name].byteOffset);
      expect(await verify(fixture, changed), name).toBe(false);
    }
  });

  it("has the transcript of snarkjs, which goes on from ours and we from its", async () => {
    const fixture = cubicFixture(3n);
    const [second, third] = [file(), file()];
    await snarkjs.contribute(file(await make(fixture, ceremony.prepared)), second, "second", "some text");
    const hash = await snarkjs.beacon(second, third, "the end", "0102030405", 10);
    expect(await verify(fixture, third.data!)).toBe(true);
    const { key, transcript, section } = readKey(third.data!);
    checkTranscript(kernels, transcript, { g1: key.deltaG1, g2: key.deltaG2 });
    expect(transcript.contributions.map(({ name }) => name)).toEqual(["Proofwright", "second", "the end"]);
    expect(Buffer.from(contributionHash(transcript.contributions[2]!, BN254))).toEqual(Buffer.from(hash));
    expect(Buffer.from(writeTranscript(transcript, BN254))).toEqual(Buffer.from(section));
  });

  it("does not accept a transcript that was changed, cut or put in another order", async () => {
    const second = file();
    await snarkjs.contribute(file(await make(cubicFixture(3n), ceremony.prepared)), second, "", "some text");
    const { key, transcript, section } = readKey(second.data!);
    const delta = { g1: key.deltaG1, g2: key.deltaG2 };
    const [first, last] = transcript.contributions;
    const check = (contributions: typeof transcript.contributions): void => {
      checkTranscript(kernels, { ...transcript, contributions }, delta);
    };
    expect(() => {
      check([first!]);
    }).toThrow("does not lead to the key's delta");
    expect(() => {
      check([last!, first!]);
    }).toThrow("contribution 1 does not answer");
    expect(() => {
      check([first!, { ...last!, delta: first!.delta }]);
    }).toThrow("contribution 2 does not follow");
    expect(() => {
      check([first!, { ...last!, spd: first!.spd }]);
    }).toThrow("contribution 2 does not prove");
    expect(() => {
      checkTranscript(kernels, { ...transcript, circuitHash: new Uint8Array(64) }, delta);
    }).toThrow("contribution 1 does not answer");
    for (let length = 0; length < section.length; length += 1)
      expect(() => readTranscript(section.slice(0, length), BN254)).toThrow(Phase2Error);
    expect(() => readTranscript(Buffer.concat([section, Buffer.alloc(1)]), BN254)).toThrow("bytes follow");
  });
});

function readKey(zkey: Uint8Array) {
  const key = readProvingKey(zkey);
  return { key, section: key.contributions, transcript: readTranscript(key.contributions, BN254) };
}
