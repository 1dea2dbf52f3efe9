/** Lives of one registry after another on the same data, for tests of crashes during provisioning. */
import { afterEach, expect } from "vitest";
import type { Subject } from "../../../src/platform/auth/principal.js";
import type { Store, StoreCommit } from "../../../src/platform/store/store.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { never, openTestRegistry, principalOf, type TestRegistry, type TestRegistryOptions } from "../support.js";

const opened: TestRegistry[] = [];
afterEach(async () => {
  for (const test of opened.splice(0)) {
    await test.close({ keep: true });
    removeFolder(test.folder);
  }
});

/** Begins the first life; the last one ends with the test. */
export async function boot(options: TestRegistryOptions = {}): Promise<TestRegistry> {
  const test = await openTestRegistry(options);
  opened.push(test);
  return test;
}

/** Ends one life of the server and begins the next on the same data. */
export async function reboot(test: TestRegistry, options: TestRegistryOptions = {}): Promise<TestRegistry> {
  opened.splice(opened.indexOf(test), 1);
  await test.close({ keep: true });
  return await boot({ ...options, folder: test.folder });
}

/**
 * A store that dies at the n-th commit: before it is written, or after it, with the answer lost. Nothing is written
 * from then on.
 * @param tables commits that put nothing into these are not counted, and are written
 */
export function dyingStore(
  at: number,
  when: "before" | "after",
  died: () => void,
  tables: readonly string[] = ["job", "prover"],
): (store: Store) => Store {
  let count = 0;
  return (store) => ({
    get: (key) => store.get(key),
    range: (prefix, options) => store.range(prefix, options),
    count: (prefix) => store.count(prefix),
    close: () => store.close(),
    commit: async (commit: StoreCommit) => {
      const isCounted = commit.puts?.some(({ key }) => tables.includes(String(key[0]))) === true;
      if (!isCounted) {
        await store.commit(commit);
        return;
      }
      count += 1;
      if (count === at && when === "after") await store.commit(commit);
      if (count >= at) {
        died();
        throw new Error("the process died");
      }
      await store.commit(commit);
    },
  });
}

/** Proves and verifies with a prover of the circuit `cubic`. */
export async function proveAndVerify(test: TestRegistry, owner: Subject, id: string): Promise<void> {
  const { proof } = await test.provers.prove(owner, id, { inputs: { X: "3", Y: "35" }, signal: never });
  expect(
    await test.provers.verify(principalOf(owner), id, {
      item: { witness: { Y: "35" }, proof },
      store: false,
      signal: never,
    }),
  ).toBe(true);
}
