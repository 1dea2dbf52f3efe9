/** Who answers for the work of an application, and takes turns for it. */
import { expect, it } from "vitest";
import { TenantRepository, type ApplicationRecord } from "../../../src/identity/tenants/tenant-repository.js";
import { Turns } from "../../../src/identity/tenants/turns.js";
import { FairQueue } from "../../../src/platform/concurrency/fair-queue.js";
import type { StoreKey } from "../../../src/platform/store/store.js";
import { MemoryStore } from "../../support/memory-store.js";

const APPLICATION = "5f0a3f0e-6d7f-4a52-9c41-0d1c3f7b8a10";

const application = (id: string, more: Partial<ApplicationRecord>): ApplicationRecord => ({
  id,
  created_at: "2026-01-01T00:00:00.000Z",
  name: id,
  description: null,
  type: null,
  network_id: null,
  user_id: null,
  organization_id: null,
  config: {},
  hidden: false,
  ...more,
});

class CountingStore extends MemoryStore {
  reads = 0;

  override get<T>(key: StoreKey) {
    this.reads += 1;
    return super.get<T>(key);
  }
}

async function turnsOf(...records: readonly ApplicationRecord[]) {
  const store = new CountingStore();
  const tenants = new TenantRepository({ store });
  for (const record of records) await store.commit(tenants.applications.insertCommit(record));
  return { store, turns: new Turns({ tenants }) };
}

it.each([
  ["of an application is its maker's", { user_id: "ada" }, "user:ada"],
  [
    "of an organization's application is the organization's",
    { user_id: "ada", organization_id: "o" },
    "organization:o",
  ],
  ["of an application of nobody is its own", {}, "application:app"],
])("the turn %s", async (_what, members, name) => {
  const { turns } = await turnsOf(application("app", members));
  expect(turns.of({ kind: "application", id: "app" })).toBe(name);
});

it("are found by the name of the subject as by the subject, and a name that is none keeps its own", async () => {
  const { turns } = await turnsOf(application(APPLICATION, { user_id: "ada" }));
  expect(turns.ofName(`application:${APPLICATION}`)).toBe("user:ada");
  for (const name of [`user:${APPLICATION}`, "application:app", "public"]) expect(turns.ofName(name)).toBe(name);
});

it("the turns of users, organizations and what is unknown are their own", async () => {
  const { turns } = await turnsOf();
  for (const kind of ["user", "organization", "application"] as const)
    expect(turns.of({ kind, id: "x" })).toBe(`${kind}:x`);
});

it("is known without the store after the first time", async () => {
  const { turns, store } = await turnsOf(application("app", { user_id: "ada" }));
  turns.of({ kind: "application", id: "app" });
  const before = store.reads;
  for (let i = 0; i < 100; i += 1) turns.of({ kind: "application", id: "app" });
  turns.of({ kind: "user", id: "ada" });
  expect(store.reads).toBe(before);
});

it("a person with a hundred applications takes every other turn beside one other", async () => {
  const ids = Array.from({ length: 100 }, (_, at) => `app${String(at)}`);
  const { turns } = await turnsOf(...ids.map((id) => application(id, { user_id: "ada" })));
  const queue = new FairQueue<string>();
  for (const id of ids) queue.add(turns.of({ kind: "application", id }), "ada");
  for (let i = 0; i < 3; i += 1) queue.add(turns.of({ kind: "user", id: "bob" }), "bob");
  const served = Array.from({ length: 6 }, () => {
    const next = queue.take();
    queue.release(next?.owner ?? "");
    return next?.item;
  });
  expect(served).toEqual(["ada", "bob", "ada", "bob", "ada", "bob"]);
});
