import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";

const GC_FLAGS = pathToFileURL(join(PACKAGE_ROOT, "dist", "src", "platform", "concurrency", "gc-flags.js")).href;
/** Makes garbage of which a part survives, and buffers with it. */
const PROGRAM = `
  import { applyGcFlags } from ${JSON.stringify(GC_FLAGS)};
  applyGcFlags();
  const kept = [];
  for (let i = 0; i < 400_000; i += 1) kept[i % 50_000] = i % 8 === 0 ? new ArrayBuffer(64) : { i, text: [i] };
`;

/** From here on V8 lets helpers take part in a collection all the same. */
const NODE_WITH_HELPERS = 26;
const SCAVENGE = / gc=s |"gc":"s"/;
const HELPERS_MS = /background\.scavenge\.parallel"?[=:]([0-9.]+)/;

describe("the flags of the garbage collector", () => {
  it("are known to V8, and make each thread collect its young objects by itself", () => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ["--trace-gc", "--trace-gc-nvp", "--input-type=module", "-e", PROGRAM],
      { encoding: "utf8" },
    );
    expect(stderr).not.toMatch(/flag/i);
    expect(status).toBe(0);
    const helpersMs = stdout
      .split("\n")
      .filter((line) => SCAVENGE.test(line))
      .map((line) => Number(HELPERS_MS.exec(line)?.[1]));
    expect(helpersMs).not.toEqual([]);
    expect(helpersMs).not.toContain(NaN);
    if (Number(process.versions.node.split(".")[0]) < NODE_WITH_HELPERS)
      expect(helpersMs.filter((ms) => ms > 0)).toEqual([]);
  });
});
