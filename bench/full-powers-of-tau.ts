/**
 * Makes a powers-of-tau file with everything that a published one has, in seconds: its secrets are known, so it is good
 * for measuring and for tests and for nothing else. It has one contribution, which `snarkjs powersoftau verify` accepts.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { BN254 } from "../src/engine/curves/bn254.js";
import { rootOfUnity } from "../src/engine/curves/curve-parameters.js";
import { encodeG1, encodeG2 } from "../src/engine/curves/points.js";
import type { G1Point, G2Point } from "../src/engine/curves/points.js";
import { randomNonZero, writeBigIntLE } from "../src/engine/field/bytes.js";
import { power as powerModulo } from "../src/engine/field/prime-field.js";
import { cutIntoJobs, runFixedBaseJobs } from "../src/engine/groth16/fixed-base-work.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../src/engine/kernels/kernels.js";
import { Arena } from "../src/engine/kernels/wasm/arena.js";
import { lagrangeValues } from "../src/engine/plonk/lagrange.js";
import { firstChallenge, hashChallenge } from "../src/engine/powers-of-tau/challenge-hash.js";
import { challengePoint } from "../src/engine/powers-of-tau/contribution-checks.js";
import { readContributions } from "../src/engine/powers-of-tau/contributions.js";
import { SECTION, readLayout } from "../src/engine/powers-of-tau/file-layout.js";
import { rangeOfBytes } from "../src/engine/powers-of-tau/range-file.js";
import { loadReferenceKernels } from "../src/engine/reference/reference-kernels.js";
import type { CurveKernels } from "../src/engine/curves/curve-kernels.js";
import { benchFolder, keepFile } from "./circuits.js";

const { r, q } = BN254;

interface Secrets {
  readonly tau: bigint;
  readonly alpha: bigint;
  readonly beta: bigint;
}

/** Path of a file of that power with all Lagrange sections; made on first use, about 15 s for 2^16. */
export async function fullPowersOfTau(power: number): Promise<string> {
  const path = join(benchFolder(), `full-tau-v1-${String(power)}.ptau`);
  if (!existsSync(path)) keepFile(path, await makePowersOfTau(power, { isPrepared: true }));
  return path;
}

/** Makes a file's bytes from secrets that are drawn here unless they are given. */
export async function makePowersOfTau(
  power: number,
  { isPrepared, secrets = drawSecrets() }: { readonly isPrepared: boolean; readonly secrets?: Secrets },
): Promise<Uint8Array> {
  const { tau, alpha, beta } = secrets;
  const size = 2 ** power;
  const powers = powersOf(tau, 2 * size - 1);
  const times = (values: readonly bigint[], factor: bigint): bigint[] => values.map((value) => (value * factor) % r);
  const sections: [number, Uint8Array][] = [
    [SECTION.header, header(power)],
    [SECTION.tauG1, multiples("G1", powers)],
    [SECTION.tauG2, multiples("G2", powers.slice(0, size))],
    [SECTION.alphaTauG1, multiples("G1", times(powers.slice(0, size), alpha))],
    [SECTION.betaTauG1, multiples("G1", times(powers.slice(0, size), beta))],
    [SECTION.betaG2, multiples("G2", [beta])],
  ];
  const { bytes, nextChallengeAt } = await contribution(power, secrets);
  sections.push([SECTION.contributions, bytes]);
  if (isPrepared) {
    const levels = Array.from({ length: power + 1 }, (_, level) => lagrangeAt(tau, level)).flat();
    sections.push(
      [SECTION.lagrangeTauG1, multiples("G1", [...levels, ...truncatedLevel(powers, power + 1, tau)])],
      [SECTION.lagrangeTauG2, multiples("G2", levels)],
      [SECTION.lagrangeAlphaTauG1, multiples("G1", times(levels, alpha))],
      [SECTION.lagrangeBetaTauG1, multiples("G1", times(levels, beta))],
    );
  }
  const file = ptauFile(sections);
  setNextChallenge(file, nextChallengeAt);
  return file;
}

/** Puts sections into a file, in the order given. */
export function ptauFile(sections: readonly (readonly [number, Uint8Array])[]): Uint8Array {
  const u32 = (...values: readonly number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer);
  const parts = sections.flatMap(([type, content]) => [u32(type, content.length, 0), content]);
  return Uint8Array.from(Buffer.concat([Buffer.from("ptau"), u32(1, sections.length), ...parts]));
}

/** Writes the hash of the file's points into its last contribution. */
function setNextChallenge(file: Uint8Array, at: number): void {
  const layout = readLayout(rangeOfBytes(file));
  const kernels = loadKernels();
  const arena = new Arena(KERNEL_RESERVED_BYTES, kernels.memory.buffer.byteLength);
  const { offset } = layout.contributions;
  const responseHash = responseHashOf(file.subarray(offset, offset + layout.contributions.size));
  const sections = layout.points.filter(({ name }) => !name.startsWith("lagrange"));
  const hash = hashChallenge(kernels, arena, rangeOfBytes(file), { kind: "challenge", responseHash, sections });
  file.set(hash, offset + at);
}

function responseHashOf(section: Uint8Array): Uint8Array {
  const [contribution] = readContributions(section, BN254);
  if (contribution === undefined) throw new Error("the file has no contribution");
  return contribution.responseHash;
}

/** A contribution that leads from the generators to the secrets, with a hash to be filled in. */
async function contribution(
  power: number,
  secrets: Secrets,
): Promise<{ readonly bytes: Uint8Array; readonly nextChallengeAt: number }> {
  const kernels = await loadReferenceKernels();
  const { generatorG1, generatorG2 } = BN254;
  const challenge = firstChallenge(BN254, power);
  if (challenge === undefined) throw new RangeError("no challenge of that power is known");
  const keys = [secrets.tau, secrets.alpha, secrets.beta].map((secret, i) => {
    const s = multiplyG1(kernels, generatorG1, randomNonZero(r));
    const sx = multiplyG1(kernels, s, secret);
    return { s, sx, spx: multiplyG2(kernels, challengePoint(BN254, i, challenge, { s, sx }), secret) };
  });
  const g1 = (point: G1Point): Uint8Array => encodeG1(point, BN254);
  const g2 = (point: G2Point): Uint8Array => encodeG2(point, BN254);
  const name = Buffer.from("known secrets");
  const points = Buffer.concat([
    g1(multiplyG1(kernels, generatorG1, secrets.tau)),
    g2(multiplyG2(kernels, generatorG2, secrets.tau)),
    g1(multiplyG1(kernels, generatorG1, secrets.alpha)),
    g1(multiplyG1(kernels, generatorG1, secrets.beta)),
    g2(multiplyG2(kernels, generatorG2, secrets.beta)),
    ...keys.flatMap(({ s, sx }) => [g1(s), g1(sx)]),
    ...keys.map(({ spx }) => g2(spx)),
  ]);
  // The state of the response's hash may be any: nobody has the response any more.
  const state = Buffer.alloc(216);
  const count = Buffer.from([1, 0, 0, 0]);
  const rest = Buffer.concat([
    Buffer.alloc(64),
    Buffer.from([0, 0, 0, 0, 2 + name.length, 0, 0, 0, 1, name.length]),
    name,
  ]);
  return { bytes: Buffer.concat([count, points, state, rest]), nextChallengeAt: 4 + points.length + state.length };
}

function drawSecrets(): Secrets {
  return { tau: randomNonZero(r), alpha: randomNonZero(r), beta: randomNonZero(r) };
}

function multiplyG1(kernels: CurveKernels, point: G1Point, scalar: bigint): G1Point {
  const product = kernels.combineG1([{ point, scalar }]);
  if (product === undefined) throw new RangeError("a product is infinity");
  return product;
}

function multiplyG2(kernels: CurveKernels, point: G2Point, scalar: bigint): G2Point {
  const product = kernels.combineG2([{ point, scalar }]);
  if (product === undefined) throw new RangeError("a product is infinity");
  return product;
}

function multiples(group: "G1" | "G2", scalars: readonly bigint[]): Uint8Array {
  const pointBytes = (group === "G1" ? 2 : 4) * BN254.fqBytes;
  const input = new SharedArrayBuffer(BN254.frBytes * scalars.length);
  const output = new SharedArrayBuffer(pointBytes * scalars.length);
  const bytes = new Uint8Array(input);
  for (const [i, scalar] of scalars.entries()) writeBigIntLE(scalar, bytes, i * BN254.frBytes);
  const jobs = cutIntoJobs({ group, scalarsAt: 0, outputAt: 0, count: scalars.length }, BN254);
  const work = { curve: BN254.name, jobs, scalars: input, output, next: new SharedArrayBuffer(4) };
  runFixedBaseJobs(work, 1, () => undefined);
  return Uint8Array.from(new Uint8Array(output));
}

function lagrangeAt(tau: bigint, level: number): bigint[] {
  const size = 2n ** BigInt(level);
  const root = rootOfUnity(BN254, level);
  return lagrangeValues({ xi: tau, xiToN: powerModulo(tau, size, r), root, size, order: r }, Number(size));
}

/**
 * The level above the power, for which the last power is missing and counts as 0: each Lagrange value lacks its share of
 * it, root^i / size * tau^(size - 1), because root^(-i (size - 1)) = root^i.
 */
function truncatedLevel(powers: readonly bigint[], level: number, tau: bigint): bigint[] {
  const size = 2n ** BigInt(level);
  const last = ((powers.at(-1) ?? 0n) * tau) % r;
  const share = (last * powerModulo(size, r - 2n, r)) % r;
  const roots = powersOf(rootOfUnity(BN254, level), Number(size));
  return lagrangeAt(tau, level).map((value, i) => (((value - share * (roots[i] ?? 0n)) % r) + r) % r);
}

function powersOf(base: bigint, count: number): bigint[] {
  const powers = [1n];
  for (let i = 1; i < count; i += 1) powers.push(((powers[i - 1] ?? 0n) * base) % r);
  return powers;
}

/** field bytes u32 || q || power u32 || power of the ceremony u32 */
function header(power: number): Uint8Array {
  const bytes = Buffer.alloc(44);
  bytes.writeUInt32LE(32, 0);
  writeBigIntLE(q, bytes, 4);
  bytes.writeUInt32LE(power, 36);
  bytes.writeUInt32LE(power, 40);
  return bytes;
}
