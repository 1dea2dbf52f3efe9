/**
 * A million constraints through the registry's compute as the server runs it: setup, gates, opening, proofs on all
 * threads and verification, each within the memory that was told before. Takes some ten minutes and 10 GB.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { largeCircuit } from "../../bench/large-circuit.js";
import { wtnsFile } from "../../bench/circuits.js";
import { readR1csHeader } from "../../src/engine/circuit/r1cs.js";
import type { CircuitInterface } from "../../src/engine/circuit/interface.js";
import { circuitCounts, memoryNeeds, openKeyBytes } from "../../src/engine/proof-systems/memory-needs.js";
import { storedKey } from "../support/stored-key.js";
import type { SharedBytes } from "../../src/engine/protocol.js";
import { MemoryBudget } from "../../src/platform/concurrency/memory-budget.js";
import { ProcessTasks } from "../../src/platform/pool/process-task.js";
import { ComputePools } from "../../src/prover/compute/compute-pools.js";
import type { ReferenceStringFile, StoredFile } from "../../src/prover/compute/compute.js";
import { PooledCompute } from "../../src/prover/compute/pooled-compute.js";
import { recordedLog } from "../support/silent-log.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

const POWER = Number(process.env.LARGE_POWER ?? 20);
const GIB = 1024 ** 3;
const THREADS = 2;
const folder = newFolder("large-circuit");
const log = recordedLog();
const pools = new ComputePools(
  {
    proveThreads: THREADS,
    proveHelpersMax: 1,
    interactiveThreads: 1,
    proveQueueLengthMax: 8,
    interactiveQueueLengthMax: 8,
  },
  { log },
);
const memory = new MemoryBudget({ bytes: 18 * GIB });
const compute = new PooledCompute(
  {
    constraintsMax: 2 ** 21,
    compile: { memoryMb: 1024, seconds: 5 },
    openKeys: { budgetBytes: GIB, workspaces: THREADS },
  },
  { pools, tasks: new ProcessTasks(), memory, log },
);
// One row is the output's, and one the constant's.
const made = largeCircuit(2 ** POWER - 2);
const circuit: CircuitInterface = { ...readR1csHeader(made.r1cs), curve: "BN254", signals: [] };

afterAll(async () => {
  await pools.stop();
  removeFolder(folder);
});

function stored(name: string, bytes: Uint8Array): StoredFile {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return { path, sha256: createHash("sha256").update(bytes).digest("hex") };
}

function shared(bytes: Uint8Array): SharedBytes {
  const buffer = new SharedArrayBuffer(bytes.length);
  new Uint8Array(buffer).set(bytes);
  return { sha256: createHash("sha256").update(bytes).digest("hex"), bytes: buffer };
}

async function referenceString(): Promise<ReferenceStringFile> {
  const string = await compute.makeReferenceString({ curve: "BN254", power: POWER });
  if (!string.ok) throw new Error(JSON.stringify(string));
  return { ...stored("string.ptau", string.value), power: POWER };
}

describe(`a circuit of 2^${String(POWER)} rows`, () => {
  it.each(["groth16/BN254", "plonk/BN254"] as const)(
    "is set up, checked, proved and verified with %s",
    async (system) => {
      const progress: number[] = [];
      const options = { onProgress: (share: number): unknown => progress.push(share) };
      const needs = memoryNeeds(system, circuitCounts(readR1csHeader(made.r1cs), made.r1cs.length));
      const string = system === "groth16/BN254" ? undefined : await referenceString();
      const strings = string === undefined ? {} : { referenceStrings: [string] };
      const setup = await compute.setup({ system, r1cs: made.r1cs, ...strings }, options);
      if (!setup.ok) throw new Error(JSON.stringify(setup));
      const { provingKey, verifyingKey } = setup.value;
      expect(provingKey.length).toBeLessThanOrEqual(needs.keyFile);
      expect(progress.length).toBeGreaterThan(5);
      expect(progress).toEqual([...progress].sort((a, b) => a - b));
      const sizes = { circuit, r1csBytes: made.r1cs.length, keyBytes: provingKey.length };
      const files = {
        r1cs: stored("circuit.r1cs", made.r1cs),
        provingKey: stored("key", provingKey),
        verifyingKey: stored("key.json", Buffer.from(verifyingKey)),
      };
      const reference = string === undefined ? {} : { referenceString: string };
      const gates = await compute.gates({ system, ...files, ...reference, sizes });
      if (!gates.ok) throw new Error(JSON.stringify(gates));
      const message = {
        ...{ system, circuit, inputs: undefined, witnessProgram: shared(new Uint8Array(0)) },
        ...{ provingKey: storedKey(shared(provingKey)), verifyingKey: shared(Buffer.from(verifyingKey)) },
        witnessFile: wtnsFile(made.witness),
      };
      const proved = await Promise.all([compute.prove(message), compute.prove(message)]);
      const publicSignals = made.publicSignals.map(String);
      for (const result of proved) {
        if (!result.ok) throw new Error(result.message);
        expect(result.value.publicSignals).toEqual(publicSignals);
        const claim = { system, circuit, verifyingKey: message.verifyingKey, proof: result.value.proof };
        expect(await compute.verify({ ...claim, publicSignals })).toMatchObject({ ok: true, value: { result: true } });
        expect(await compute.verify({ ...claim, publicSignals: ["7"] })).toMatchObject({ value: { result: false } });
      }
      // None was proved on the reference, which no memory was told for.
      expect(log.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
      expect(memory.taken).toBeLessThanOrEqual(openKeyBytes(needs, { workspaces: THREADS }));
      expect(memory.taken).toBeGreaterThan(needs.key);
      // Other work that wants the memory gets it, and the threads let go of it.
      const before = process.memoryUsage.rss();
      (await memory.take({ bytes: memory.bytes, what: "all of it" })).release();
      expect(memory.taken).toBe(0);
      const least = POWER >= 20 ? needs.key : 0;
      await expect.poll(() => process.memoryUsage.rss()).toBeLessThan(before - least);
    },
  );
});
