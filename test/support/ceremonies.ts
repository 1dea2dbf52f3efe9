/** Ceremonies in memory: first keys, contributions by snarkjs and by us, and keys that a cheat would hand in. */
import { makePowersOfTau } from "../../bench/full-powers-of-tau.js";
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import type { RangeTarget } from "../../src/engine/groth16/ceremony/scale-jobs.js";
import { contributeToKey } from "../../src/engine/groth16/ceremony/contribute-to-key.js";
import type { ContributionRequest } from "../../src/engine/groth16/ceremony/contribute-to-key.js";
import { readCeremonyKey } from "../../src/engine/groth16/ceremony/ceremony-key.js";
import type { CeremonyKey, KeySectionName } from "../../src/engine/groth16/ceremony/ceremony-key.js";
import { KernelMultiples } from "../../src/engine/groth16/ceremony/kernel-multiples.js";
import { contribute, writeTranscript } from "../../src/engine/groth16/phases/phase2.js";
import type { Delta, Phase2Transcript } from "../../src/engine/groth16/phases/phase2.js";
import { ZKEY_SECTION, headerOffsets } from "../../src/engine/groth16/zkey-layout.js";
import { encodeG1, encodeG2 } from "../../src/engine/curves/points.js";
import { inverse } from "../../src/engine/field/prime-field.js";
import { PointScaler } from "../../src/engine/kernels/msm/scale-points.js";
import { rangeOfBytes } from "../../src/engine/powers-of-tau/range-file.js";
import { r1csFile } from "./groth16-fixtures.js";
import type { Fixture } from "./groth16-fixtures.js";

export interface MemoryFile {
  readonly type: "mem";
  data?: Uint8Array;
}

/** The part of snarkjs that ceremonies use. */
export interface SnarkjsZkey {
  newZKey(r1cs: MemoryFile, ptau: MemoryFile, zkey: MemoryFile): Promise<Uint8Array>;
  contribute(from: MemoryFile, to: MemoryFile, name: string, entropy: string): Promise<Uint8Array>;
  beacon(from: MemoryFile, to: MemoryFile, name: string, hash: string, iterationsLog: number): Promise<Uint8Array>;
  verifyFromR1cs(r1cs: MemoryFile, ptau: MemoryFile, zkey: MemoryFile): Promise<boolean>;
  verifyFromInit(init: MemoryFile, ptau: MemoryFile, zkey: MemoryFile): Promise<boolean>;
}

export const memoryFile = (data?: Uint8Array): MemoryFile =>
  data === undefined ? { type: "mem" } : { type: "mem", data: Uint8Array.from(data) };

export interface StartedCeremony {
  readonly snarkjs: SnarkjsZkey;
  readonly r1cs: Uint8Array;
  readonly ptau: Uint8Array;
  readonly initial: Uint8Array;
}

/** Makes the first key of a circuit by snarkjs; under a second for 2^5. */
export async function startCeremony(fixture: Fixture, power: number): Promise<StartedCeremony> {
  const snarkjs = (await primeSnarkjs()).zKey as unknown as SnarkjsZkey;
  const ptau = await makePowersOfTau(power, { isPrepared: true });
  const r1cs = r1csFile(fixture);
  const initial = memoryFile();
  await snarkjs.newZKey(memoryFile(r1cs), memoryFile(ptau), initial);
  return { snarkjs, r1cs, ptau, initial: initial.data! };
}

/** A file in memory that is written in ranges. */
export class MemoryTarget implements RangeTarget {
  #bytes = new Uint8Array(1 << 16);
  #end = 0;

  write(source: Uint8Array, offset: number): void {
    const end = offset + source.length;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(2 * end);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes.set(source, offset);
    this.#end = Math.max(this.#end, end);
  }

  get written(): Uint8Array {
    return this.#bytes.slice(0, this.#end);
  }
}

/** Contributes by our kernels. */
export async function contributeOurs(key: Uint8Array, request: ContributionRequest = {}): Promise<Uint8Array> {
  const target = new MemoryTarget();
  await contributeToKey({ source: rangeOfBytes(key), target }, request);
  return target.written;
}

/** Contributes by snarkjs. */
export async function contributeSnarkjs(
  { snarkjs }: Pick<StartedCeremony, "snarkjs">,
  key: Uint8Array,
  name = "theirs",
): Promise<Uint8Array> {
  const to = memoryFile();
  await snarkjs.contribute(memoryFile(key), to, name, "some text");
  return to.data!;
}

/** Returns a copy of a section's content. */
export function sectionOf(key: Uint8Array, name: KeySectionName): Uint8Array {
  const { offset, size } = readCeremonyKey(rangeOfBytes(key)).sections[name];
  return key.slice(offset, offset + size);
}

/** Returns a key with other content in a section, of any length. */
export function withSection(key: Uint8Array, name: KeySectionName, content: Uint8Array): Uint8Array {
  const { offset, size } = readCeremonyKey(rangeOfBytes(key)).sections[name];
  const made = Buffer.concat([key.subarray(0, offset), content, key.subarray(offset + size)]);
  if (made.readUInt32LE(offset - 12) !== ZKEY_SECTION[name]) throw new Error("the section is not where it was");
  made.writeBigUInt64LE(BigInt(content.length), offset - 8);
  return Uint8Array.from(made);
}

/** Returns a key with another delta and another transcript. */
export function withTranscript(key: Uint8Array, delta: Delta, transcript: Phase2Transcript): Uint8Array {
  const header = sectionOf(key, "header");
  const at = headerOffsets(BN254);
  header.set(encodeG1(delta.g1, BN254), at.deltaG1);
  header.set(encodeG2(delta.g2, BN254), at.deltaG2);
  return withSection(withSection(key, "header", header), "contributions", writeTranscript(transcript, BN254));
}

/** Contributes a secret that the caller names, as nobody honest does. */
export function contributeSecret(key: Uint8Array, secret: bigint, change: Partial<CeremonyKey> = {}): Uint8Array {
  const read = { ...readCeremonyKey(rangeOfBytes(key)), ...change };
  const { delta, transcript } = contribute(new KernelMultiples(BN254), read, { secret }, { name: "named" });
  const scaler = new PointScaler(BN254, inverse(secret, BN254.r));
  let made = withTranscript(key, delta, transcript);
  for (const name of ["c", "h"] as const) {
    const points = sectionOf(key, name);
    scaler.scale(points, points);
    made = withSection(made, name, points);
  }
  return made;
}
