/** Nodes that count together, so that a lost, a doubled or a half-done commit shows in the sums. */
import { expect } from "vitest";
import type { NodeStore } from "../../src/platform/cluster/cluster-store.js";
import { StoreConflict } from "../../src/platform/store/store.js";

export type Answer = "done" | "unknown";

/** Adds one to a counter and a record of its own beside it; returns what was answered. */
async function count(store: NodeStore, id: string): Promise<Answer> {
  for (;;) {
    try {
      await store.confirm();
      const read = store.get<number>(["counter"]);
      await store.commit({
        checks: [{ key: ["counter"], version: read?.version ?? "absent" }],
        puts: [
          { key: ["counter"], value: (read?.value ?? 0) + 1 },
          { key: ["mark", id], value: (read?.value ?? 0) + 1 },
        ],
        appends: [{ chain: "audit", value: id }],
      });
      return "done";
    } catch (error) {
      const { code } = error as { readonly code?: string };
      if (code === "outcome_unknown") return "unknown";
      if (!(error instanceof StoreConflict) && code !== "store_unreachable") throw error;
    }
  }
}

/** Every answered count is there once, and the counter, the marks and the log say the same on all nodes. */
export async function expectExact(nodes: readonly NodeStore[], answers: ReadonlyMap<string, string>): Promise<void> {
  for (const store of nodes) {
    await store.confirm();
    const marks = store.range<number>(["mark"]);
    const kept = new Set(marks.map(({ key }) => key[1]));
    for (const [id, answer] of answers) if (answer === "done") expect(kept.has(id), id).toBe(true);
    const total = marks.length;
    expect(store.get(["counter"])?.value).toBe(total);
    const values = marks.map(({ value }) => value).sort((a, b) => a - b);
    expect(values).toEqual(Array.from({ length: total }, (_, index) => index + 1));
    const logged = store.range<{ event: string }>(["audit"]).map(({ value }) => value.event);
    expect([...logged].sort()).toEqual([...kept].sort());
    expect(await store.integrityReport()).toMatchObject({ sound: true });
    expect(store.range([])).toEqual(nodes[0]!.range([]));
  }
}

/** Lets each node count so many times, all at once. Returns what was answered to each. */
export async function countOn(nodes: readonly NodeStore[], rounds: number): Promise<ReadonlyMap<string, Answer>> {
  const answers = new Map<string, Answer>();
  await countWhile(nodes, answers, (round) => round < rounds);
  return answers;
}

/** Lets each node count, all at once, as long as its next round shall be; puts the answers into the map. */
export async function countWhile(
  nodes: readonly NodeStore[],
  answers: Map<string, Answer>,
  goesOn: (round: number) => boolean,
): Promise<void> {
  await Promise.all(
    nodes.map(async (store, node) => {
      for (let round = 0; goesOn(round); round += 1) {
        const id = `${String(node)}-${String(round)}`;
        answers.set(id, await count(store, id));
      }
    }),
  );
}
