/** One proof on several threads: the same bytes as on one, whoever comes late, leaves or dies. */
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { BN254 } from "../../../src/engine/curves/bn254.js";
import { readProvingKey } from "../../../src/engine/groth16/proving-key.js";
import { setupGroth16 } from "../../../src/engine/groth16/setup.js";
import { ResidentProver } from "../../../src/engine/kernels/groth16/resident-prover.js";
import { makeKeyResident, proveResident } from "../../../src/engine/kernels/groth16/resident-proving.js";
import type { ResidentKey } from "../../../src/engine/kernels/groth16/resident-key.js";
import {
  ThreadTeam,
  TeamFailedError,
  createTeam,
  dismissHelpers,
  endTeam,
  failTeam,
} from "../../../src/engine/kernels/threads/thread-team.js";
import { chainFixture } from "../../support/groth16-fixtures.js";
import type { Fixture } from "../../support/groth16-fixtures.js";
import { KERNEL_KINDS, bigBelow } from "../../support/kernels.js";
import type { KernelKind } from "../../../src/engine/kernels/kernel-module.js";
import { seededRandom } from "../../support/seeded.js";

const random = seededRandom();
const blinding = (): { r: bigint; s: bigint } => ({
  r: 1n + bigBelow(random, BN254.r - 1n),
  s: 1n + bigBelow(random, BN254.r - 1n),
});
const workers: Worker[] = [];

afterEach(async () => {
  await Promise.all(
    workers.splice(0).map(async (worker) => {
      await worker.terminate();
    }),
  );
});

async function residentKey(fixture: Fixture, workspaces: number, kind: KernelKind = "fma"): Promise<ResidentKey> {
  return makeKeyResident(readProvingKey((await setupGroth16(fixture.r1cs)).zkey), { workspaces, preferred: kind });
}

async function startHelper(key: ResidentKey): Promise<Worker> {
  const worker = new Worker(new URL("../../support/kernel-helper.worker.mjs", import.meta.url), {
    workerData: { key },
  });
  workers.push(worker);
  await new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
  return worker;
}

/** Settles when the helper is through with the team. */
function send(
  worker: Worker,
  message: { readonly team: SharedArrayBuffer; readonly dies?: boolean },
): Promise<unknown> {
  const settled = new Promise((resolve) => {
    worker.once("message", resolve);
    worker.once("exit", resolve);
  });
  worker.postMessage(message);
  return settled;
}

const flagsOf = (key: ResidentKey): number[] => [
  ...new Int32Array(key.memory.buffer, key.workspaceFlags, key.workspaces.length),
];

describe.each(KERNEL_KINDS)("a proof on two threads, %s, seed " + String(random.seed), (kind) => {
  it("equals the proof of one thread for the same blinding, and gives all workspaces back", async () => {
    const fixture = chainFixture(1000);
    const key = await residentKey(fixture, 2, kind);
    const prover = new ResidentProver(key);
    const helper = await startHelper(key);
    for (let i = 0; i < 4; i += 1) {
      const factors = blinding();
      const team = createTeam();
      const helped = send(helper, { team });
      const shared = proveResident(prover, fixture.witness, factors, team);
      await helped;
      expect(shared).toEqual(proveResident(prover, fixture.witness, factors));
      expect(flagsOf(key)).toEqual([0, 0]);
    }
  });
});

describe("a proof on several threads, seed " + String(random.seed), () => {
  it("equals the proof of one thread on a domain of several blocks and slices, with three helpers", async () => {
    const fixture = chainFixture(9000);
    const key = await residentKey(fixture, 4);
    const prover = new ResidentProver(key);
    const helpers = await Promise.all([startHelper(key), startHelper(key), startHelper(key)]);
    const factors = blinding();
    const team = createTeam();
    const helped = helpers.map((helper) => send(helper, { team }));
    const shared = proveResident(prover, fixture.witness, factors, team);
    await Promise.all(helped);
    expect(shared).toEqual(proveResident(prover, fixture.witness, factors));
    expect(flagsOf(key)).toEqual([0, 0, 0, 0]);
  });

  it("goes on alone when its helper is sent away, comes too late or has no workspace", async () => {
    const fixture = chainFixture(29);
    const key = await residentKey(fixture, 2);
    const prover = new ResidentProver(key);
    const helper = await startHelper(key);
    const factors = blinding();
    const alone = proveResident(prover, fixture.witness, factors);
    const dismissed = createTeam();
    dismissHelpers(dismissed);
    const sent = send(helper, { team: dismissed });
    expect(proveResident(prover, fixture.witness, factors, dismissed)).toEqual(alone);
    await sent;
    const late = createTeam();
    expect(proveResident(prover, fixture.witness, factors, late)).toEqual(alone);
    await send(helper, { team: late });
    new Int32Array(key.memory.buffer, key.workspaceFlags, 2)[1] = 1;
    const crowded = createTeam();
    const refused = send(helper, { team: crowded });
    expect(proveResident(prover, fixture.witness, factors, crowded)).toEqual(alone);
    endTeam(crowded);
    await refused;
    expect(flagsOf(key)).toEqual([0, 1]);
  });

  it("ends in an error when its helper dies in a task, and never gives that workspace to another proof", async () => {
    const fixture = chainFixture(29);
    const key = await residentKey(fixture, 3);
    const prover = new ResidentProver(key);
    const factors = blinding();
    const alone = proveResident(prover, fixture.witness, factors);
    const helper = await startHelper(key);
    const team = createTeam();
    // The task that the helper dies in: taken here, so that the leader cannot be through before.
    expect(new ThreadTeam(team).claim([{ name: "import", after: [], count: () => 1, run: () => undefined }])).toEqual({
      step: 0,
      task: 0,
    });
    const died = send(helper, { team, dies: true });
    const leader = new Worker(new URL("../../support/kernel-prover.worker.mjs", import.meta.url), {
      workerData: { key, witness: fixture.witness, count: 1, team },
    });
    workers.push(leader);
    const failed = new Promise<Error>((resolve) => {
      leader.once("error", resolve);
    });
    await died;
    // What the pool's owner does when a thread is gone.
    failTeam(team);
    expect((await failed).name).toBe(TeamFailedError.name);
    expect(flagsOf(key).filter((flag) => flag === 1)).toHaveLength(1);
    expect(proveResident(prover, fixture.witness, factors)).toEqual(alone);
  });

  it("leaves nobody waiting when the leader dies", async () => {
    const fixture = chainFixture(29);
    const key = await residentKey(fixture, 2);
    const helper = await startHelper(key);
    const team = createTeam();
    const waiting = send(helper, { team });
    // No leader ever comes; the pool's owner says so.
    endTeam(team);
    await waiting;
    expect(flagsOf(key)).toEqual([0, 0]);
  });
});
