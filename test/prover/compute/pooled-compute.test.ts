/** The registry on the server's own threads and processes, with small circuits and with hostile ones. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProcessTasks, type ProcessTaskFailure } from "../../../src/platform/pool/process-task.js";
import { ComputePools } from "../../../src/prover/compute/compute-pools.js";
import { PooledCompute } from "../../../src/prover/compute/pooled-compute.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { recordedLog } from "../../support/silent-log.js";
import { subject } from "../../vault/support.js";
import { failureOf, never, openTestRegistry, principalOf, provision, type TestRegistry } from "../support.js";

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
  const file = { path: "/nowhere", sha256: "00" };
  const input = { system: "groth16/BN254", files: { r1cs: file, witnessProgram: file, sym: file } } as const;
  expect(await compute.readImport(input)).toMatchObject({
    ok: false,
    errors: [{ code: "import_invalid" }],
  });
  const stopped = AbortSignal.abort(new Error("the server stops"));
  const ended = compute.readImport(input, { signal: stopped });
  await expect(ended).rejects.toThrow("the server stops");
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
