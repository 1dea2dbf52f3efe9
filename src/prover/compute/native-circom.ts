/** The operator's own circom (PROOFWRIGHT_CIRCOM): asked for its version before the server takes requests. */
import { execFile } from "node:child_process";
import { isAbsolute } from "node:path";
import type { NativeCompiler } from "../../engine/circuit/compiler/native-compiler.js";
import type { SandboxTools } from "../../platform/pool/process-sandbox.js";
import { StartError } from "../../platform/start-error.js";

const ANSWER_TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 64 * 1024;
const VERSION = /\bcircom compiler (\d{1,4}\.\d{1,4}\.\d{1,4})\b/;
/** The option of prlimit. */
const DATA_LIMIT = "--data=";
const MIB = 1024 ** 2;

/**
 * Returns the compiler with the limits of its process that the system offers; those of the compile process, network
 * among them, hold for it as well.
 * @param options.memoryMb of one compilation
 * @throws StartError for a path that is not absolute, and for a program that does not answer as circom does
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
  // What the process can write, not what it can address: runtimes reserve far more than they use.
  const memory = tools.prlimit === undefined ? [] : [tools.prlimit, dataLimit(memoryMb), "--"];
  return { path, name: `circom ${version}`, wrapper: [...(tools.noPrivileges ?? []), ...memory] };
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
