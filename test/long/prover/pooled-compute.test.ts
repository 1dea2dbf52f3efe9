/** The registry on the server's own threads and processes, with small circuits and with hostile ones. */
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readR1csHeader } from "../../../src/engine/circuit/r1cs.js";
import type { MakeKeyResult } from "../../../src/engine/proof-systems/proof-system.js";
import { MemoryBudget } from "../../../src/platform/concurrency/memory-budget.js";
import {
  ProcessTasks,
  type ProcessTask,
  type ProcessTaskFailure,
  type ProcessTaskResult,
} from "../../../src/platform/pool/process-task.js";
import type { ImportFiles } from "../../../src/prover/compute/compute.js";
import { ComputePools } from "../../../src/prover/compute/compute-pools.js";
import { PooledCompute } from "../../../src/prover/compute/pooled-compute.js";
import type { SetupAnswer } from "../../../src/prover/compute/setup-task.js";
import { chainFixture, r1csFile } from "../../support/groth16-fixtures.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { recordedLog } from "../../support/silent-log.js";
import { subject } from "../../vault/support.js";
import { failureOf, never, openTestRegistry, principalOf, provision, type TestRegistry } from "../../prover/support.js";

const log = recordedLog();
const pools = new ComputePools(
  { proveThreads: 1, interactiveThreads: 1, proveQueueLengthMax: 8, interactiveQueueLengthMax: 64 },
  { log },
);
let test: TestRegistry;

beforeAll(async () => {
  test = await openTestRegistry({
    compute: new PooledCompute(
      {
        constraintsMax: 1000,
        compile: { memoryMb: 1024, seconds: 5 },
        openKeys: { budgetBytes: 2 ** 28, workspaces: 2 },
      },
      { pools, tasks: new ProcessTasks(), log },
    ),
  });
});
afterAll(async () => {
  await test.close({ keep: true });
  await pools.stop();
  removeFolder(test.folder);
});

/** Its processes end at once. */
class CrashingTasks extends ProcessTasks {
  override run(): Promise<ProcessTaskFailure> {
    return Promise.resolve({ ok: false, code: "crashed", message: "ended" });
  }
}

it("an import that ends its process is invalid, and not tried again", async () => {
  const compute = new PooledCompute(
    { constraintsMax: 1000, compile: { memoryMb: 1024, seconds: 5 } },
    { pools, tasks: new CrashingTasks(), log },
  );
  const file = { path: fileURLToPath(import.meta.url), sha256: "00" };
  const input = { system: "groth16/BN254", files: { r1cs: file, witnessProgram: file, sym: file } } as const;
  expect(await compute.readImport(input)).toMatchObject({
    ok: false,
    errors: [{ code: "import_invalid" }],
  });
  const stopped = AbortSignal.abort(new Error("the server stops"));
  const ended = compute.readImport(input, { signal: stopped });
  await expect(ended).rejects.toThrow("the server stops");
});

it("refuses a setup, a check or file of a key and a reference string that the server never has the memory for", async () => {
  const compute = new PooledCompute(
    { constraintsMax: 1000, compile: { memoryMb: 1024, seconds: 5 } },
    { pools, tasks: new CrashingTasks(), memory: new MemoryBudget({ bytes: 2 ** 28 }), log },
  );
  const fixture = chainFixture(20);
  const said = /GiB .* has 0\.3 GiB/;
  const expectRefusal = (outcome: unknown): void => {
    expect(outcome).toMatchObject({ ok: false, errors: [{ code: "insufficient_memory" }] });
    expect((outcome as { errors: { message: string }[] }).errors[0]!.message).toMatch(said);
  };
  const r1cs = r1csFile(fixture);
  expectRefusal(await compute.setup({ system: "groth16/BN254", r1cs }));
  expectRefusal(await compute.makeReferenceString({ curve: "BN254", power: 20 }));
  const file = { path: "/nowhere", sha256: "00" };
  const circuit = { ...readR1csHeader(r1cs), curve: "BN254" as const, signals: [] };
  const sizes = { circuit, r1csBytes: r1cs.length, keyBytes: 100_000 };
  expectRefusal(
    await compute.gates({ system: "groth16/BN254", r1cs: file, provingKey: file, verifyingKey: file, sizes }),
  );
  expectRefusal(await compute.exportZkey({ system: "plonk/BN254", provingKey: file, target: "/nowhere/file", sizes }));
  const stored = { path: fileURLToPath(import.meta.url), sha256: "00" };
  expectRefusal(await compute.readImport({ system: "groth16/BN254", files: { verifyingKey: stored } }));
});

/** Says that a circuit has more gates than its constraints tell, and notes what it was given. */
class CountingTasks extends ProcessTasks {
  readonly given: { readonly domainPowerMax?: number; readonly memoryBytesMax: number }[] = [];

  override run<Request, Answer>({ request, limits }: ProcessTask<Request>): Promise<ProcessTaskResult<Answer>> {
    const { domainPowerMax } = request as { readonly domainPowerMax?: number };
    this.given.push({
      memoryBytesMax: limits.memoryBytesMax,
      ...(domainPowerMax === undefined ? {} : { domainPowerMax }),
    });
    const result: MakeKeyResult =
      this.given.length === 1
        ? { ok: false, code: "memory_required", domainPower: 12 }
        : { ok: false, code: "gate_failed", message: "" };
    const answer: SetupAnswer<MakeKeyResult> = { result, isWide: false, isWideWrong: false };
    return Promise.resolve({ ok: true, value: answer as Answer });
  }
}

it("gives a setup more memory when the circuit has more gates than constraints, and takes it from the server's", async () => {
  const tasks = new CountingTasks();
  const memory = new MemoryBudget({ bytes: 2 ** 33 });
  const compute = new PooledCompute(
    { constraintsMax: 1000, compile: { memoryMb: 1024, seconds: 5 } },
    { pools, tasks, memory, log },
  );
  const outcome = await compute.setup({ system: "plonk/BN254", r1cs: r1csFile(chainFixture(20)) });
  expect(outcome).toMatchObject({ ok: false, errors: [{ code: "setup_gate_failed" }] });
  expect(tasks.given.map(({ domainPowerMax }) => domainPowerMax)).toEqual([5, 12]);
  expect(tasks.given[1]!.memoryBytesMax).toBeGreaterThan(tasks.given[0]!.memoryBytesMax);
  expect(memory.taken).toBe(0);
});

/** Tells what of the server's memory is taken while a process runs. */
class LookingTasks extends ProcessTasks {
  taken = 0;
  readonly #memory: MemoryBudget;

  constructor(memory: MemoryBudget) {
    super();
    this.#memory = memory;
  }

  override run(): Promise<ProcessTaskFailure> {
    this.taken = this.#memory.taken;
    return Promise.resolve({ ok: false, code: "crashed", message: "ended" });
  }
}

it("takes memory for the files of an import, several times their length, and gives it back", async () => {
  const memory = new MemoryBudget({ bytes: 2 ** 33 });
  const tasks = new LookingTasks(memory);
  const compute = new PooledCompute(
    { constraintsMax: 1000, compile: { memoryMb: 1024, seconds: 5 } },
    { pools, tasks, memory, log },
  );
  const path = fileURLToPath(import.meta.url);
  const takenFor = async (files: ImportFiles): Promise<number> => {
    await compute.readImport({ system: "groth16/BN254", files });
    expect(memory.taken).toBe(0);
    return tasks.taken;
  };
  const file = { path, sha256: "00" };
  const one = await takenFor({ verifyingKey: file });
  expect((await takenFor({ verifyingKey: file, r1cs: file })) - one).toBe(5 * statSync(path).size);
});

describe("the registry on thread pools and processes", () => {
  it("provisions, proves and verifies", async () => {
    const owner = subject();
    const prover = await provision(test.provers, owner);
    expect(prover).toMatchObject({ status: "provisioned", errors: [] });
    const made = await test.provers.prove(owner, prover.id, { inputs: { X: "3", Y: "35" }, signal: never });
    const verify = async (inputs: object): Promise<boolean> =>
      await test.provers.verify(principalOf(owner), prover.id, {
        item: { witness: inputs, proof: made.proof },
        store: false,
        signal: never,
      });
    expect(await verify({ Y: "35" })).toBe(true);
    expect(await verify({ Y: "34" })).toBe(false);
    expect(
      await failureOf(() => test.provers.prove(owner, prover.id, { inputs: { X: "3", Y: "36" }, signal: never })),
    ).toMatchObject({ code: "constraints_unsatisfied" });
    expect(await test.provers.note(owner, prover.id, 0)).toMatchObject({ index: 0, size: 1 });
  });

  it("ends a proof whose caller has gone, and keeps no note of it", async () => {
    const owner = subject();
    const prover = await provision(test.provers, owner);
    const gone = new AbortController();
    const proving = test.provers.prove(owner, prover.id, { inputs: { X: "3", Y: "35" }, signal: gone.signal });
    gone.abort(new Error("client has gone"));
    await expect(proving).rejects.toThrow("client has gone");
    expect(test.provers.listProofs(owner, prover.id, { page: 1, rpp: 25 }).total).toBe(0);
  });
});
