/** What TypeScript says about programs that tests write. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE_ROOT } from "../../src/platform/files/package-root.js";

const COMPILER = join(PACKAGE_ROOT, "node_modules/typescript-native/bin/tsc");
/** As an app of today compiles: for Node, in the strictest form. */
const OPTIONS = { strict: true, exactOptionalPropertyTypes: true, module: "nodenext", target: "es2022" };

/** Compiles files of a folder into JavaScript beside them, and returns the faults of their types, one a line. */
export function typeFaults(
  folder: string,
  files: readonly string[],
  options: Readonly<Record<string, unknown>>,
): string[] {
  const project = join(folder, "tsconfig.json");
  writeFileSync(project, JSON.stringify({ compilerOptions: { ...OPTIONS, ...options }, files }));
  const compiler = [COMPILER, "--singleThreaded", "--pretty", "false", "-p", project];
  const { status, stdout, stderr } = spawnSync(process.execPath, compiler, { cwd: folder, encoding: "utf8" });
  if (status === null) throw new Error(`the compiler ended: ${stderr}`);
  return `${stdout}${stderr}`.split("\n").filter((line) => line !== "");
}
