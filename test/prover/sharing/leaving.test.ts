/** What a subject leaves behind when it gives up another's prover with many proofs, on a real store, over crashes. */
import { expect, it } from "vitest";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { newId } from "../../../src/platform/ids.js";
import { mergeCommits } from "../../../src/platform/store/commits.js";
import type { Store, StoreCommit } from "../../../src/platform/store/store.js";
import { ProverRepository } from "../../../src/prover/repository.js";
import type { ProofRecord } from "../../../src/prover/schemas.js";
import { subject } from "../../vault/support.js";
import { boot, reboot } from "../provisioning/lives.js";
import { PAGE, eventually, failureOf, never, provision, type TestRegistry } from "../support.js";

const INPUTS = { X: "3", Y: "35" };
/** More than two pages of each of both tables. */
const RECORDS = 5000;

interface Left {
  readonly test: TestRegistry;
  readonly owner: Subject;
  readonly who: Subject;
  readonly id: string;
}

function proofOf(proverId: string): ProofRecord {
  return {
    ...{ id: newId(), created_at: "2026-01-01T00:00:00.000Z", prover_id: proverId, note_index: 0 },
    ...{ hash: "0".repeat(64), statement_hash: "0".repeat(64), public_signals: [], bytes: 128 },
    ...{ origin: "prove", meta: {}, timings: null },
  };
}

/** A prover with one proof of its owner, and many of the one to whom it is shared, whose jobs do not run. */
async function shared(): Promise<Left> {
  const [owner, who] = [subject(), subject()];
  const first = await boot();
  const { id } = await provision(first.provers, owner);
  await eventually("the prover's job is done", () => first.jobs.get(id)?.state === "done");
  await first.registry.sharing.grant(owner, id, { user_id: who.id });
  for (const maker of [owner, who]) await first.provers.prove(maker, id, { inputs: INPUTS, signal: never });
  const repository = new ProverRepository({ store: first.store });
  for (let from = 1; from < RECORDS; from += 1000) {
    const count = Math.min(1000, RECORDS - from);
    const commits = Array.from({ length: count }, () => repository.insertProof(who, proofOf(id)));
    await first.store.commit(mergeCommits(...commits));
  }
  return { test: await reboot(first, { idle: true }), owner, who, id };
}

const left = ({ store }: TestRegistry, who: Subject): number[] =>
  ["proof", "proof#prover"].map((table) => store.count([table, who.kind, who.id]));

/** With a new grant nothing of the old is found, and nothing new is made that would go with it. */
async function expectHidden({ test, who, id }: Left): Promise<void> {
  const [record] = test.store.range(["proof", who.kind, who.id, id], { limit: 1 });
  expect(test.provers.listProofs(who, id, PAGE)).toEqual({ body: [], total: 0 });
  if (record !== undefined)
    expect(await failureOf(() => test.provers.getProof(who, id, String(record.key.at(-1))))).toMatchObject({
      code: "not_found",
    });
  expect(await failureOf(() => test.provers.prove(who, id, { inputs: INPUTS, signal: never }))).toMatchObject({
    code: "prover_busy",
  });
}

async function expectFresh({ test, owner, who, id }: Left): Promise<void> {
  const made = await test.provers.prove(who, id, { inputs: INPUTS, signal: never });
  expect(test.provers.listProofs(who, id, PAGE).body.map((proof) => proof.id)).toEqual([made.id]);
  expect(test.provers.listProofs(owner, id, PAGE).total).toBe(1);
}

/** A store that dies with the first page of proofs: before it is written, or after it. */
function dyingAtPage(when: "before" | "after", died: () => void): (store: Store) => Store {
  let isDead = false;
  return (store) => ({
    get: (key) => store.get(key),
    range: (prefix, options) => store.range(prefix, options),
    count: (prefix) => store.count(prefix),
    close: () => store.close(),
    commit: async (commit: StoreCommit) => {
      const isPage = commit.deletes?.some((key) => String(key[0]).startsWith("proof")) === true;
      if (isPage && !isDead && when === "after") await store.commit(commit);
      if (isPage || isDead) {
        isDead = true;
        died();
        throw new Error("the process died");
      }
      await store.commit(commit);
    },
  });
}

it("hides many proofs at once, and a job removes them and nobody else's", async () => {
  const given = await shared();
  const { test, owner, who, id } = given;
  await test.registry.sharing.leave(who, id);
  expect(await failureOf(() => test.provers.listProofs(who, id, PAGE))).toMatchObject({ code: "not_found" });
  expect(left(test, who)).toEqual([RECORDS, RECORDS]);
  await test.registry.sharing.grant(owner, id, { user_id: who.id });
  await expectHidden(given);
  await test.jobs.start();
  await eventually("nothing is left to do", () => test.store.count(["proof_removal"]) === 0);
  expect(left(test, who)).toEqual([0, 0]);
  await expectFresh(given);
  // Few go with the place.
  await test.registry.sharing.leave(who, id);
  expect(left(test, who)).toEqual([0, 0]);
  expect(test.store.count(["proof_removal"])).toBe(0);
});

it("removes them over lives that end before and after a page is written", async () => {
  const given = await shared();
  const { owner, who, id } = given;
  let { test } = given;
  await test.registry.sharing.leave(who, id);
  await test.registry.sharing.grant(owner, id, { user_id: who.id });
  for (const when of ["before", "after", "before", "after"] as const) {
    const before = left(test, who);
    let isDead = false;
    const wrapStore = dyingAtPage(when, () => {
      isDead = true;
    });
    test = await reboot(test, { idle: true, wrapStore });
    await test.registry.removeOrphans();
    await test.jobs.start();
    await eventually("death", () => isDead);
    test = await reboot(test, { idle: true });
    // One page of one table at a time, whole or not at all.
    const [records = 0, index = 0] = left(test, who);
    expect([records, index]).toEqual(when === "before" ? before : [records, before[1]]);
    if (when === "after") expect(records).toBeLessThan(before[0] ?? 0);
    await expectHidden({ ...given, test });
  }
  await test.registry.removeOrphans();
  await test.jobs.start();
  await eventually("nothing is left to do", () => test.store.count(["proof_removal"]) === 0);
  expect(left(test, who)).toEqual([0, 0]);
  await expectFresh({ ...given, test });
});
