/** What the system tells of processes: when one started, and among which processes its number means it. */
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";

/** The namespace of a machine's own processes, outside of all containers (PROC_PID_INIT_INO in Linux' proc_ns.h). */
const MACHINE_NAMESPACE = "4026531836";
/** Counted after the name of the program. */
const START_TIME_FIELD = 19;
const PROGRAM_TIMEOUT_MS = 10_000;

/** Returns when a process started, in clock ticks since boot, or undefined where /proc is missing. */
export function startTicks(pid: number): string | undefined {
  try {
    return startIn(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return undefined;
  }
}

/** Reads the start time from the text of /proc/PID/stat: field 22 of proc(5), after a name that may hold spaces. */
export function startIn(stat: string): string | undefined {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[START_TIME_FIELD];
}

/**
 * Returns when a process started, in milliseconds of the wall clock, as the system's own program tells it: for systems
 * without /proc. Undefined where none tells it. Takes some ten milliseconds, on Windows up to a second.
 */
export function startedAtMs(pid: number, platform = process.platform): number | undefined {
  // It may come from a file, and goes into a command.
  if (!Number.isSafeInteger(pid)) return undefined;
  const [program, args] =
    platform === "win32"
      ? [
          "powershell.exe",
          ["-NoProfile", "-Command", `(Get-Process -Id ${String(pid)}).StartTime.ToUniversalTime().ToString('o')`],
        ]
      : ["ps", ["-o", "lstart=", "-p", String(pid)]];
  try {
    const text = execFileSync(program, args, {
      encoding: "utf8",
      timeout: PROGRAM_TIMEOUT_MS,
      stdio: ["ignore", "pipe", "ignore"],
      // Names of days and months as Date reads them.
      env: { ...process.env, LC_ALL: "C" },
    });
    const startedMs = Date.parse(text.trim());
    return Number.isNaN(startedMs) ? undefined : startedMs;
  } catch {
    return undefined;
  }
}

/** Returns the namespace in which this process has its number, or undefined where the system has none. */
export function pidNamespace(): string | undefined {
  try {
    return /^pid:\[(\d+)\]$/.exec(readlinkSync("/proc/self/ns/pid"))?.[1];
  } catch {
    return undefined;
  }
}

/** Whether a namespace is that of the machine, in which the processes of containers have other numbers. */
export function isMachineNamespace(namespace: string): boolean {
  return namespace === MACHINE_NAMESPACE;
}
