/**
 * Finds out which limits on a child process this system offers, and builds the command line that applies them. A tool
 * that is missing or not permitted is left out. The limits that rest on Node alone always hold: the deadline, the
 * JavaScript heap, the size of the answer and an empty environment.
 *
 * No tool here restricts which files the process may read, how many processes it may start, or its user id: the
 * compilers run as WebAssembly or JavaScript on files in memory, and a native one gets only sources that cannot lead
 * out of its folder (engine/circuit/compiler/included-files.ts).
 */
import { execFile } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";

export interface ProcessLimits {
  /** Processor time over all threads. */
  readonly cpuSeconds: number;
  /** Of any one file that the process writes. */
  readonly fileBytesMax: number;
  /** 0 to 19; 19 yields to everything. */
  readonly niceness: number;
}

/** What this system offers. A command is a list of arguments to which the program to start is appended. */
export interface SandboxTools {
  /** Starts a program without network. */
  readonly noNetwork?: readonly string[];
  /** setpriv: starts a program that gains no privileges and dies with its parent. */
  readonly noPrivileges?: readonly string[];
  /** Path of `prlimit`. */
  readonly prlimit?: string;
  /** Path of `nice`. */
  readonly nice?: string;
  /** True where the resident memory of a process can be read. */
  readonly hasProcStatus: boolean;
}

/** The limits that depend on the system, each with what its absence means. */
export const SANDBOX_LIMITS = {
  network: "a compiler can open network connections",
  privileges: "a compiler can start set-user-id programs, and keeps running when the server is killed",
  resources: "the processor time, file sizes and open files of a compiler are not limited",
  memory: "the memory of a compiler outside the JavaScript heap is not limited",
  priority: "a compiler takes processor time from the server",
} as const;

export type SandboxLimit = keyof typeof SANDBOX_LIMITS;

/**
 * Node opens all modules of a program at once, and those of each thread: some fifty of ours, and as many again for
 * every thread that starts with them. A limit near that ends sound tasks by chance.
 */
const OPEN_FILES = "--nofile=1024";
/** Seconds between SIGXCPU, which can be told apart from other deaths, and the SIGKILL that follows. */
const CPU_GRACE_SEC = 5;
/** Where programs are looked for when PATH is not set, as execvp does. */
const DEFAULT_PATH = "/usr/bin:/bin";
/** A tool that takes longer to start a program is treated as missing. */
const PROBE_TIMEOUT_MS = 5_000;

/**
 * Tries every tool once by starting a program with it. Costs some 30 ms; the result holds for the life of the server.
 * @param searchPath folders in which the tools are looked for, as in PATH; relative folders are ignored
 */
export async function probeSandboxTools(searchPath = process.env.PATH ?? DEFAULT_PATH): Promise<SandboxTools> {
  if (process.platform !== "linux") return { hasProcStatus: false };
  const [unshare, setpriv, prlimit, nice] = ["unshare", "setpriv", "prlimit", "nice"].map((name) =>
    findTool(name, searchPath),
  );
  const [asRoot, asUser, noPrivileges, limited, polite] = await Promise.all([
    started(unshare, "--net", "--"),
    // An ordinary user must create a user namespace first, which some systems do not permit.
    started(unshare, "--map-current-user", "--net", "--"),
    started(setpriv, "--no-new-privs", "--pdeathsig", "KILL", "--"),
    started(prlimit, "--core=0", OPEN_FILES, "--"),
    started(nice, "-n", "19"),
  ]);
  const noNetwork = asRoot ?? asUser;
  return {
    ...(noNetwork === undefined ? {} : { noNetwork }),
    ...(noPrivileges === undefined ? {} : { noPrivileges }),
    ...(prlimit === undefined || limited === undefined ? {} : { prlimit }),
    ...(nice === undefined || polite === undefined ? {} : { nice }),
    hasProcStatus: hasProcStatus(),
  };
}

/** Returns the limits that do not hold with these tools. */
export function missingLimits(tools: SandboxTools): SandboxLimit[] {
  const holds: Readonly<Record<SandboxLimit, boolean>> = {
    network: tools.noNetwork !== undefined,
    privileges: tools.noPrivileges !== undefined,
    resources: tools.prlimit !== undefined,
    memory: tools.hasProcStatus,
    priority: tools.nice !== undefined,
  };
  return (Object.keys(SANDBOX_LIMITS) as SandboxLimit[]).filter((limit) => !holds[limit]);
}

/**
 * Wraps a command in the tools. Each tool replaces itself by the next, so that the id of the started process is the
 * program's own.
 */
export function sandboxed(command: readonly string[], limits: ProcessLimits, tools: SandboxTools): string[] {
  const { noNetwork = [], noPrivileges = [], prlimit, nice } = tools;
  const cpu = Math.ceil(limits.cpuSeconds);
  return [
    ...(nice === undefined || limits.niceness === 0 ? [] : [nice, "-n", String(limits.niceness)]),
    // setpriv comes after unshare: entering a user namespace clears the parent-death signal.
    ...noNetwork,
    ...noPrivileges,
    ...(prlimit === undefined
      ? []
      : [
          prlimit,
          "--core=0",
          `--cpu=${cpu}:${cpu + CPU_GRACE_SEC}`,
          `--fsize=${limits.fileBytesMax}`,
          OPEN_FILES,
          "--",
        ]),
    ...command,
  ];
}

/** Returns the absolute path of a tool, or undefined when no folder has an executable file of that name. */
function findTool(name: string, searchPath: string): string | undefined {
  return searchPath
    .split(":")
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Returns the command if a program starts with it. */
async function started(tool: string | undefined, ...options: readonly string[]): Promise<string[] | undefined> {
  if (tool === undefined) return undefined;
  const succeeds = await new Promise<boolean>((resolve) => {
    const program = [...options, process.execPath, "--version"];
    execFile(tool, program, { env: {}, timeout: PROBE_TIMEOUT_MS }, (error) => resolve(error === null));
  });
  return succeeds ? [tool, ...options] : undefined;
}

function hasProcStatus(): boolean {
  try {
    return readFileSync("/proc/self/status", "utf8").includes("VmRSS:");
  } catch {
    return false;
  }
}
