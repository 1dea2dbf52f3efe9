// A writer thread that opens well and then dies as workerData.path says, for test/platform/store/write-queue.test.ts.
import { parentPort, workerData } from "node:worker_threads";

if (workerData.path === "at start") throw new Error("cannot open the store");
parentPort.postMessage({ settled: 0, failures: [], state: "ready" });
parentPort.once("message", () => {
  switch (workerData.path) {
    case "throw":
      throw new Error("a bug in the writer");
    case "exit":
      process.exit(0);
      break;
    case "disk":
      parentPort.postMessage({
        settled: 1,
        failures: [{ index: 0, failure: { code: "storage_failed", message: "EIO" } }],
        state: "failed",
      });
  }
});
