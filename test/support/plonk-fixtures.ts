/** What the tests of PLONK share: files for snarkjs, made from the engine's own setup and witnesses. */
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import type { CurveParameters } from "../../src/engine/curves/curve-parameters.js";
import { encodeG2 } from "../../src/engine/curves/points.js";
import { randomNonZero, writeBigIntLE } from "../../src/engine/field/bytes.js";
import type { PlonkSetupPoints } from "../../src/engine/kernels/plonk/build-plonk-key.js";
import { BLINDING_COUNT } from "../../src/engine/kernels/plonk/plonk-layout.js";
import type { PlonkProofJson } from "../../src/engine/encoding/plonk-proof.js";
import type { PlonkVerifyingKeyJson } from "../../src/engine/encoding/plonk-verifying-key.js";
import { r1csFile } from "./groth16-fixtures.js";
import type { Fixture } from "./groth16-fixtures.js";

/** A file of snarkjs in memory. */
export interface MemoryFile {
  readonly type: "mem";
  data?: Uint8Array;
}

/** The part of snarkjs that these tests call. */
export interface SnarkjsPlonk {
  readonly plonk: {
    setup(r1cs: MemoryFile, ptau: MemoryFile, zkey: MemoryFile): Promise<number | undefined>;
    prove(
      zkey: MemoryFile,
      witness: MemoryFile,
    ): Promise<{ readonly proof: PlonkProofJson; readonly publicSignals: string[] }>;
    verify(key: PlonkVerifyingKeyJson, publicSignals: readonly string[], proof: PlonkProofJson): Promise<boolean>;
  };
  readonly zKey: { exportVerificationKey(zkey: MemoryFile): Promise<PlonkVerifyingKeyJson> };
}

/** Points of a universal setup for one domain. */
export interface PlonkTestSetup {
  readonly curve: CurveParameters;
  readonly points: PlonkSetupPoints;
  readonly domainPower: number;
}

/** snarkjs, single-threaded on the calling thread. */
export async function snarkjsPlonk(curve: CurveParameters = BN254): Promise<SnarkjsPlonk> {
  return (await primeSnarkjs(curve.name)) as unknown as SnarkjsPlonk;
}

/** snarkjs' key for a fixture, from the same setup. */
export async function snarkjsKey(
  snarkjs: SnarkjsPlonk,
  fixture: Fixture,
  setup: PlonkTestSetup,
): Promise<{ zkey: MemoryFile; verifyingKey: PlonkVerifyingKeyJson }> {
  const zkey: MemoryFile = { type: "mem" };
  const r1cs: MemoryFile = { type: "mem", data: r1csFile(fixture) };
  const failed = await snarkjs.plonk.setup(r1cs, { type: "mem", data: ptauFile(setup) }, zkey);
  if (failed !== undefined) throw new Error(`snarkjs made no key: ${String(failed)}`);
  return { zkey, verifyingKey: await snarkjs.zKey.exportVerificationKey(zkey) };
}

/** A witness as snarkjs reads it. */
export function witnessFile({ witness, r1cs }: Fixture): MemoryFile {
  return {
    type: "mem",
    data: binaryFile("wtns", 2, [
      [1, Buffer.concat([u32(32), scalar(r1cs.prime), u32(witness.length / 32)])],
      [2, witness],
    ]),
  };
}

/** Fresh blinding scalars of a proof. */
export function plonkBlinding(curve: CurveParameters = BN254): bigint[] {
  return Array.from({ length: BLINDING_COUNT }, () => randomNonZero(curve.r));
}

/** A powers-of-tau file with the sections that snarkjs reads for PLONK; the smaller domains' points are left out. */
function ptauFile({ curve, points, domainPower }: PlonkTestSetup): Uint8Array {
  const size = 2 ** domainPower;
  const generator = encodeG2(curve.generatorG2, curve);
  return binaryFile("ptau", 1, [
    [1, Buffer.concat([u32(curve.fqBytes), integer(curve.q, curve.fqBytes), u32(domainPower, domainPower)])],
    [2, points.powers],
    [3, Buffer.concat([generator, encodeG2(points.tauG2, curve)])],
    [12, Buffer.concat([new Uint8Array((size - 1) * 2 * curve.fqBytes), points.lagrange])],
  ]);
}

/** A file of sections as snarkjs reads it. */
export function binaryFile(
  magic: string,
  version: number,
  sections: readonly (readonly [number, Uint8Array])[],
): Uint8Array {
  const parts = sections.map(([type, content]) => Buffer.concat([u32(type, content.length, 0), content]));
  return Uint8Array.from(Buffer.concat([Buffer.from(magic), u32(version, sections.length), ...parts]));
}

/** Words of 32 bits, little-endian. */
export function u32(...values: readonly number[]): Buffer {
  return Buffer.from(Uint32Array.from(values).buffer);
}

/** A number as 32 bytes little-endian. */
export function scalar(value: bigint): Uint8Array {
  return integer(value, 32);
}

function integer(value: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  writeBigIntLE(value, bytes, 0, length);
  return bytes;
}
