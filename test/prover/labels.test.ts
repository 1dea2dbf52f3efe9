/** Tags, free data and the filters by them, on a real store, a real vault and real jobs. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { META_BYTES_MAX } from "../../src/prover/labels/label-schemas.js";
import { Labelling } from "../../src/prover/labels/labelling.js";
import { ProverRepository } from "../../src/prover/repository.js";
import { mergeCommits } from "../../src/platform/store/commits.js";
import { systemClock } from "../../src/platform/clock.js";
import type { UpdateProver } from "../../src/prover/labels/label-schemas.js";
import type { Subject } from "../../src/platform/auth/principal.js";
import { subject } from "../vault/support.js";
import { PAGE, failureOf, never, openTestRegistry, provision, register, type TestRegistry } from "./support.js";

let test: TestRegistry;
let idle: TestRegistry;
let labelling: Labelling;
const INPUTS = { X: "3", Y: "35" };

beforeAll(async () => {
  test = await openTestRegistry();
  idle = await openTestRegistry({ idle: true });
  labelling = labellingOf(test);
});
afterAll(async () => {
  await test.close();
  await idle.close();
});
afterEach(() => {
  vi.restoreAllMocks();
});

function labellingOf({ store }: TestRegistry): Labelling {
  return new Labelling({ store, repository: new ProverRepository({ store }), clock: systemClock });
}
const change = async (owner: Subject, id: string, said: UpdateProver): Promise<void> => {
  await labelling.update(owner, id, said);
};

describe("a tag", () => {
  it("names a prover once it is provisioned, and moves to the next one in the commit that provisions it", async () => {
    const who = subject();
    const waiting = await register(idle.provers, who, { name: "withdraw", tags: ["latest", "v1"] });
    expect(waiting).toMatchObject({ tags: [], pending_tags: ["latest", "v1"] });
    expect(await failureOf(() => labellingOf(idle).idOf(who, "withdraw:v1"))).toMatchObject({ code: "not_found" });
    const first = await provision(test.provers, who, { name: "withdraw", tags: ["latest", "v2"] });
    expect(first).toMatchObject({ tags: ["latest", "v2"], pending_tags: [] });
    const named: string[] = [];
    const commit = test.store.commit.bind(test.store);
    vi.spyOn(test.store, "commit").mockImplementation(async (written) => {
      await commit(written);
      named.push(labelling.idOf(who, "withdraw:latest"));
    });
    const second = await provision(test.provers, who, { name: "withdraw", tags: ["latest"] });
    expect(new Set(named)).toEqual(new Set([first.id, second.id]));
    const lastOfFirst = named.lastIndexOf(first.id);
    expect(named.slice(0, lastOfFirst + 1)).toEqual(named.slice(0, lastOfFirst + 1).map(() => first.id));
    expect(test.provers.get(who, first.id).tags).toEqual(["v2"]);
    expect(labelling.idOf(who, "withdraw:v2")).toBe(first.id);
  });

  it("does not go back to a prover that was registered before the one that has it", async () => {
    const who = subject();
    const late = await register(idle.provers, who, { name: "a", tags: ["x"] });
    const early = await register(idle.provers, who, { name: "a", tags: ["x"] });
    const repository = new ProverRepository(idle);
    const provisioned = async (id: string): Promise<void> => {
      const record = repository.find(who, id)!;
      const next = { ...record.value, status: "provisioned" as const };
      await idle.store.commit(mergeCommits(repository.update(record, next), repository.labels.provisioning(next)));
    };
    // Later than the other, whatever the clock says.
    const labels = idle.store.get<object>(["prover_labels", who.kind, who.id, early.id])!;
    await idle.store.commit({ puts: [{ key: labels.key, value: { ...labels.value, tagged_at: "9999" } }] });
    await provisioned(early.id);
    await provisioned(late.id);
    expect(labellingOf(idle).idOf(who, "a:x")).toBe(early.id);
    expect(idle.provers.get(who, late.id)).toMatchObject({ tags: [], pending_tags: [] });
  });

  it("moves by the latest request also when the clock was set back", async () => {
    const who = subject();
    const first = await provision(test.provers, who, { name: "back", tags: ["x", "y"] });
    const second = await provision(test.provers, who, { name: "back" });
    const taken = test.store.get<object>(["prover_tag", who.kind, who.id, "back", "y"])!;
    const ahead = new Date(Date.now() + 86_400_000).toISOString();
    for (const tag of ["x", "y"])
      await test.store.commit({
        puts: [{ key: ["prover_tag", who.kind, who.id, "back", tag], value: { ...taken.value, tagged_at: ahead } }],
      });
    await change(who, second.id, { tags: ["x"] });
    expect(labelling.idOf(who, "back:x")).toBe(second.id);
    await change(who, first.id, { tags: ["x", "y"] });
    expect(labelling.idOf(who, "back:x")).toBe(first.id);
    await change(who, second.id, { tags: ["x"] });
    expect(labelling.idOf(who, "back:x")).toBe(second.id);
    const third = await provision(test.provers, who, { name: "back", tags: ["x", "y"] });
    expect(labelling.idOf(who, "back:x")).toBe(third.id);
    expect(labelling.idOf(who, "back:y")).toBe(third.id);
  });

  it("is refused to a prover that failed", async () => {
    const who = subject();
    const { id } = await register(idle.provers, who, { name: "failed" });
    const repository = new ProverRepository(idle);
    const record = repository.find(who, id)!;
    await idle.store.commit(repository.update(record, { ...record.value, status: "failed" }));
    const update = async (said: UpdateProver): Promise<void> => {
      await labellingOf(idle).update(who, id, said);
    };
    expect(await failureOf(() => update({ tags: ["v1"], meta: { a: "1" } }))).toMatchObject({
      code: "prover_not_provisioned",
      status: 409,
    });
    await update({ tags: [], meta: { a: "2" } });
    expect(idle.provers.get(who, id)).toMatchObject({ tags: [], meta: { a: "2" } });
  });

  it("is its owner's, exact in its case, and gone with its prover", async () => {
    const who = subject();
    const { id } = await provision(test.provers, who, { name: "Cube.1", tags: ["RC_1"] });
    expect(labelling.idOf(who, "Cube.1:RC_1")).toBe(id);
    expect(labelling.idOf(who, id)).toBe(id);
    for (const [owner, reference] of [
      [who, "Cube.1:rc_1"],
      [who, "cube.1:RC_1"],
      [who, "Cube.1:"],
      [subject(), "Cube.1:RC_1"],
    ] as const)
      expect(await failureOf(() => labelling.idOf(owner, reference))).toMatchObject({ code: "not_found" });
    await test.provers.delete(who, id);
    expect(await failureOf(() => labelling.idOf(who, "Cube.1:RC_1"))).toMatchObject({ code: "not_found" });
    for (const table of ["prover_tag", "prover_labels"])
      expect(test.store.count([table, who.kind, who.id]), table).toBe(0);
  });

  it("moves by a change at once, and not when another takes it in between", async () => {
    const who = subject();
    const [one, two] = [
      await provision(test.provers, who, { name: "c", tags: ["a", "b"] }),
      await provision(test.provers, who, { name: "c" }),
    ];
    await change(who, two.id, { tags: ["b"] });
    expect(test.provers.get(who, one.id).tags).toEqual(["a"]);
    expect(test.provers.get(who, two.id).tags).toEqual(["b"]);
    await change(who, one.id, { tags: [] });
    expect(await failureOf(() => labelling.idOf(who, "c:a"))).toMatchObject({ code: "not_found" });
    expect(labelling.idOf(who, "c:b")).toBe(two.id);
    // A tag that was taken away does not come back when the taker is deleted.
    await change(who, one.id, { tags: ["b"] });
    await test.provers.delete(who, one.id);
    expect(test.provers.get(who, two.id).tags).toEqual([]);
    await Promise.all([change(who, two.id, { tags: ["z"] }), change(who, two.id, { tags: ["y"] })]);
    expect(test.provers.get(who, two.id).tags).toHaveLength(1);
    expect(test.store.count(["prover_tag", who.kind, who.id])).toBe(1);
  });

  it("needs a name without blanks or colons, and is given once", async () => {
    const who = subject();
    const refused = async (request: object): Promise<string | undefined> =>
      (await failureOf(() => register(idle.provers, who, request))).details[0]?.path;
    for (const name of ["two words", "a:b", ".a", "a/b", "x".repeat(129), "ü"])
      expect(await refused({ name, tags: ["v1"] }), name).toBe("name");
    expect(await refused({ name: "a", tags: ["v1", "v1"] })).toBe("tags");
    expect(await register(idle.provers, who, { name: "x".repeat(128), tags: ["v1"] })).toMatchObject({
      pending_tags: ["v1"],
    });
    const { id } = await register(idle.provers, who, { name: "two words" });
    expect(await failureOf(() => labellingOf(idle).update(who, id, { tags: ["v1"] }))).toMatchObject({
      details: [{ path: "name" }],
    });
  });
});

describe("free data", () => {
  it("is kept with provers and proofs, replaced by a change, and found by its values", async () => {
    const who = subject();
    const meta = { team: "payments", constructor: "none" };
    const { id, updated_at } = await provision(test.provers, who, { meta, tags: ["m"] });
    const other = await provision(test.provers, who, { meta: { team: "risk" } });
    const found = (filters: object): string[] =>
      test.provers.list(who, { ...PAGE, ...filters }).body.map((row) => row.id);
    expect(found({ meta: { team: "payments" } })).toEqual([id]);
    expect(found({ meta: { team: "payments", constructor: "none" } })).toEqual([id]);
    expect(found({ meta: { team: "pay" } })).toEqual([]);
    expect(found({ meta: { toString: "x" } })).toEqual([]);
    expect(found({ tag: "m" })).toEqual([id]);
    expect(found({ tag: "m", meta: { team: "risk" } })).toEqual([]);
    await change(who, id, { meta: { order: "7" }, description: "seven" });
    expect(test.provers.get(who, id)).toMatchObject({ meta: { order: "7" }, tags: ["m"], description: "seven" });
    expect(test.provers.get(who, id).updated_at > updated_at).toBe(true);
    expect(found({ meta: { team: "payments" } })).toEqual([]);
    expect(found({ name: "cubic", proving_scheme: "groth16", curve: "BN254", status: "provisioned" })).toEqual([
      id,
      other.id,
    ]);
    await change(who, id, { description: null });
    expect(test.provers.get(who, id)).toMatchObject({ meta: { order: "7" }, description: null });
    const made = await test.provers.prove(who, id, { inputs: INPUTS, meta: { order: "8" }, signal: never });
    await test.provers.prove(who, id, { inputs: INPUTS, signal: never });
    expect(made.meta).toEqual({ order: "8" });
    const proofs = (filters: object): string[] =>
      test.provers.listProofs(who, id, { ...PAGE, ...filters }).body.map((row) => row.id);
    expect(proofs({ meta: { order: "8" } })).toEqual([made.id]);
    expect(proofs({ meta: { order: "8" }, hash: made.hash, statement_hash: made.statement_hash })).toEqual([made.id]);
    expect(proofs({ meta: { order: "9" } })).toEqual([]);
    expect(proofs({})).toHaveLength(2);
  });

  it("has a bounded number of bytes", async () => {
    const who = subject();
    const meta = Object.fromEntries(
      Array.from({ length: 16 }, (_, at) => [`a${String(at).padStart(2, "0")}`, "ä".repeat(250)]),
    );
    const bytes = 16 * 503;
    const room = META_BYTES_MAX - bytes - 1;
    expect(await register(idle.provers, who, { meta: { ...meta, z: "z".repeat(room) } })).toMatchObject({
      meta: { z: "z".repeat(room) },
    });
    expect(
      await failureOf(() => register(idle.provers, who, { meta: { ...meta, z: "z".repeat(room + 1) } })),
    ).toMatchObject({ code: "invalid_request", details: [{ path: "meta" }] });
  });
});
