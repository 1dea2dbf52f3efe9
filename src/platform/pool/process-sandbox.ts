/**
 * Finds out which of the system's own tools can fence a child process in, and builds the command line that does. A tool
 * that is missing or not permitted is left out: limits that rest on Node alone (deadline, memory poll, output cap) stay
 * in any case.
 */
import { execFile } from "node:child_process";

export interface SandboxLimits {
  /** Processor time over all threads. */
  readonly cpuSeconds: number;
  /** Of any one file that the process writes. */
  readonly fileBytesMax: number;
  readonly openFilesMax: number;
  /** 0 to 19; 19 yields to everything. */
  readonly niceness: number;
}

/** Which tools work here; absent ones cost their fence and nothing else. */
export interface SandboxTools {
  /** Command that starts a program without network, or empty. */
  readonly noNetwork: readonly string[];
  /** setpriv: no new privileges, and death with the parent. */
  readonly setpriv: boolean;
  readonly prlimit: boolean;
  readonly nice: boolean;
}

/** Seconds between SIGXCPU, which is told apart from other deaths, and the SIGKILL that follows. */
const CPU_GRACE_SEC = 5;
/** A tool that takes longer to start `true` is as good as missing. */
const PROBE_TIMEOUT_MS = 5_000;

const SETPRIV = ["setpriv", "--no-new-privs", "--pdeathsig", "KILL", "--"];

/** Tries every tool once by starting `true` with it. Cost: some milliseconds; keep the answer. */
export async function probeSandboxTools(): Promise<SandboxTools> {
  const [asRoot, asUser, setpriv, prlimit, nice] = await Promise.all([
    starts(["unshare", "--net", "--"]),
    // An ordinary user needs a user namespace of its own first, where the system allows one.
    starts(["unshare", "--map-current-user", "--net", "--"]),
    starts(SETPRIV),
    starts(["prlimit", "--core=0", "--"]),
    starts(["nice", "-n", "19"]),
  ]);
  const noNetwork = asRoot
    ? ["unshare", "--net", "--"]
    : asUser
      ? ["unshare", "--map-current-user", "--net", "--"]
      : [];
  return { noNetwork, setpriv, prlimit, nice };
}

/** Wraps a command. Every wrapper replaces itself by the next, so that the started process id is the program's own. */
export function sandboxed(command: readonly string[], limits: SandboxLimits, tools: SandboxTools): string[] {
  const wrapped: string[] = [];
  if (tools.nice && limits.niceness > 0) wrapped.push("nice", "-n", String(limits.niceness));
  // setpriv comes after unshare: entering a user namespace clears the parent-death signal.
  wrapped.push(...tools.noNetwork);
  if (tools.setpriv) wrapped.push(...SETPRIV);
  if (tools.prlimit) {
    const cpu = Math.ceil(limits.cpuSeconds);
    wrapped.push(
      "prlimit",
      "--core=0",
      `--cpu=${cpu}:${cpu + CPU_GRACE_SEC}`,
      `--fsize=${limits.fileBytesMax}`,
      `--nofile=${limits.openFilesMax}`,
      "--",
    );
  }
  return [...wrapped, ...command];
}

async function starts([tool = "", ...args]: readonly string[]): Promise<boolean> {
  if (process.platform !== "linux") return false;
  return new Promise((resolve) => {
    execFile(tool, [...args, "true"], { env: {}, timeout: PROBE_TIMEOUT_MS }, (error) => resolve(error === null));
  });
}
