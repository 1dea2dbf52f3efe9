/** Which limits of the sandbox hold, with the system's own tools and without them. */
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  missingLimits,
  probeSandboxTools,
  SANDBOX_LIMITS,
  sandboxed,
  type SandboxLimit,
} from "../../../src/platform/pool/process-sandbox.js";
import { openSandbox } from "../../../src/platform/pool/sandbox.js";
import { recordedLog } from "../../support/silent-log.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const LIMITS = { cpuSeconds: 1.2, fileBytesMax: 1000, niceness: 15 };
/** All but `memory`, which needs no tool but /proc. */
const LIMITS_OF_TOOLS: readonly SandboxLimit[] = ["network", "privileges", "resources", "priority"];

let folder: string;
beforeAll(() => {
  folder = newFolder("sandbox");
});
afterAll(() => {
  removeFolder(folder);
});

describe("the tools of the sandbox", () => {
  it("are all missing where PATH names no folder that has them", async () => {
    for (const searchPath of [folder, "", ".", `${folder}/nowhere`]) {
      const tools = await probeSandboxTools(searchPath);
      expect(missingLimits(tools), searchPath).toEqual(LIMITS_OF_TOOLS);
      expect(sandboxed(["program"], LIMITS, tools)).toEqual(["program"]);
    }
  });

  it("are looked for in the usual folders where PATH is not set", async () => {
    const path = process.env.PATH;
    const found = missingLimits(await probeSandboxTools("/usr/bin:/bin"));
    delete process.env.PATH;
    try {
      expect(missingLimits(await probeSandboxTools())).toEqual(found);
    } finally {
      process.env.PATH = path;
    }
  });

  it("count as missing where they exist and do not work", async () => {
    const broken = join(folder, "broken");
    mkdirSync(broken);
    for (const name of ["unshare", "setpriv", "prlimit", "nice"]) symlinkSync("/bin/false", join(broken, name));
    expect(missingLimits(await probeSandboxTools(broken))).toEqual(LIMITS_OF_TOOLS);
  });

  it("wrap a program in those that the system has, in an order in which each keeps its effect", async () => {
    const tools = await probeSandboxTools();
    const command = sandboxed(["program"], LIMITS, tools);
    const places = [tools.nice, tools.noNetwork?.[0], tools.noPrivileges?.[0], tools.prlimit, "program"].flatMap(
      (word) => (word === undefined ? [] : [command.indexOf(word)]),
    );
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places).not.toContain(-1);
    if (tools.prlimit !== undefined)
      expect(command).toEqual(expect.arrayContaining(["--cpu=2:7", "--fsize=1000", "--nofile=1024"]));
  });
});

describe("the server's sandbox", () => {
  it("warns once of every missing limit, with a sentence for each", async () => {
    const log = recordedLog();
    const sandbox = await openSandbox({ mode: "auto", searchPath: folder }, { log });
    expect(sandbox.refusal).toBeUndefined();
    expect(log.lines).toHaveLength(1);
    const [line] = log.lines;
    expect(line).toMatchObject({ level: "warn", fields: { count: 4 } });
    for (const limit of LIMITS_OF_TOOLS) expect(line!.message).toContain(`${limit}: ${SANDBOX_LIMITS[limit]}.`);
    expect(line!.message).not.toContain("refused");
  });

  it("says that compiling is refused where it is required", async () => {
    const log = recordedLog();
    const sandbox = await openSandbox({ mode: "require", searchPath: folder }, { log });
    expect(sandbox.refusal).toMatch(/network, privileges, resources, priority$/);
    expect(log.lines.map(({ message }) => message)).toEqual([expect.stringContaining("compiling is refused")]);
  });

  it("says nothing and refuses nothing where every limit holds", async () => {
    const log = recordedLog();
    const sandbox = await openSandbox({ mode: "require" }, { log });
    expect(sandbox.refusal === undefined).toBe(sandbox.missing.length === 0);
    expect(log.lines).toHaveLength(sandbox.missing.length === 0 ? 0 : 1);
  });
});
