/** The operator's own circom (PROOFWRIGHT_CIRCOM): asked for its version before the server takes requests. */
import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { isAbsolute } from "node:path";
import type { NativeCompiler } from "../../engine/circuit/compiler/native-compiler.js";
import type { SandboxTools } from "../../platform/pool/process-sandbox.js";
import { StartError } from "../../platform/start-error.js";
import { compileProcessLimits } from "./compile-task.js";

const ANSWER_TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 64 * 1024;
const VERSION = /\bcircom compiler (\d{1,4}\.\d{1,4}\.\d{1,4})\b/;
/** The option of prlimit, in bytes; the shell reads it too, and takes KiB. */
const DATA_LIMIT = "--data=";
const MIB = 1024 ** 2;
const SHELL = "/bin/sh";
const WITH_LIMITS = 'ulimit -d $((${1#--data=} / 1024)) && ulimit -f "$2" && shift 2 && exec "$@"';
/** Unit of `ulimit -f`. */
const ULIMIT_BLOCK_BYTES = 512;

/**
 * Returns the compiler with the limits of its process that the system offers; those of the compile process, network
 * among them, hold for it as well.
 * @param options.memoryMb of one compilation
 * @throws StartError for a path that is not absolute, for a program that does not answer as circom does, and where its
 *   memory cannot be limited
 */
export async function openNativeCircom(
  path: string,
  { memoryMb, tools }: { readonly memoryMb: number; readonly tools: SandboxTools },
): Promise<NativeCompiler> {
  if (!isAbsolute(path)) throw new StartError(`PROOFWRIGHT_CIRCOM must be an absolute path, which ${path} is not`);
  const answer = await versionOf(path);
  const version = VERSION.exec(answer)?.[1];
  if (version === undefined)
    throw new StartError(`PROOFWRIGHT_CIRCOM: ${path} does not answer --version as a circom 2 compiler does`);
  const limits = limitsOf(memoryMb, tools);
  return { path, name: `circom ${version}`, wrapper: [...(tools.noPrivileges ?? []), ...limits] };
}

/** What the process can write, not what it can address: runtimes reserve far more than they use. */
function limitsOf(memoryMb: number, { prlimit }: SandboxTools): readonly string[] {
  if (prlimit !== undefined) return [prlimit, dataLimit(memoryMb), "--"];
  // The compile process has no limit of files then either: the shell sets both (POSIX, ulimit).
  try {
    accessSync(SHELL, constants.X_OK);
  } catch (error) {
    throw new StartError(
      "PROOFWRIGHT_CIRCOM: this system offers no way to limit the compiler's memory and files; install prlimit (util-linux), or leave the setting out",
      { cause: error },
    );
  }
  const { answerBytesMax } = compileProcessLimits({ memoryMb, seconds: 1 });
  return [
    SHELL,
    "-c",
    WITH_LIMITS,
    "circom",
    dataLimit(memoryMb),
    String(Math.ceil(answerBytesMax / ULIMIT_BLOCK_BYTES)),
  ];
}

/** Returns the compiler with the memory of another allowance, where the system limits it at all. */
export function withMemory(compiler: NativeCompiler, memoryMb: number): NativeCompiler {
  const wrapper = compiler.wrapper.map((part) => (part.startsWith(DATA_LIMIT) ? dataLimit(memoryMb) : part));
  return { ...compiler, wrapper };
}

function dataLimit(memoryMb: number): string {
  return `${DATA_LIMIT}${String(memoryMb * MIB)}`;
}

async function versionOf(path: string): Promise<string> {
  return await new Promise((resolve, reject) => {
    const options = { env: {}, timeout: ANSWER_TIMEOUT_MS, maxBuffer: ANSWER_BYTES_MAX };
    execFile(path, ["--version"], options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else
        reject(
          new StartError(
            `PROOFWRIGHT_CIRCOM: ${path} cannot be run: ${error.code === undefined ? "it ended early" : String(error.code)}`,
            {
              cause: error,
            },
          ),
        );
    });
  });
}
