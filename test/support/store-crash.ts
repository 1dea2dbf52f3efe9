/** The kill -9 loop on the store itself: what the default suite runs briefly, and the slow one at length. */
import { fileURLToPath } from "node:url";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import type { DurableStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { crashLoop } from "./crash.js";
import type { CrashFigures } from "./crash.js";
import { seededRandom } from "./seeded.js";
import { recordedLog } from "./silent-log.js";
import { newFolder, removeFolder } from "./temporary-folder.js";

const CHILD = fileURLToPath(new URL("store-crash-child.mjs", import.meta.url));
/** Rounds on one folder before a fresh one, so that the store stays small enough to be read whole after each kill. */
const ROUNDS_PER_FOLDER = 5;

/** Kills a writing process again and again; prints seed and figures as one line each. */
export async function killStoreWriters(options: {
  rounds: number;
  killAfterMs: readonly [number, number];
}): Promise<CrashFigures> {
  const random = seededRandom();
  console.log(`store crash loop: PROOFWRIGHT_TEST_SEED=${random.seed}`);
  let folder = newFolder("crash");
  let promised: { round: number; ids: readonly string[] }[] = [];
  try {
    const figures = await crashLoop({
      ...options,
      random,
      child: (round) => ({ command: [process.execPath, CHILD, folder, String(round)], readyLine: "ready" }),
      examine: async (round, acknowledged) => {
        promised.push({ round, ids: acknowledged });
        const started = performance.now();
        const store = await openStore({ path: folder }, { log: recordedLog() });
        const reopenMs = performance.now() - started;
        const found = promised.map((entry) => examineRound(store, entry.round, entry.ids));
        await store.close();
        if ((round + 1) % ROUNDS_PER_FOLDER === 0) {
          removeFolder(folder);
          folder = newFolder("crash");
          promised = [];
        }
        return { lost: total(found.map((one) => one.lost)), half: total(found.map((one) => one.half)), reopenMs };
      },
    });
    console.log(JSON.stringify({ test: "store-crash", ...figures }));
    return figures;
  } finally {
    removeFolder(folder);
  }
}

function examineRound(
  store: DurableStore,
  round: number,
  acknowledged: readonly string[],
): { lost: number; half: number } {
  const [provers, vaults, keys] = ["prover", "vault", "key"].map(
    (table) => new Set(store.range([table, round]).map((record) => record.key[2])),
  );
  const all = new Set([...provers!, ...vaults!, ...keys!]);
  const half = [...all].filter((id) => !(provers!.has(id) && vaults!.has(id) && keys!.has(id))).length;
  return { lost: acknowledged.filter((id) => !all.has(id)).length, half };
}

function total(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
