/** Which boot of the machine this is. What a process wrote before it ended is whole while the machine runs on. */
import { readFileSync } from "node:fs";

/** Returns a text that no other boot has, or undefined where the system tells none: outside of Linux. */
export function bootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}
