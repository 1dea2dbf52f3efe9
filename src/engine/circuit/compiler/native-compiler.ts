/**
 * Runs a circom of the operator in place of the one in WebAssembly: a program with a real file system, which gets a
 * private folder with the files that the source reaches and nothing else. Only for the compile process, whose folder
 * and process group end with it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface NativeCompiler {
  /** Absolute path of the executable. */
  readonly path: string;
  /** Name and version, such as `circom 2.2.2`. */
  readonly name: string;
  /** Command to which the executable and its arguments are appended: limits of the system, where it has them. */
  readonly wrapper: readonly string[];
}

/** What a run left. */
export interface NativeRun {
  /** Null when a signal ended it. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  /** True when it printed more than `terminalBytesMax`. */
  readonly printedTooMuch: boolean;
  /** What it wrote to standard error, where findings go, with the paths of the tree. */
  readonly terminalText: string;
  /** Path in the tree -> bytes, of the outputs that are there. */
  readonly outputs: ReadonlyMap<string, Uint8Array>;
}

interface NativeTask {
  /** Absolute path in the tree -> text. */
  readonly files: ReadonlyMap<string, string>;
  /** Folders in the tree that must exist, empty ones too. */
  readonly folders: readonly string[];
  /** The compiler's; those that begin with a slash are paths in the tree. */
  readonly args: readonly string[];
  readonly outputs: readonly string[];
  readonly terminalBytesMax: number;
}

/** Within the process' own folder. */
const TREE_FOLDER = "tree";

/**
 * Writes the tree, runs the compiler to its end and reads what it wrote.
 * @param folder private, and removed by the caller
 * @throws Error when the program cannot be started
 */
export function runNativeCompiler({ path, wrapper }: NativeCompiler, task: NativeTask, folder: string): NativeRun {
  const root = join(folder, TREE_FOLDER);
  for (const name of task.folders) mkdirSync(join(root, name), { recursive: true, mode: 0o700 });
  for (const [name, text] of task.files) {
    mkdirSync(dirname(join(root, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(root, name), text, { mode: 0o600, flag: "wx" });
  }
  const args = task.args.map((arg) => (arg.startsWith("/") ? join(root, arg) : arg));
  const [program = "", ...rest] = [...wrapper, path, ...args];
  const { status, signal, error, stderr } = spawnSync(program, rest, {
    cwd: root,
    env: {},
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: task.terminalBytesMax,
  });
  const printedTooMuch = error !== undefined && "code" in error && error.code === "ENOBUFS";
  if (error !== undefined && !printedTooMuch) throw error;
  const outputs = task.outputs.flatMap((name) => {
    const file = join(root, name);
    return existsSync(file) ? [[name, readFileSync(file)] as const] : [];
  });
  const terminalText = stderr.toString("utf8").replaceAll(root, "");
  return { status, signal, printedTooMuch, terminalText, outputs: new Map(outputs) };
}
