/**
 * Makes a prepared powers-of-tau file for the peer's setup in seconds instead of the hours that `snarkjs powersoftau
 * prepare phase2` takes: tau is drawn here and therefore known, so the file is good for measuring and for nothing else.
 * Only the parts that `snarkjs groth16 setup` and `snarkjs plonk setup` read for one domain size are filled in.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { BN254 } from "../src/engine/curves/bn254.js";
import { rootOfUnity } from "../src/engine/curves/curve-parameters.js";
import { cutIntoJobs, runFixedBaseJobs } from "../src/engine/groth16/fixed-base-work.js";
import { randomNonZero, writeBigIntLE } from "../src/engine/field/bytes.js";
import { inverse } from "../src/engine/field/prime-field.js";
import { benchFolder, keepFile } from "./circuits.js";

const { r, q } = BN254;
const G1_BYTES = 64,
  G2_BYTES = 128;
/** ptau sections: powers, then the same in the Lagrange basis of every domain size, smallest first. */
const SECTION = {
  header: 1,
  tauG1: 2,
  tauG2: 3,
  alphaTauG1: 4,
  betaTauG1: 5,
  betaG2: 6,
  lagrangeTauG1: 12,
  lagrangeTauG2: 13,
  lagrangeAlphaG1: 14,
  lagrangeBetaG1: 15,
} as const;

/** Path of a prepared file for circuits with a domain of exactly 2^power; made on first use, about 10 s for 2^17. */
export function preparedPowersOfTau(power: number): string {
  const path = join(benchFolder(), `known-tau-v2-${String(power)}.ptau`);
  if (existsSync(path)) return path;
  const [tau, alpha, beta] = [randomNonZero(r), randomNonZero(r), randomNonZero(r)];
  const size = 2 ** power;
  const g1 = (scalars: readonly bigint[]): Uint8Array => multiples("G1", G1_BYTES, scalars);
  const g2 = (scalars: readonly bigint[]): Uint8Array => multiples("G2", G2_BYTES, scalars);
  const lagrange = lagrangeAt(tau, power),
    finer = lagrangeAt(tau, power + 1);
  const times = (factor: bigint): bigint[] => lagrange.map((value) => (value * factor) % r);
  const sections = new Map<number, Uint8Array>([
    [SECTION.header, header(power)],
    [SECTION.tauG1, g1(powersOf(tau, 2 * size - 1))],
    [SECTION.tauG2, g2([1n, tau])],
    [SECTION.alphaTauG1, g1([alpha])],
    [SECTION.betaTauG1, g1([beta])],
    [SECTION.betaG2, g2([beta])],
    // Level p of a Lagrange section begins after the 2^p - 1 points of the smaller levels.
    [SECTION.lagrangeTauG1, Buffer.concat([new Uint8Array((size - 1) * G1_BYTES), g1(lagrange), g1(finer)])],
    [SECTION.lagrangeTauG2, Buffer.concat([new Uint8Array((size - 1) * G2_BYTES), g2(lagrange)])],
    [SECTION.lagrangeAlphaG1, Buffer.concat([new Uint8Array((size - 1) * G1_BYTES), g1(times(alpha))])],
    [SECTION.lagrangeBetaG1, Buffer.concat([new Uint8Array((size - 1) * G1_BYTES), g1(times(beta))])],
  ]);
  keepFile(path, binaryFile("ptau", sections));
  return path;
}

/**
 * Path of a file with `count` powers of a known tau, which stands for a ceremony of 2^(power + 4): all that `snarkjs
 * fflonk setup` reads for a domain of 2^power. About 10 s for 2^15.
 */
export function plainPowersOfTau(power: number, count: number): string {
  const path = join(benchFolder(), `known-tau-powers-v1-${String(count)}.ptau`);
  if (existsSync(path)) return path;
  const tau = randomNonZero(r);
  const sections = new Map<number, Uint8Array>([
    [SECTION.header, header(power + 4)],
    [SECTION.tauG1, multiples("G1", G1_BYTES, powersOf(tau, count))],
    [SECTION.tauG2, multiples("G2", G2_BYTES, [1n, tau])],
    // snarkjs only looks whether the file is prepared.
    [SECTION.lagrangeTauG1, new Uint8Array(G1_BYTES)],
  ]);
  keepFile(path, binaryFile("ptau", sections));
  return path;
}

function multiples(group: "G1" | "G2", pointBytes: number, scalars: readonly bigint[]): Uint8Array {
  const [input, output] = [
    new SharedArrayBuffer(32 * scalars.length),
    new SharedArrayBuffer(pointBytes * scalars.length),
  ];
  new Uint8Array(input).set(scalarBytes(scalars));
  runFixedBaseJobs(
    {
      curve: BN254.name,
      jobs: cutIntoJobs({ group, scalarsAt: 0, outputAt: 0, count: scalars.length }, BN254),
      scalars: input,
      output,
      next: new SharedArrayBuffer(4),
    },
    1,
    () => undefined,
  );
  return new Uint8Array(output);
}

function lagrangeAt(tau: bigint, power: number): bigint[] {
  const size = 2 ** power,
    root = rootOfUnity(BN254, power);
  const nodes = powersOf(root, size);
  let vanishing = tau;
  for (let i = 0; i < power; i += 1) vanishing = (vanishing * vanishing) % r;
  const scale = ((vanishing - 1n + r) * inverse(BigInt(size), r)) % r;
  const inverses = invertAll(nodes.map((node) => (tau - node + r) % r));
  return nodes.map((node, i) => (((scale * node) % r) * (inverses[i] ?? 0n)) % r);
}

function powersOf(base: bigint, count: number): bigint[] {
  const powers = [1n];
  for (let i = 1; i < count; i += 1) powers.push(((powers[i - 1] ?? 0n) * base) % r);
  return powers;
}

function invertAll(values: readonly bigint[]): bigint[] {
  const products = [1n];
  for (const value of values) products.push(((products.at(-1) ?? 1n) * value) % r);
  let rest = inverse(products.at(-1) ?? 1n, r);
  const inverses = new Array<bigint>(values.length);
  for (let i = values.length - 1; i >= 0; i -= 1) {
    inverses[i] = (rest * (products[i] ?? 1n)) % r;
    rest = (rest * (values[i] ?? 1n)) % r;
  }
  return inverses;
}

function scalarBytes(scalars: readonly bigint[]): Uint8Array {
  const bytes = new Uint8Array(scalars.length * 32);
  scalars.forEach((scalar, i) => {
    writeBigIntLE(scalar, bytes, i * 32);
  });
  return bytes;
}

/** field bytes u32 || q || power u32 || power of the ceremony u32 */
function header(power: number): Uint8Array {
  const bytes = new Uint8Array(44);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 32, true);
  writeBigIntLE(q, bytes, 4);
  view.setUint32(36, power, true);
  view.setUint32(40, power, true);
  return bytes;
}

function binaryFile(magic: string, sections: ReadonlyMap<number, Uint8Array>): Uint8Array {
  const head = new Uint8Array(12);
  head.set(Buffer.from(magic));
  new DataView(head.buffer).setUint32(4, 1, true);
  new DataView(head.buffer).setUint32(8, sections.size, true);
  const parts = [...sections].flatMap(([type, content]) => {
    const start = new Uint8Array(12),
      view = new DataView(start.buffer);
    view.setUint32(0, type, true);
    view.setBigUint64(4, BigInt(content.length), true);
    return [start, content];
  });
  return Buffer.concat([head, ...parts]);
}
