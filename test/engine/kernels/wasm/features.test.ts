import { describe, expect, it } from "vitest";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { hasFusedMultiplyAdd } from "../../../../src/engine/kernels/wasm/features.js";
import { loadKernels } from "../../../../src/engine/kernels/kernels.js";
import { PACKAGE_ROOT } from "../../../../src/platform/files/package-root.js";

describe("choice of the field arithmetic", () => {
  it("takes fused multiply-add exactly where it is there", () => {
    expect(loadKernels().kind).toBe(hasFusedMultiplyAdd() ? "fma" : "integer");
  });

  it("takes the integers when asked to", () => {
    expect(loadKernels({ preferred: "integer" }).kind).toBe("integer");
  });

  it("decides the same in a worker thread that nobody gave a flag", async () => {
    const features = pathToFileURL(join(PACKAGE_ROOT, "dist", "src", "engine", "kernels", "wasm", "features.js")).href;
    const code = `import(${JSON.stringify(features)}).then(({ hasFusedMultiplyAdd }) => require("node:worker_threads").parentPort.postMessage(hasFusedMultiplyAdd()))`;
    const worker = new Worker(code, { eval: true });
    const answer = await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    await worker.terminate();
    expect(answer).toBe(hasFusedMultiplyAdd());
  });
});
