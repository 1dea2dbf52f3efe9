import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/platform/errors.js";
import { WriteQueue } from "../../../src/platform/store/write-queue.js";

const DYING_WRITER = fileURLToPath(new URL("../../support/dying-writer.worker.mjs", import.meta.url));

function queueThatDies(how: string): { queue: WriteQueue; fatal: AppError[] } {
  const fatal: AppError[] = [];
  const queue = new WriteQueue(
    { path: how, workerPath: DYING_WRITER, dataBytesMax: 1, reserveBytes: 1, queueLengthMax: 10 },
    {
      onBatch: () => undefined,
      onAppended: () => undefined,
      onFatal: (error) => {
        fatal.push(error);
      },
    },
  );
  return { queue, fatal };
}

const commit = { puts: [{ key: ["a"], value: 1 }] };

describe("the writer thread dies", () => {
  it.each(["throw", "exit"])(
    "by %s: what waited is told that its outcome is unknown, nothing is taken after, help is called once",
    async (how) => {
      const { queue, fatal } = queueThatDies(how);
      await queue.ready();
      const results = await Promise.allSettled([queue.commit(commit), queue.commit(commit)]);
      for (const result of results) {
        expect(result).toMatchObject({
          status: "rejected",
          reason: { code: "storage_failed", message: expect.stringContaining("unknown") as string },
        });
      }
      expect(fatal).toHaveLength(1);
      expect(queue.state).toBe("failed");
      await expect(queue.commit(commit)).rejects.toMatchObject({ code: "storage_failed" });
      await queue.close();
      expect(fatal).toHaveLength(1);
    },
  );

  it("at the start: opening fails, and that is all", async () => {
    const { queue, fatal } = queueThatDies("at start");
    await expect(queue.ready()).rejects.toBeInstanceOf(AppError);
    expect(fatal).toEqual([]);
  });

  it("a failed disk is reported once and ends all writing", async () => {
    const { queue, fatal } = queueThatDies("disk");
    await queue.ready();
    await expect(queue.commit(commit)).rejects.toMatchObject({ code: "storage_failed", status: 503 });
    expect(fatal).toHaveLength(1);
    await expect(queue.commit(commit)).rejects.toMatchObject({ code: "storage_failed" });
  });
});
