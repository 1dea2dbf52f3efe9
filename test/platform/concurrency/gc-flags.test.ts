import { execFileSync } from "node:child_process";
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

describe("the flags of the garbage collector", () => {
  it("are known to V8, and make each thread collect its young objects by itself", () => {
    const output = execFileSync(
      process.execPath,
      ["--trace-gc", "--trace-gc-nvp", "--input-type=module", "-e", PROGRAM],
      { encoding: "utf8" },
    );
    const scavenges = output.split("\n").filter((line) => line.includes(" gc=s "));
    expect(scavenges.length).toBeGreaterThan(0);
    for (const line of scavenges) expect(line).toContain(" background.scavenge.parallel=0.00 ");
    expect(output).not.toMatch(/flag/i);
  });
});
