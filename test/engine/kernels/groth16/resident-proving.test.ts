import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { BN254 } from "../../../../src/engine/curves/bn254.js";
import { loadReferenceKernels } from "../../../../src/engine/reference/reference-kernels.js";
import { assembleProof } from "../../../../src/engine/groth16/prove.js";
import type { Groth16Proof } from "../../../../src/engine/groth16/proof.js";
import { readProvingKey } from "../../../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../../../src/engine/groth16/setup.js";
import { loadPairing } from "../../../../src/engine/groth16/pairing-backend.js";
import { prepareWith, verifyGroth16 } from "../../../../src/engine/groth16/verify.js";
import { hasTables, writeKeyTables } from "../../../../src/engine/kernels/groth16/key-tables.js";
import { ResidentProver } from "../../../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../../../../src/engine/kernels/groth16/resident-proving.js";
import { chainFixture, cubicFixture, spoilWitness } from "../../../support/groth16-fixtures.js";
import { KERNEL_KINDS, bigBelow } from "../../../support/kernels.js";
import { seededRandom } from "../../../support/seeded.js";

const random = seededRandom();
const blinding = (): { r: bigint; s: bigint } => ({
  r: 1n + bigBelow(random, BN254.r - 1n),
  s: 1n + bigBelow(random, BN254.r - 1n),
});

describe.each(KERNEL_KINDS)("Groth16 on the kernels, %s, seed " + String(random.seed), (kind) => {
  it.each([
    ["cubic", cubicFixture(3n)],
    ["one constraint", chainFixture(1)],
    ["a full domain", chainFixture(29)],
    ["1,000 constraints", chainFixture(1000)],
  ])("makes the same proof as the reference kernels for %s, and one that verifies", async (_name, fixture) => {
    const { zkey, verifyingKey } = await setupGroth16(fixture.r1cs);
    const key = readProvingKey(zkey);
    const prepared = prepareWith(await loadPairing("wasm"), verifyingKey);
    const resident = makeKeyResident(key, { workspaces: 1, preferred: kind });
    const prover = new ResidentProver(resident);
    for (const factors of [{ r: 1n, s: 1n }, { r: BN254.r - 1n, s: 2n }, blinding(), blinding()]) {
      const proof = proveResident(prover, fixture.witness, factors);
      expect(proof).toEqual(assembleProof(await loadReferenceKernels(), key, fixture.witness, factors));
      expect(verifyGroth16(prepared, proof, fixture.publicSignals)).toBe(true);
    }
    const spoiled = proveResident(prover, spoilWitness(fixture.witness, key.wireCount - 1), blinding());
    expect(verifyGroth16(prepared, spoiled, fixture.publicSignals)).toBe(false);
  });

  it.each([
    ["cubic", cubicFixture(3n)],
    ["1,000 constraints", chainFixture(1000)],
  ])("makes the same proof before, while and after its tables are written, for %s", async (_name, fixture) => {
    const { zkey } = await setupGroth16(fixture.r1cs);
    const key = readProvingKey(zkey);
    const factors = blinding();
    const expected = proveResident(
      new ResidentProver(makeKeyResident(key, { workspaces: 1, preferred: kind })),
      ...([fixture.witness, factors] as const),
    );
    const resident = makeKeyResident(key, { workspaces: 1, preferred: kind, tableBytesMax: 64 * 2 ** 20 });
    const prover = new ResidentProver(resident);
    for (let next: number | undefined = 0, steps = 0; next !== undefined; steps += 1) {
      expect([hasTables(resident), proveResident(prover, fixture.witness, factors)]).toEqual([false, expected]);
      next = writeKeyTables(resident, next, steps === 0 ? 0 : Infinity);
    }
    expect([hasTables(resident), proveResident(prover, fixture.witness, factors)]).toEqual([true, expected]);
    expect(writeKeyTables(resident)).toBeUndefined();
  });

  it("takes tables as far as their memory reaches", async () => {
    const key = readProvingKey((await setupGroth16(chainFixture(1000).r1cs)).zkey);
    const none = makeKeyResident(key, { workspaces: 1, preferred: kind });
    expect([none.tables, hasTables(none), writeKeyTables(none)]).toEqual([undefined, false, undefined]);
    for (const tableBytesMax of [1, 2 ** 18, 2 ** 20]) {
      const { tables, keyBytes } = makeKeyResident(key, { workspaces: 1, preferred: kind, tableBytesMax });
      expect(tables === undefined).toBe(tableBytesMax === 1);
      expect(keyBytes - none.keyBytes).toBeLessThanOrEqual(tables === undefined ? 0 : tableBytesMax + 2 * 2 ** 20);
    }
  });

  it("wipes the witness and the blinding factors, and gives its workspace back, also after an error", async () => {
    const fixture = chainFixture(29);
    const key = readProvingKey((await setupGroth16(fixture.r1cs)).zkey);
    const resident = makeKeyResident(key, { workspaces: 1, preferred: kind });
    const prover = new ResidentProver(resident);
    expect(() => prover.prove(fixture.witness.subarray(32), blinding())).toThrow(RangeError);
    prover.prove(fixture.witness, blinding());
    const { start } = resident.workspaces[0]!;
    expect(new Uint8Array(resident.memory.buffer, start, fixture.witness.length + 96).every((byte) => byte === 0)).toBe(
      true,
    );
    const flags = new Int32Array(resident.memory.buffer, resident.workspaceFlags, 1);
    expect(flags[0]).toBe(0);
    flags[0] = 1;
    expect(() => prover.prove(fixture.witness, blinding())).toThrow("every workspace");
  });

  it("lets two threads prove on one copy of the key", async () => {
    const fixture = chainFixture(1000);
    const { zkey, verifyingKey } = await setupGroth16(fixture.r1cs);
    const key = makeKeyResident(readProvingKey(zkey), { workspaces: 2, preferred: kind });
    const prepared = prepareWith(await loadPairing("wasm"), verifyingKey);
    const prove = async (): Promise<Groth16Proof[]> => {
      const worker = new Worker(new URL("../../../support/kernel-prover.worker.mjs", import.meta.url), {
        workerData: { key, witness: fixture.witness, count: 5 },
      });
      try {
        return await new Promise<Groth16Proof[]>((resolve, reject) => {
          worker.once("message", resolve);
          worker.once("error", reject);
        });
      } finally {
        await worker.terminate();
      }
    };
    const [first, second] = await Promise.all([prove(), prove()]);
    expect(first).toEqual(second);
    expect(first.every((proof) => verifyGroth16(prepared, proof, fixture.publicSignals))).toBe(true);
  });
});
