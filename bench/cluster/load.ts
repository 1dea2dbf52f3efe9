/** The load of the bench: callers that each commit one record after the other. */
import type { DurableStore } from "../../src/platform/store/lmdb/lmdb-store.js";

export interface Run {
  readonly commitsPerSec: number;
  /** Milliseconds of each commit. */
  readonly latencies: readonly number[];
}

export interface Load {
  /** Callers of each store, each with one commit on its way. */
  readonly callers: number;
  readonly seconds: number;
  /** Number of the first store, in the keys of what is written; 0 unless given. */
  readonly first?: number;
}

/** Commits one record each to stores. */
export async function commitFor(stores: readonly DurableStore[], { callers, seconds, first = 0 }: Load): Promise<Run> {
  const latencies: number[] = [];
  const startedMs = performance.now();
  const untilMs = startedMs + 1000 * seconds;
  const call = async (store: DurableStore, caller: string): Promise<void> => {
    for (let index = 0; performance.now() < untilMs; index += 1) {
      const askedMs = performance.now();
      await store.commit({ puts: [{ ...record(index), key: ["row", caller, index % 100] }] });
      latencies.push(performance.now() - askedMs);
    }
  };
  await Promise.all(
    stores.flatMap((store, index) =>
      Array.from(
        { length: callers },
        async (_, caller) => await call(store, `${String(first + index)}-${String(caller)}`),
      ),
    ),
  );
  return { commitsPerSec: (1000 * latencies.length) / (performance.now() - startedMs), latencies };
}

/** About the size of a prover's record. */
export function record(index: number): { readonly key: (string | number)[]; readonly value: Record<string, string> } {
  const id = `id-${String(index)}`;
  return { key: ["record", index], value: { id, created_at: "2026-01-01T00:00:00.000Z", note: "n".repeat(300) } };
}
