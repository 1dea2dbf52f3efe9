/**
 * A circom of the operator's own. The stand-in is a program with circom's command line and a real file system: the same
 * compiler in WebAssembly, given the host's files as its package's own command gives them.
 */
import { chmodSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  compileCircuit,
  DEFAULT_COMPILE_LIMITS,
  type CompileResult,
} from "../../../src/engine/circuit/compile-circuit.js";
import type { NativeCompiler } from "../../../src/engine/circuit/compiler/native-compiler.js";
import { probeSandboxTools, type SandboxTools } from "../../../src/platform/pool/process-sandbox.js";
import { ProcessTasks } from "../../../src/platform/pool/process-task.js";
import { Sandbox } from "../../../src/platform/pool/sandbox.js";
import { StartError } from "../../../src/platform/start-error.js";
import { compileInProcess, compileProcessLimits } from "../../../src/prover/compute/compile-task.js";
import { openNativeCircom } from "../../../src/prover/compute/native-circom.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const PACKAGE = createRequire(import.meta.url).resolve("circom2/package.json");
const STAND_IN = `#!${process.execPath}
const fs = require("node:fs");
const { CircomRunner, bindings } = require(${JSON.stringify(join(PACKAGE, ".."))});
const exit = (code) => process.exit(code);
new CircomRunner({ args: process.argv.slice(2), env: {}, preopens: { "/": "/" }, bindings: { ...bindings, exit, fs } })
  .execute(fs.readFileSync(${JSON.stringify(join(PACKAGE, "../circom.wasm"))}))
  .catch((error) => { console.error(error); process.exit(1); });
`;
const MEMORY_MB = 2048;
const MAIN =
  'pragma circom 2.1.6;\ninclude "lib/double.circom"; /* ä € 😀 */ include "circomlib/circuits/bitify.circom";\ntemplate M() { signal input a; signal output b; signal c; component n = Num2Bits(3); n.in <== a; b <== Double()(a); c <== a * a; }\ncomponent main {public [a]} = M();\n';
const SOURCES = {
  "main.circom": MAIN,
  "lib/double.circom":
    "\ufeffpragma circom 2.1.6;\ntemplate Double() { signal input x; signal output y; y <== 2 * x; }\n",
};

let folder: string;
let tools: SandboxTools;
let compiler: NativeCompiler;

beforeAll(async () => {
  folder = newFolder("native-circom");
  program("circom", STAND_IN);
  writeFileSync(join(folder, "secret.circom"), "swordfish");
  tools = await probeSandboxTools();
  compiler = await openNativeCircom(join(folder, "circom"), { memoryMb: MEMORY_MB, tools });
});
afterAll(() => {
  removeFolder(folder);
});

function program(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  chmodSync(join(folder, name), 0o755);
  return join(folder, name);
}

async function compileBy(own: NativeCompiler | undefined, sources: Record<string, string>): Promise<CompileResult> {
  const request = { sources, main: "main.circom", curve: "BN254" } as const;
  if (own === undefined) return await compileCircuit(request);
  const outcome = await compileInProcess(new ProcessTasks({ sandbox: new Sandbox({ mode: "auto", tools }) }), request, {
    limits: DEFAULT_COMPILE_LIMITS,
    processLimits: compileProcessLimits({ memoryMb: MEMORY_MB, seconds: 60 }),
    compiler: own,
  });
  if (!outcome.settled) throw new Error(`${outcome.failure.code}: ${outcome.failure.stderr ?? ""}`);
  return outcome.result;
}

describe("a circom of the operator's own", () => {
  it("is asked for its version, and refused in a sentence when it gives none", async () => {
    expect(compiler.name).toMatch(/^circom 2\.\d+\.\d+$/);
    const silent = program("silent", `#!${process.execPath}\n`);
    const failing = program("failing", `#!${process.execPath}\nprocess.exit(3);\n`);
    for (const [path, reason] of [
      ["circom", "must be an absolute path"],
      [join(folder, "missing"), "cannot be run: ENOENT"],
      [join(folder, "secret.circom"), "cannot be run: EACCES"],
      [failing, "cannot be run: 3"],
      [silent, "does not answer --version"],
    ] as const) {
      const opened = openNativeCircom(path, { memoryMb: MEMORY_MB, tools });
      await expect(opened, path).rejects.toThrow(reason);
      await expect(opened, path).rejects.toBeInstanceOf(StartError);
    }
  });

  it("makes the same circuit as the one in WebAssembly, with the same warnings", async () => {
    const [own, other] = [await compileBy(compiler, SOURCES), await compileBy(undefined, SOURCES)];
    if (!own.ok || !other.ok) throw new Error(JSON.stringify([own, other]));
    for (const file of ["r1cs", "wasm", "sym"] as const)
      expect(Buffer.from(own[file]).toString("latin1"), file).toBe(Buffer.from(other[file]).toString("latin1"));
    expect(own.warnings).toEqual(other.warnings);
    expect(own.warnings.length).toBeGreaterThan(0);
    expect([own.compiler, other.compiler]).toEqual([
      `${compiler.name} with circomlib 2.0.5`,
      "circom2 0.2.23 with circomlib 2.0.5",
    ]);
    expect(own.filesRead.map(({ path }) => path).sort()).toEqual(other.filesRead.map(({ path }) => path).sort());
  });

  it.each([
    ["an error of types", MAIN.replace("b <== Double()(a)", "b <== Double()(missing)")],
    ["an include that is not there", MAIN.replace("lib/double", "lib/none")],
  ])("tells the same findings for %s", async (_what, text) => {
    const sources = { ...SOURCES, "main.circom": text };
    const [own, other] = [await compileBy(compiler, sources), await compileBy(undefined, sources)];
    expect(own).toEqual(other);
    expect(own).toMatchObject({
      ok: false,
      code: "source_invalid",
      diagnostics: [{ severity: "error", file: "main.circom" }],
    });
  });

  it("says how it ended and what it printed last, without paths of the machine", async () => {
    const path = program(
      "broken",
      `#!${process.execPath}\nconsole.error("x".repeat(5000) + "\\nboom in " + process.argv[2] + " by " + __filename);\nprocess.exit(3);\n`,
    );
    const result = await compileBy({ ...compiler, path }, SOURCES);
    if (result.ok) throw new Error("it compiles");
    const last = result.diagnostics.at(-1);
    expect(last).toMatchObject({ code: "compiler_failed", message: expect.stringContaining("exit code 3") as string });
    expect(last?.notes?.join()).toMatch(/boom in main\.circom by \[path\]$/);
    expect(JSON.stringify(result)).not.toContain(folder);
    expect(JSON.stringify(result).length).toBeLessThan(2000);
  });

  it("has limits of memory and of files where there is no prlimit", async () => {
    const { prlimit: _missing, ...others } = tools;
    const path = join(folder, "circom");
    const limited = await openNativeCircom(path, { memoryMb: MEMORY_MB, tools: others });
    expect(limited.wrapper).toContain("/bin/sh");
    expect(await compileBy(limited, SOURCES)).toMatchObject({ ok: true });
    const report = program(
      "report",
      `#!${process.execPath}\nif (process.argv[2] === "--version") console.log("circom compiler 2.2.2");\nelse { console.error(require("node:fs").readFileSync("/proc/self/limits", "latin1").replace(/ +/g, " ")); process.exit(3); }\n`,
    );
    const reporting = await openNativeCircom(report, { memoryMb: MEMORY_MB, tools: others });
    const result = await compileBy(reporting, SOURCES);
    const text = JSON.stringify(result);
    expect(text).toContain(`Max data size ${String(MEMORY_MB * 2 ** 20)}`);
    expect(text).toContain(`Max file size ${String((MEMORY_MB * 2 ** 20) / 4)}`);
  });

  it("reads no file but those of the source", async () => {
    const climbing = `${"../".repeat(24)}${folder.slice(1)}/secret.circom`;
    for (const include of [climbing, `${folder}/secret.circom`, `lib/${climbing}`]) {
      const text = MAIN.replace("lib/double.circom", include);
      const result = await compileBy(compiler, { ...SOURCES, "main.circom": text });
      expect(result).toMatchObject({
        ok: false,
        diagnostics: [{ code: "bad_include", file: "main.circom", line: 2 }],
      });
      expect(JSON.stringify(result)).not.toContain("swordfish");
    }
  });
});
