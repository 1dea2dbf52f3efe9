/** What a log line may show of an error, seen in the lines that a process really writes. */
import { spawnSync } from "node:child_process";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";
import { stackFrames } from "../../src/platform/stack-frames.js";

class LibraryError extends Error {
  override readonly name = "LibraryError";
}

describe("stack frames", () => {
  it("name the error and its place, and never contain its message", () => {
    const frames = stackFrames(new LibraryError("bad key 0xc0ffee\n    at the second line of the message"));
    expect(frames).toMatch(/^LibraryError\n\s+at /);
    expect(frames).toContain("log.test.ts");
    expect(frames).not.toMatch(/c0ffee|second line/);
  });

  it("are twelve at most", () => {
    const deep = (depth: number): Error => (depth === 0 ? new Error("deep") : deep(depth - 1));
    expect(stackFrames(deep(40))?.split("\n")).toHaveLength(1 + 10);
    expect(stackFrames({ message: "no error" })).toBeUndefined();
  });
});

describe("the log", () => {
  it("writes an error's frames and not its message, whatever else the line has", () => {
    const module = JSON.stringify(pathToFileURL(`${PACKAGE_ROOT}/dist/src/platform/log.js`).href);
    const script = `
      import { createLog } from ${module};
      createLog("info").error("it broke", { code: "internal_error", error: new TypeError("the phrase is zoo zoo") });
      createLog("info").warn("it broke elsewhere", { stack: "Error\\n    at there.js:1:1" });
      createLog("info").debug("never", () => ({ error: new Error("zoo") }));
    `;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
    const lines = stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toEqual([
      expect.objectContaining({
        level: "error",
        msg: "it broke",
        code: "internal_error",
        stack: expect.stringMatching(/^TypeError\n +at /) as unknown,
      }),
      expect.objectContaining({ level: "warn", msg: "it broke elsewhere", stack: "Error\n    at there.js:1:1" }),
    ]);
    expect(stderr).not.toContain("zoo");
  });
});
