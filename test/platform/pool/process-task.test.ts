import { readdir, rm, utimes, writeFile, mkdir, symlink } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PART_BYTES_MIN, PARTS_MAX } from "../../../src/engine/process/process-message.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";
import { missingLimits, probeSandboxTools } from "../../../src/platform/pool/process-sandbox.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import type { ProcessTaskLimits } from "../../../src/platform/pool/process-task.js";
import { Sandbox } from "../../../src/platform/pool/sandbox.js";
import { makeTaskFolder } from "../../../src/platform/pool/task-folders.js";
import { eventually } from "../../support/eventually.js";
import { newFolder } from "../../support/temporary-folder.js";

const LIMITS: ProcessTaskLimits = {
  deadlineMs: 30_000,
  cpuSeconds: 30,
  memoryBytesMax: 512 * 1024 ** 2,
  answerBytesMax: 1024 ** 2,
  heapMegabytesMax: 256,
  niceness: 0,
};

const ENTRY = pathToFileURL(join(PACKAGE_ROOT, "dist/src/engine/process/process-entry.js")).href;

/**
 * Bodies of handlers; each becomes the entry script of a process. `tools` lets a script reach the modules it misbehaves
 * with.
 */
const SCRIPTS = {
  echo: "request",
  bytes: "({ bytes: request.bytes.map((byte) => byte ^ 1), sum: request.bytes.length })",
  environment: "({ env: Object.keys(process.env), cwd: process.cwd(), group: process.pid })",
  fail: "(() => { throw new Error('secret path ' + process.cwd()); })()",
  exit: "process.exit(7)",
  loop: "(() => { for (;;); })()",
  heap: "(() => { const kept = []; for (;;) kept.push(new Array(1e5).fill({ x: 1 })); })()",
  buffers: "(() => { const kept = []; for (;;) kept.push(Buffer.alloc(16 * 1024 * 1024, 1)); })()",
  program:
    "(() => { const code = 'const kept = []; for (;;) kept.push(Buffer.alloc(16 * 1024 * 1024, 1));'; tools.childProcess.spawnSync(process.execPath, ['-e', code]); return 'done'; })()",
  flood: "Buffer.alloc(2 * 1024 * 1024)",
  print:
    "(() => { const text = 'x'.repeat(65536); for (let i = 0; i < 2000; i += 1) { tools.fs.writeSync(1, text); tools.fs.writeSync(2, text); } return 'done'; })()",
  bigFile:
    "(() => { try { for (let i = 0; i < 64; i += 1) tools.fs.appendFileSync('big', Buffer.alloc(1024 * 1024)); } catch (error) { return error.code; } return tools.fs.statSync('big').size; })()",
  network:
    "new Promise((resolve) => { const socket = tools.net.connect(9, '192.0.2.1'); socket.on('error', (error) => resolve(error.code)); setTimeout(() => resolve('open'), 1000); })",
  linked: "(() => { tools.fs.symlinkSync('/etc/passwd', 'answer'); process.exit(0); })()",
  linkedPart: "(() => { tools.fs.symlinkSync('/etc/passwd', 'answer.0'); return 1; })()",
  parts: "[new Uint8Array(600 * 1024), new Uint8Array(600 * 1024)]",
  garbage: "(() => { tools.fs.writeFileSync('answer', 'not a serialised value'); process.exit(0); })()",
  silent: "process.exit(0)",
  progress:
    "(() => { let nowMs = 0; performance.now = () => nowMs; report(0.25); nowMs = 99; report(0.5); nowMs = 110; tools.fs.writeSync(1, 'rubbish\\n2.5\\n-1\\n'); report(1); return 'done'; })()",
  orphan:
    "(() => { const child = tools.childProcess.spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: ['ignore', 'inherit', 'inherit'] }); return child.pid; })()",
} as const;

let folder = "";
const tasks = new ProcessTasks();

beforeAll(async () => {
  folder = newFolder("process-task");
  await mkdir(join(folder, "tasks"));
  for (const [name, body] of Object.entries(SCRIPTS)) {
    const imports = `import fs from "node:fs"; import net from "node:net"; import childProcess from "node:child_process"; const tools = { fs, net, childProcess };`;
    await writeFile(
      join(folder, `${name}.mjs`),
      `import { runProcessEntry } from "${ENTRY}"; ${imports}\nawait runProcessEntry(async (request, report) => ${body});\n`,
    );
  }
});

afterAll(async () => rm(folder, { recursive: true, force: true }));

function run(
  name: keyof typeof SCRIPTS | "modules",
  request: unknown = {},
  limits: Partial<ProcessTaskLimits> = {},
  signal?: AbortSignal,
) {
  const entry = join(folder, `${name}.mjs`);
  return tasks.run<unknown, unknown>({
    entry,
    request,
    limits: { ...LIMITS, ...limits },
    parentFolder: join(folder, "tasks"),
    ...(signal === undefined ? {} : { signal }),
  });
}

async function missing(): Promise<readonly string[]> {
  return missingLimits(await probeSandboxTools());
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a task that succeeds", () => {
  it("receives its request and returns its answer", async () => {
    const request = { text: "ä", list: [1, 2n, null], map: new Map([["a", new Uint8Array([1, 2])]]) };
    expect(await run("echo", request)).toEqual({ ok: true, value: request });
  });

  it("may consist of hundreds of modules, which Node opens all at once", async () => {
    const names = Array.from({ length: 400 }, (_, i) => `module-${String(i)}.mjs`);
    for (const name of names) await writeFile(join(folder, name), `export const name = "${name}";\n`);
    const imports = names.map((name) => `import "./${name}";`).join("\n");
    const body = `import { runProcessEntry } from "${ENTRY}";\n${imports}\nawait runProcessEntry((request) => request);\n`;
    await writeFile(join(folder, "modules.mjs"), body);
    expect(await run("modules", "whole")).toEqual({ ok: true, value: "whole" });
  });

  it("carries 100 MB each way", async () => {
    const bytes = new Uint8Array(100 * 1024 ** 2).fill(4);
    const result = await run("bytes", { bytes }, { answerBytesMax: 101 * 1024 ** 2, memoryBytesMax: 2 * 1024 ** 3 });
    expect(result.ok).toBe(true);
    const value = (result as { value: { bytes: Uint8Array; sum: number } }).value;
    expect(value.sum).toBe(bytes.length);
    expect([value.bytes[0], value.bytes.at(-1)]).toEqual([5, 5]);
  });

  it("carries byte arrays of every size, alone, nested and twice over", async () => {
    const arrays = [0, 1, PART_BYTES_MIN - 1, PART_BYTES_MIN, PART_BYTES_MIN + 1].map((length, i) =>
      new Uint8Array(length).fill(i + 1),
    );
    const shared = new Uint8Array(PART_BYTES_MIN).fill(7);
    const request = {
      arrays,
      nested: { deeper: [{ words: new Uint32Array([1, 2, 3]) }] },
      first: shared,
      second: shared,
    };
    expect(await run("echo", request)).toEqual({ ok: true, value: request });
    const many = Array.from({ length: PARTS_MAX + 2 }, (_, i) => new Uint8Array(PART_BYTES_MIN).fill(i));
    const echoed = await run("echo", many, { answerBytesMax: 16 * 1024 ** 2 });
    if (!echoed.ok) throw new Error(echoed.message);
    // One comparison of the whole: element by element takes as long as all other tests of this file.
    expect(Buffer.concat(echoed.value as Uint8Array[]).equals(Buffer.concat(many))).toBe(true);
    expect((echoed.value as Uint8Array[]).map(({ length }) => length)).toEqual(many.map(({ length }) => length));
  });

  it("receives bytes of shared memory", async () => {
    const bytes = new Uint8Array(new SharedArrayBuffer(3)).fill(9);
    expect(await run("echo", { bytes })).toEqual({ ok: true, value: { bytes: new Uint8Array([9, 9, 9]) } });
  });

  it("sees nothing of the server's environment and works in its own folder", async () => {
    process.env["PROCESS_TASK_TEST_SECRET"] = "hidden";
    const result = await run("environment");
    delete process.env["PROCESS_TASK_TEST_SECRET"];
    expect(result).toMatchObject({ ok: true, value: { env: [] } });
    expect((result as { value: { cwd: string } }).value.cwd.startsWith(join(folder, "tasks"))).toBe(true);
  });

  it("may print without end of its own output being mistaken for an answer", async () => {
    expect(await run("print")).toEqual({ ok: true, value: "done" });
  });

  it("reports its progress ten times a second at most, and everything else that it prints is ignored", async () => {
    const shares: number[] = [];
    const result = await tasks.run({
      entry: join(folder, "progress.mjs"),
      request: {},
      limits: LIMITS,
      parentFolder: join(folder, "tasks"),
      onProgress: (share) => shares.push(share),
    });
    expect(result).toEqual({ ok: true, value: "done" });
    expect(shares).toEqual([0.25, 1]);
  });
});

describe("a task that fails or misbehaves", () => {
  it("is ended at its deadline", async () => {
    expect(await run("loop", {}, { deadlineMs: 300 })).toMatchObject({ ok: false, code: "deadline" });
  });

  it("is ended when its processor time is used up", async () => {
    if ((await missing()).includes("resources")) return;
    expect(await run("loop", {}, { cpuSeconds: 1 })).toMatchObject({ ok: false, code: "deadline" });
  });

  it("is ended when its heap is full", async () => {
    expect(await run("heap", {}, { heapMegabytesMax: 64 })).toMatchObject({ ok: false, code: "memory" });
  });

  it("is ended when its memory outside the heap is over the limit", async () => {
    expect(await run("buffers", {}, { memoryBytesMax: 256 * 1024 ** 2 })).toMatchObject({ ok: false, code: "memory" });
  });

  it("is ended when a program that it started takes the memory", async () => {
    expect(await run("program", {}, { memoryBytesMax: 256 * 1024 ** 2 })).toMatchObject({ ok: false, code: "memory" });
  });

  it("is ended at once by the caller", async () => {
    const controller = new AbortController();
    const running = run("loop", {}, {}, controller.signal);
    await eventually(async () => {
      expect(await readdir(join(folder, "tasks"))).not.toEqual([]);
    });
    controller.abort();
    expect(await running).toMatchObject({ ok: false, code: "aborted" });
  });

  it("is not started when the caller has already aborted", async () => {
    expect(await run("echo", {}, {}, AbortSignal.abort())).toMatchObject({ ok: false, code: "aborted" });
  });

  it("may not answer more than its limit", async () => {
    expect(await run("flood")).toMatchObject({ ok: false, code: "output" });
    expect(await run("parts")).toMatchObject({ ok: false, code: "output" });
    expect(await run("parts", {}, { answerBytesMax: 1300 * 1024 })).toMatchObject({ ok: true });
    expect(await run("flood", {}, { answerBytesMax: 3 * 1024 ** 2 })).toMatchObject({ ok: true });
  });

  it("may not write larger files than its answer", async () => {
    if ((await missing()).includes("resources")) return;
    expect(await run("bigFile")).toEqual({ ok: true, value: "EFBIG" });
  });

  it.each(["fail", "exit", "silent", "garbage", "linked", "linkedPart"] as const)(
    "is a crash without an answer: %s",
    async (name) => {
      const result = await run(name);
      expect(result).toMatchObject({ ok: false, code: "crashed" });
      expect((result as { message: string }).message).not.toContain(folder);
    },
  );

  it("has no network where the system allows it", async () => {
    if ((await missing()).includes("network")) return;
    expect(await run("network")).toEqual({ ok: true, value: "ENETUNREACH" });
  });

  it("leaves no process of its own behind", async () => {
    const result = await run("orphan");
    expect(result).toMatchObject({ ok: true });
    const pid = (result as { value: number }).value;
    await eventually(() => {
      expect(isAlive(pid)).toBe(false);
    });
  });
});

describe("a system without any of the sandbox's tools", () => {
  let bare: Sandbox["tools"];
  beforeAll(async () => {
    bare = await probeSandboxTools(folder);
  });
  const runIn = async (sandbox: Sandbox, isUntrusted: boolean) =>
    await new ProcessTasks({ sandbox }).run({
      entry: join(folder, "echo.mjs"),
      request: 5,
      limits: LIMITS,
      isUntrusted,
      parentFolder: join(folder, "tasks"),
    });

  it("runs every task where the sandbox is not required", async () => {
    const sandbox = new Sandbox({ mode: "auto", tools: bare });
    for (const isUntrusted of [true, false]) expect(await runIn(sandbox, isUntrusted)).toEqual({ ok: true, value: 5 });
  });

  it("runs only trusted tasks where it is required, and names the missing limits", async () => {
    const sandbox = new Sandbox({ mode: "require", tools: bare });
    expect(await runIn(sandbox, false)).toEqual({ ok: true, value: 5 });
    expect(await runIn(sandbox, true)).toEqual({
      ok: false,
      code: "sandbox",
      message:
        "compiling is refused, because the server requires a complete sandbox and these limits are missing: network, privileges, resources, priority",
    });
  });
});

describe("the private folder", () => {
  it("of a server that was killed is removed by the next one, and none of a server that may be alive", async () => {
    const parentFolder = join(folder, "killed");
    await mkdir(parentFolder);
    const own = basename(await makeTaskFolder(parentFolder));
    const [, pid = "", start = "", namespace = ""] = /^proofwright-task-(\d+)\.(\d+)\.(\d+)-/.exec(own) ?? [];
    expect(Number(pid)).toBe(process.pid);
    const ended = spawnSync(process.execPath, ["-e", ""]).pid;
    const name = (...maker: (string | number)[]): string => `proofwright-task-${maker.join(".")}-abcdef`;
    const [gone, reused] = [name(ended, start, namespace), name(pid, Number(start) - 1, namespace)];
    const [elsewhere, unnamed] = [name(ended, start, Number(namespace) + 1), "proofwright-task-abcdef"];
    for (const each of [gone, reused, elsewhere, unnamed]) await mkdir(join(parentFolder, each));
    await new ProcessTasks().run({ entry: join(folder, "echo.mjs"), request: 1, limits: LIMITS, parentFolder });
    expect((await readdir(parentFolder)).sort()).toEqual([own, elsewhere, unnamed].sort());
  });

  it("is removed after every kind of ending", async () => {
    await Promise.all([run("echo"), run("fail"), run("loop", {}, { deadlineMs: 200 }), run("flood")]);
    expect(await readdir(join(folder, "tasks"))).toEqual([]);
  });

  it("of a killed server is removed a day later, and nothing else is", async () => {
    const parentFolder = join(folder, "stale");
    await mkdir(join(parentFolder, "proofwright-task-old"), { recursive: true });
    await mkdir(join(parentFolder, "proofwright-task-new"));
    await mkdir(join(parentFolder, "other"));
    await symlink("/etc", join(parentFolder, "proofwright-task-link"));
    const old = new Date(Date.now() - 25 * 60 * 60 * 1000);
    await utimes(join(parentFolder, "proofwright-task-old"), old, old);
    await utimes(join(parentFolder, "other"), old, old);
    await new ProcessTasks().run({ entry: join(folder, "echo.mjs"), request: 1, limits: LIMITS, parentFolder });
    expect((await readdir(parentFolder)).sort()).toEqual(["other", "proofwright-task-link", "proofwright-task-new"]);
    expect(existsSync("/etc")).toBe(true);
  });
});
