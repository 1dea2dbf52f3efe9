/** Jobs that wait or run: what lies on disk, order, limits, deadlines, cancellation, and lives of the server. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { systemClock, type Clock } from "../../../src/platform/clock.js";
import { PERMISSIONS, PERMISSIONS_MAX } from "../../../src/platform/auth/permissions.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { PHRASE, subject } from "../../vault/support.js";
import {
  PAGE,
  eventually,
  failureOf,
  openTestRegistry,
  principalOf,
  provision,
  type TestRegistry,
  type TestRegistryOptions,
} from "../support.js";
import { HeldCompute, askAsync, deleteJob, inputParts, jobOf, listJobs, readJob } from "./job-requests.js";

interface Held {
  readonly test: TestRegistry;
  readonly compute: HeldCompute;
  readonly owner: Subject;
  readonly cubic: string;
}

const opened: TestRegistry[] = [];
afterEach(async () => {
  for (const test of opened.splice(0)) {
    await test.close({ keep: true });
    removeFolder(test.folder);
  }
});

async function open(options: TestRegistryOptions = {}): Promise<TestRegistry> {
  const test = await openTestRegistry(options);
  opened.push(test);
  return test;
}

/** A registry whose proofs are held, with a prover. */
async function openHeld(options: TestRegistryOptions = {}): Promise<Held> {
  const compute = new HeldCompute();
  const test = await open({ compute, ...options });
  const owner = subject();
  const { id: cubic } = await provision(test.provers, owner);
  return { test, compute, owner, cubic };
}

/** Ends a life of the server and begins the next on the same data. */
async function reopen(test: TestRegistry, options: TestRegistryOptions = {}): Promise<TestRegistry> {
  opened.splice(opened.indexOf(test), 1);
  await test.close({ keep: true });
  return await open({ ...options, folder: test.folder });
}

async function proofsOf({ provers }: TestRegistry, owner: Subject, prover: string): Promise<number> {
  return await Promise.resolve(provers.listProofs(owner, prover, { ...PAGE }).total);
}

/** Time that the test moves on. */
function movedClock(): Clock & { move: (ms: number) => void } {
  let movedMs = 0;
  return {
    nowMs: () => systemClock.nowMs() + movedMs,
    monotonicMs: () => systemClock.monotonicMs() + movedMs,
    move: (ms) => {
      movedMs += ms;
    },
  };
}

describe("an input that waits", () => {
  it("lies in no file in plain, with what the caller may do", async () => {
    const { test, owner, cubic, compute } = await openHeld();
    const witness = { X: "3", Y: "35", Z: "90210902109021090210902109021090210" };
    const { id } = await jobOf(test, owner, cubic, { body: { witness } });
    await eventually("the proof is held", () => compute.begun.length === 1);
    expect(inputParts(test, owner)).toBe(1);
    const file = readFileSync(join(test.folder, "data.mdb"));
    expect(file.includes(id)).toBe(true);
    for (const plain of [
      witness.Z,
      Buffer.from(witness.Z).toString("base64").slice(4, 40),
      '"witness"',
      '"permissions"',
    ])
      expect(file.includes(plain), plain).toBe(false);
    compute.open();
    expect((await readJob(test, owner, id)).status).toBe("failed");
    expect(inputParts(test, owner)).toBe(0);
  });

  it("is opened for its own job only", async () => {
    const { test, owner, cubic, compute } = await openHeld();
    const first = await jobOf(test, owner, cubic);
    const others = [
      await jobOf(test, owner, cubic, { body: { witness: { X: "2", Y: "15" } } }),
      await jobOf(test, owner, cubic),
    ];
    const keyOf = (id: string): (string | number)[] => ["proof_job_input", owner.kind, owner.id, id, 0];
    const [swapped, spoilt] = others.map(({ id }) => id) as [string, string];
    const given = test.store.get<string>(keyOf(first.id))?.value ?? "";
    await test.store.commit({
      puts: [
        { key: keyOf(swapped), value: given },
        { key: keyOf(spoilt), value: `AAAA${given.slice(4)}` },
      ],
    });
    compute.open();
    expect((await readJob(test, owner, first.id)).status).toBe("succeeded");
    for (const id of [swapped, spoilt])
      expect(await readJob(test, owner, id)).toMatchObject({ status: "failed", error: { code: "decryption_failed" } });
    expect(await proofsOf(test, owner, cubic)).toBe(1);
  });

  it("of several parts comes back as it was", async () => {
    const { test, owner, compute } = await openHeld();
    const source =
      "pragma circom 2.1.6; template S() { signal input a[4096]; signal output b; var s = 0; for (var i = 0; i < 4096; i++) { s += a[i]; } b <== s; } component main = S();";
    const { id: wide } = await provision(test.provers, owner, { source });
    const a = Array.from({ length: 4096 }, (_, index) => String(index).padStart(70, "0"));
    const { id } = await jobOf(test, owner, wide, { body: { witness: { a } } });
    expect(inputParts(test, owner)).toBe(2);
    compute.open();
    expect(await readJob(test, owner, id)).toMatchObject({ result: { public_signals: ["8386560"] } });
  });
});

describe("cancelling", () => {
  it("ends a job that waits, and one that runs, and keeps no proof of either", async () => {
    const { test, owner, cubic, compute } = await openHeld();
    const running = await jobOf(test, owner, cubic);
    await eventually("the first runs", () => compute.begun.length === 1);
    const waiting = await jobOf(test, owner, cubic);
    expect((await readJob(test, owner, running.id, 0)).status).toBe("running");
    expect(await readJob(test, owner, waiting.id, 0)).toMatchObject({ status: "queued", position: 0 });
    for (const { id } of [waiting, running]) {
      await deleteJob(test, owner, id);
      expect(await readJob(test, owner, id, 0)).toMatchObject({ status: "cancelled", result: null, error: null });
    }
    expect(inputParts(test, owner)).toBe(0);
    compute.open();
    const next = await jobOf(test, owner, cubic);
    expect((await readJob(test, owner, next.id)).status).toBe("succeeded");
    expect(await proofsOf(test, owner, cubic)).toBe(1);
    expect(compute.begun).toHaveLength(2);
    await deleteJob(test, owner, waiting.id);
    expect((await failureOf(() => readJob(test, owner, waiting.id, 0))).code).toBe("not_found");
  });

  it("wakes who waits for the job", async () => {
    const { test, owner, cubic } = await openHeld();
    const { id } = await jobOf(test, owner, cubic);
    const ended = readJob(test, owner, id);
    await deleteJob(test, owner, id);
    expect((await ended).status).toBe("cancelled");
  });
});

describe("a deadline", () => {
  it("ends a job that waits and one that runs, and frees its thread", async () => {
    const clock = movedClock();
    const { test, owner, cubic, compute } = await openHeld({ clock });
    const running = await jobOf(test, owner, cubic, { deadlineSec: 60 });
    await eventually("the first runs", () => compute.begun.length === 1);
    const waiting = await jobOf(test, owner, cubic, { deadlineSec: 60 });
    const later = await jobOf(test, owner, cubic, { deadlineSec: 600 });
    clock.move(61_000);
    await test.registry.proofJobs.sweep.sweep();
    for (const { id } of [running, waiting])
      expect(await readJob(test, owner, id)).toMatchObject({ status: "expired", result: null });
    expect(inputParts(test, owner)).toBe(1);
    compute.open();
    expect((await readJob(test, owner, later.id)).status).toBe("succeeded");
    expect(await proofsOf(test, owner, cubic)).toBe(1);
    clock.move(25 * 3_600_000);
    await test.registry.proofJobs.sweep.sweep();
    expect(await listJobs(test, owner)).toEqual([]);
    expect(test.store.count(["proof_job_result", owner.kind, owner.id])).toBe(0);
    expect(await proofsOf(test, owner, cubic)).toBe(1);
  });

  it("is kept by a job whose turn comes too late", async () => {
    const clock = movedClock();
    const { test, owner, cubic, compute } = await openHeld({ clock });
    await jobOf(test, owner, cubic);
    await eventually("the first runs", () => compute.begun.length === 1);
    const late = await jobOf(test, owner, cubic, { deadlineSec: 60 });
    clock.move(61_000);
    compute.open();
    expect((await readJob(test, owner, late.id)).status).toBe("expired");
    expect(compute.begun).toHaveLength(1);
  });
});

describe("the order", () => {
  it("goes round the owners: one job does not wait for another owner's hundred", async () => {
    const { test, owner, cubic, compute } = await openHeld();
    const many = Array.from({ length: 100 }, async () => await jobOf(test, owner, cubic));
    await Promise.all(many);
    const other = subject();
    const { sharing } = test.registry;
    await sharing.grant(owner, cubic, { user_id: other.id });
    await eventually("the first runs", () => compute.begun.length === 1);
    const one = await jobOf(test, other, cubic);
    expect(one.position).toBeLessThanOrEqual(1);
    compute.open();
    expect((await readJob(test, other, one.id)).status).toBe("succeeded");
    expect(compute.begun.indexOf(`user:${other.id}`)).toBeLessThanOrEqual(2);
    for (const { id } of await listJobs(test, owner)) await readJob(test, owner, id);
    expect(await listJobs(test, owner, { status: "succeeded" })).toHaveLength(100);
  });

  it("has limits of each owner and of all, which end with the jobs", async () => {
    const { test, owner, cubic, compute } = await openHeld({ proofJobLimits: { partsPerOwnerMax: 2, partsMax: 3 } });
    const other = subject();
    await test.registry.sharing.grant(owner, cubic, { user_id: other.id });
    const jobs = [await jobOf(test, owner, cubic), await jobOf(test, owner, cubic)];
    const own = await failureOf(() => askAsync(test, owner, cubic));
    expect(own).toMatchObject({ code: "too_many_requests", status: 429 });
    expect(own.retryAfterSec).toBeGreaterThan(0);
    jobs.push(await jobOf(test, other, cubic));
    const all = await failureOf(() => askAsync(test, other, cubic));
    expect(all).toMatchObject({ code: "overloaded", status: 503 });
    expect(all.retryAfterSec).toBeGreaterThan(0);
    compute.open();
    for (const [index, { id }] of jobs.entries()) await readJob(test, index === 2 ? other : owner, id);
    expect((await askAsync(test, owner, cubic)).status).toBe(202);
  });
});

describe("the next life of the server", () => {
  it("makes what was accepted before, once each, also what ran", async () => {
    const { test, owner, cubic, compute } = await openHeld();
    const jobs = [await jobOf(test, owner, cubic), await jobOf(test, owner, cubic), await jobOf(test, owner, cubic)];
    await eventually("the first runs", () => compute.begun.length === 1);
    await deleteJob(test, owner, jobs[2]!.id);
    const next = await reopen(test);
    const ended = await Promise.all(jobs.map(async ({ id }) => await readJob(next, owner, id)));
    expect(ended.map(({ status }) => status)).toEqual(["succeeded", "succeeded", "cancelled"]);
    expect(await proofsOf(next, owner, cubic)).toBe(2);
    expect(inputParts(next, owner)).toBe(0);
  });

  it("waits until the vault is unsealed", async () => {
    const { test, owner, cubic } = await openHeld();
    const { id } = await jobOf(test, owner, cubic);
    const sealed = await reopen(test, { unsealed: false });
    await eventually("its turn has come", () => sealed.jobs.get(id)?.state === "running");
    expect((await failureOf(() => askAsync(sealed, owner, cubic))).code).toBe("vault_sealed");
    await sealed.vault.seal.unseal(Buffer.from(PHRASE));
    expect((await readJob(sealed, owner, id)).status).toBe("succeeded");
  });
});

describe("what changes while a job waits", () => {
  it("counts: a prover that was deleted, and a grant that has ended, make no proof", async () => {
    const { test, owner, cubic, compute } = await openHeld();
    const friend = subject();
    const { id: grant } = await test.registry.sharing.grant(owner, cubic, { user_id: friend.id });
    const first = await jobOf(test, owner, cubic);
    await eventually("the first runs", () => compute.begun.length === 1);
    const granted = await jobOf(test, friend, cubic);
    const { id: doomed } = await provision(test.provers, owner);
    const orphan = await jobOf(test, owner, doomed);
    await test.registry.sharing.revoke(owner, cubic, grant);
    await test.provers.delete(owner, doomed);
    compute.open();
    expect((await readJob(test, owner, first.id)).status).toBe("succeeded");
    for (const [who, { id }] of [
      [friend, granted],
      [owner, orphan],
    ] as const)
      expect(await readJob(test, who, id)).toMatchObject({ status: "failed", error: { code: "not_found" } });
    expect(compute.begun).toHaveLength(1);
  });

  it("ends it with its owner, whatever it does", async () => {
    const { test, owner, cubic, compute } = await openHeld();
    const running = await jobOf(test, owner, cubic);
    await eventually("the first runs", () => compute.begun.length === 1);
    const waiting = await jobOf(test, owner, cubic);
    await test.registry.proofJobs.jobs.purge(owner);
    for (const { id } of [running, waiting]) expect(test.jobs.get(id)).toBeUndefined();
    for (const table of ["proof_job", "proof_job_input", "proof_job#owner", "proof_job#due"])
      expect(test.store.count(table.endsWith("due") ? [table] : [table, owner.kind, owner.id]), table).toBe(0);
    compute.open();
    expect(await proofsOf(test, owner, cubic)).toBe(0);
  });

  it("gives it no more rights than its request had", async () => {
    const { test, owner, cubic, compute } = await openHeld();
    const { vault_id } = test.provers.get(owner, cubic);
    const { id: secret } = await test.vault.vault.createSecret(owner, vault_id, { name: "x", type: "t", value: "3" });
    const body = { witness: { X: { $secret: secret, vault_id }, Y: "35" } };
    const principal = principalOf(owner, PERMISSIONS_MAX & ~PERMISSIONS.secret_read);
    expect((await failureOf(() => askAsync(test, owner, cubic, { body, principal }))).code).toBe("forbidden");
    const { id } = await jobOf(test, owner, cubic, { body });
    compute.open();
    expect(await readJob(test, owner, id)).toMatchObject({ status: "succeeded", result: { public_signals: ["35"] } });
    expect(test.uses.map(({ request_id }) => request_id)).toEqual(["r-1"]);
  });
});
