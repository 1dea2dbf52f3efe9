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
    "by %s: rejects waiting commits as of unknown outcome, accepts no more, and reports it once",
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

  it("makes `ready` reject when it dies at the start, and reports nothing else", async () => {
    const { queue, fatal } = queueThatDies("at start");
    await expect(queue.ready()).rejects.toBeInstanceOf(AppError);
    expect(fatal).toEqual([]);
  });

  it("reports a failed disk once, and accepts no more commits", async () => {
    const { queue, fatal } = queueThatDies("disk");
    await queue.ready();
    await expect(queue.commit(commit)).rejects.toMatchObject({ code: "storage_failed", status: 503 });
    expect(fatal).toHaveLength(1);
    await expect(queue.commit(commit)).rejects.toMatchObject({ code: "storage_failed" });
  });
});
