/** What the tests of FFLONK share: files for snarkjs, made from the engine's own setup and witnesses. */
import { primeSnarkjs } from "../../src/engine/backends/snarkjs.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { encodeG2 } from "../../src/engine/curves/points.js";
import type { FflonkProofJson } from "../../src/engine/encoding/fflonk-proof.js";
import type { FflonkVerifyingKeyJson } from "../../src/engine/encoding/fflonk-verifying-key.js";
import { randomNonZero } from "../../src/engine/field/bytes.js";
import type { FflonkSetupPoints } from "../../src/engine/kernels/fflonk/build-fflonk-key.js";
import { FFLONK_BLINDING_COUNT } from "../../src/engine/kernels/fflonk/fflonk-layout.js";
import { r1csFile } from "./groth16-fixtures.js";
import type { Fixture } from "./groth16-fixtures.js";
import { binaryFile, scalar, u32 } from "./plonk-fixtures.js";
import type { MemoryFile } from "./plonk-fixtures.js";

/** The part of snarkjs that these tests call. */
export interface SnarkjsFflonk {
  readonly fflonk: {
    setup(r1cs: MemoryFile, ptau: MemoryFile, zkey: MemoryFile): Promise<number>;
    prove(
      zkey: MemoryFile,
      witness: MemoryFile,
    ): Promise<{ readonly proof: FflonkProofJson; readonly publicSignals: string[] }>;
    verify(key: FflonkVerifyingKeyJson, publicSignals: readonly string[], proof: FflonkProofJson): Promise<boolean>;
  };
  readonly zKey: { exportVerificationKey(zkey: MemoryFile): Promise<FflonkVerifyingKeyJson> };
}

/** snarkjs, single-threaded on the calling thread. */
export async function snarkjsFflonk(): Promise<SnarkjsFflonk> {
  return (await primeSnarkjs()) as unknown as SnarkjsFflonk;
}

/** snarkjs' key for a fixture, from the same setup. */
export async function snarkjsFflonkKey(
  snarkjs: SnarkjsFflonk,
  fixture: Fixture,
  setup: { readonly points: FflonkSetupPoints; readonly domainPower: number },
): Promise<{ zkey: MemoryFile; verifyingKey: FflonkVerifyingKeyJson }> {
  const zkey: MemoryFile = { type: "mem" };
  const r1cs: MemoryFile = { type: "mem", data: r1csFile(fixture) };
  await snarkjs.fflonk.setup(r1cs, { type: "mem", data: powersFile(setup) }, zkey);
  return { zkey, verifyingKey: await snarkjs.zKey.exportVerificationKey(zkey) };
}

/** Fresh blinding scalars of a proof. */
export function fflonkBlinding(): bigint[] {
  return Array.from({ length: FFLONK_BLINDING_COUNT }, () => randomNonZero(BN254.r));
}

/** A powers-of-tau file with the sections that snarkjs reads for FFLONK; it only asks whether the Lagrange ones exist. */
function powersFile({
  points,
  domainPower,
}: {
  readonly points: FflonkSetupPoints;
  readonly domainPower: number;
}): Uint8Array {
  const generator = encodeG2(BN254.generatorG2, BN254);
  return binaryFile("ptau", 1, [
    [1, Buffer.concat([u32(32), scalar(BN254.q), u32(domainPower + 4, domainPower + 4)])],
    [2, points.powers],
    [3, Buffer.concat([generator, encodeG2(points.tauG2, BN254)])],
    [12, new Uint8Array(64)],
  ]);
}
