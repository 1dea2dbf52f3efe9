/** What the tests of crashes during provisioning share. */
import { expect } from "vitest";
import type { Subject } from "../../../src/platform/auth/principal.js";
import type { Store, StoreCommit } from "../../../src/platform/store/store.js";
import { never, principalOf, type TestRegistry } from "../support.js";

/**
 * A store that dies at the n-th commit: before it is written, or after it, with the answer lost. Nothing is written
 * from then on.
 */
export function dyingStore(at: number, when: "before" | "after", died: () => void): (store: Store) => Store {
  let count = 0;
  return (store) => ({
    get: (key) => store.get(key),
    range: (prefix, options) => store.range(prefix, options),
    count: (prefix) => store.count(prefix),
    close: () => store.close(),
    commit: async (commit: StoreCommit) => {
      const isProvisioning = commit.puts?.some(({ key }) => key[0] === "job" || key[0] === "prover") === true;
      if (!isProvisioning) {
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
