/** Threads hear which keys they must let go of, and may end. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { announceDroppedKey } from "../../../src/engine/process/dropped-keys.js";

it("tells every thread that listens, with small keys and with large ones", async () => {
  const workers = [1, 2].map(() => new Worker(new URL("../../support/dropped-keys.worker.mjs", import.meta.url)));
  const heard = async (): Promise<unknown[]> =>
    (await Promise.all(workers.map(async (worker) => (await once(worker, "message")) as unknown[]))).flat();
  expect(await heard()).toEqual(["ready", "ready"]);
  for (const [id, bytes] of [
    ["small", 1],
    ["large", 2 ** 30],
  ] as const) {
    const answers = heard();
    announceDroppedKey({ id, bytes });
    expect(await answers).toEqual([id, id]);
  }
  const exits = Promise.all(workers.map(async (worker) => (await once(worker, "exit")) as unknown[]));
  for (const worker of workers) worker.postMessage("end");
  expect(await exits).toEqual([[0], [0]]);
});
