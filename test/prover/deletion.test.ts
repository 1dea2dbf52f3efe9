/** What the deletion of a prover takes with it, on a real store and a real vault. */
import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { newId } from "../../src/platform/ids.js";
import { mergeCommits } from "../../src/platform/store/commits.js";
import { ProverRepository, type StoredProver } from "../../src/prover/repository.js";
import type { ProofRecord } from "../../src/prover/schemas.js";
import { removeFolder } from "../support/temporary-folder.js";
import { subject } from "../vault/support.js";
import {
  PAGE,
  eventually,
  failureOf,
  never,
  openTestRegistry,
  provision,
  register,
  type TestRegistry,
} from "./support.js";

let test: TestRegistry;
const INPUTS = { X: "3", Y: "35" };

beforeAll(async () => {
  test = await openTestRegistry();
});
afterAll(async () => {
  await test.close({ keep: true });
  removeFolder(test.folder);
});

/** What is kept of a proof. */
function proofOf(proverId: string): ProofRecord {
  return {
    ...{ id: newId(), created_at: "2026-01-01T00:00:00.000Z", prover_id: proverId, note_index: 0 },
    ...{ hash: "0".repeat(64), statement_hash: "0".repeat(64), public_signals: [], bytes: 128 },
    ...{ origin: "prove", meta: {}, timings: null },
  };
}

describe("deleting a prover", () => {
  it("takes its vault, proofs, notes, stores and keys with it", async () => {
    const who = subject();
    const prover = await provision(test.provers, who);
    const { id: proofId } = await test.provers.prove(who, prover.id, { inputs: INPUTS, signal: never });
    const { path } = await test.provers.artifact(who, prover.id, "proving_key");
    await test.provers.delete(who, prover.id);
    expect(await failureOf(() => test.provers.get(who, prover.id))).toMatchObject({ code: "not_found" });
    expect(await failureOf(() => test.vault.vault.getVault(who, prover.vault_id))).toMatchObject({ code: "not_found" });
    expect(() => readFileSync(path)).toThrow("ENOENT");
    const tables = [
      "prover",
      "prover#owner",
      "prover#pending",
      "prover#circuit",
      "proof",
      "proof#prover",
      "note",
      "note_node",
      "note_statement",
      "proof_store",
      "proof_store_user",
      "proof_store_root",
      "proof_store_size",
    ];
    for (const table of tables)
      expect(test.store.count([table, who.kind, who.id]), `${table}, proof ${proofId}`).toBe(0);
    expect(test.provers.list(who, PAGE).total).toBe(0);
  });

  it("ends its job, whether that runs or waits", async () => {
    const who = subject();
    const provers = [
      await register(test.provers, who),
      await register(test.provers, who),
      await register(test.provers, who),
      await register(test.provers, who),
    ];
    for (const { id } of provers) await test.provers.delete(who, id);
    await eventually("jobs are gone", () => provers.every(({ id }) => test.jobs.get(id) === undefined));
    expect(test.provers.list(who, PAGE).total).toBe(0);
  });

  it("takes its source with it when no other prover names it", async () => {
    const who = subject();
    const source = { source: "pragma circom 2.0.0; // deleted\ntemplate T() { input signal a; }" };
    const provers = [await register(test.provers, who, source), await register(test.provers, who, source)];
    const paths = await Promise.all(
      provers.map(async ({ id }) => {
        const record = test.store.get<StoredProver>(["prover", who.kind, who.id, id]);
        return await test.artifacts.resolve(record!.value.build.artifacts["source.json"]!.sha256);
      }),
    );
    expect(paths[0]).toBe(paths[1]);
    await test.provers.delete(who, provers[0]!.id);
    expect(existsSync(paths[0]!)).toBe(true);
    await test.provers.delete(who, provers[1]!.id);
    expect(existsSync(paths[0]!)).toBe(false);
  });

  it("works when its vault was deleted first", async () => {
    const who = subject();
    const prover = await provision(test.provers, who);
    await test.vault.vault.deleteVault(who, prover.vault_id);
    expect(await failureOf(() => test.provers.prove(who, prover.id, { inputs: INPUTS, signal: never }))).toMatchObject({
      code: "prover_keys_missing",
    });
    await test.provers.delete(who, prover.id);
    expect(test.provers.list(who, PAGE).total).toBe(0);
  });
});

describe("deleting a prover of many proofs", () => {
  it("hides them at once, and a job removes them and no others", async () => {
    const idle = await openTestRegistry({ idle: true });
    onTestFinished(async () => {
      await idle.close();
    });
    const who = subject();
    const [many, few] = [await register(idle.provers, who), await register(idle.provers, who)];
    const repository = new ProverRepository({ store: idle.store });
    const write = async (proverId: string, count: number): Promise<void> => {
      for (let from = 0; from < count; from += 1000) {
        const commits = Array.from({ length: Math.min(1000, count - from) }, () => proofOf(proverId)).map((proof) =>
          repository.insertProof(who, proof),
        );
        await idle.store.commit(mergeCommits(...commits));
      }
    };
    await write(many.id, 5000);
    await write(few.id, 256);
    const left = (): number[] =>
      ["proof", "proof#prover"].map((table) => idle.store.count([table, who.kind, who.id, many.id]));
    await idle.provers.delete(who, many.id);
    expect(await failureOf(() => idle.provers.listProofs(who, many.id, PAGE))).toMatchObject({ code: "not_found" });
    expect(left()).toEqual([5000, 5000]);
    await idle.jobs.start();
    await eventually("the proofs are gone", () => left().every((count) => count === 0));
    await eventually("nothing is left to do", () => idle.store.count(["proof_removal"]) === 0);
    expect(idle.provers.listProofs(who, few.id, PAGE).total).toBe(256);
    // Few go with their prover.
    await idle.provers.delete(who, few.id);
    expect(["proof", "proof#prover"].map((table) => idle.store.count([table, who.kind, who.id]))).toEqual([0, 0]);
  });

  it("goes on at the next start when its job has failed", async () => {
    const idle = await openTestRegistry({ idle: true });
    onTestFinished(async () => {
      await idle.close();
    });
    const who = subject();
    const { id } = await register(idle.provers, who);
    const repository = new ProverRepository({ store: idle.store });
    await idle.store.commit(
      mergeCommits(...Array.from({ length: 257 }, () => repository.insertProof(who, proofOf(id)))),
    );
    await idle.provers.delete(who, id);
    const mark = ["proof_removal", who.kind, who.id, id];
    for (const job of idle.jobs.ofSubject(mark)) await idle.jobs.cancel(job.id);
    await idle.registry.removeOrphans();
    await idle.jobs.start();
    await eventually("the proofs are gone", () => idle.store.get(mark) === undefined);
    expect(idle.store.count(["proof", who.kind, who.id])).toBe(0);
  });
});

describe("a create that is refused", () => {
  it("leaves no file of its source", async () => {
    const put = vi.spyOn(test.artifacts, "put");
    const request = { source: "// nobody's store", note_store_id: newId() };
    expect(await failureOf(() => register(test.provers, subject(), request))).toMatchObject({
      code: "store_unsuitable",
    });
    expect(put).not.toHaveBeenCalled();
    put.mockRestore();
  });
});
