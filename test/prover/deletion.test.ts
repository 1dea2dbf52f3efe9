/** What the deletion of a prover takes with it, on a real store and a real vault. */
import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { newId } from "../../src/platform/ids.js";
import type { StoredProver } from "../../src/prover/repository.js";
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
    const paths = provers.map(({ id }) => {
      const record = test.store.get<StoredProver>(["prover", who.kind, who.id, id]);
      return test.artifacts.resolve(record!.value.build.artifacts["source.json"]!.sha256);
    });
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
