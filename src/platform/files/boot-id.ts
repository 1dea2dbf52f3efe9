/** Which boot of the machine this is. What a process wrote before it ended is whole while the machine runs on. */
import { readFileSync } from "node:fs";

/** Returns a text that no other boot has, or undefined where the system tells none: outside of Linux. */
export function bootId(platform = process.platform): string | undefined {
  // Elsewhere the path may be anybody's: on Windows it is a folder on the current drive.
  if (platform !== "linux") return undefined;
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined;
  }
}
