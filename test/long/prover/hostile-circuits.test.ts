/** Hostile circuits on the server's own threads and processes, while honest ones are provisioned. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { ComputePools } from "../../../src/prover/compute/compute-pools.js";
import { PooledCompute } from "../../../src/prover/compute/pooled-compute.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { recordedLog } from "../../support/silent-log.js";
import { subject } from "../../vault/support.js";
import { openTestRegistry, provision, register, type TestRegistry } from "../../prover/support.js";

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

it("fails a circuit over the limit of constraints, a loop without end and an include of the host, while others go on", async () => {
  const [hostile, honest] = [subject(), subject()];
  const wrap = (body: string): string =>
    `pragma circom 2.1.0; template A() { signal input x; ${body} } component main = A();`;
  const loop = await register(test.provers, hostile, {
    source: wrap("var i = 0; while (i >= 0) { i = (i + 1) % 7; } signal output y; y <== x + i;"),
  });
  const passwd = await register(test.provers, hostile, {
    source: { "main.circom": `pragma circom 2.1.0; include "/etc/passwd"; ${wrap("").slice(22)}` },
  });
  const good = await provision(test.provers, honest);
  expect(good.status).toBe("provisioned");
  const large = await provision(test.provers, hostile, {
    source: wrap("signal y[1001]; y[0] <== x * x; for (var i = 1; i < 1001; i++) { y[i] <== y[i - 1] * y[i - 1]; }"),
  });
  expect(large).toMatchObject({ status: "failed", errors: [{ code: "circuit_too_large" }] });
  const stopped = await waitFor(hostile, loop.id);
  expect(stopped).toMatchObject({ status: "failed", errors: [{ code: "circuit_too_large" }] });
  const refused = await waitFor(hostile, passwd.id);
  expect(refused.status).toBe("failed");
  expect(refused.errors.length).toBeGreaterThan(0);
  expect(JSON.stringify(refused)).not.toContain("root:");
});

async function waitFor(owner: ReturnType<typeof subject>, id: string) {
  while (!test.provers.progress(owner, id).finished)
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  return test.provers.get(owner, id);
}
