/**
 * Gives a run of the suite a temporary folder of its own, as the system's one for every process of it, and removes it
 * afterwards: also what libraries leave there, such as the locks of LMDB, and what a killed server could not remove. A
 * run that was killed itself leaves its folder to the next one, which knows by the process id that nobody uses it.
 */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const PREFIX = "proofwright-run-";

export default function setup(): () => void {
  const place = tmpdir();
  const own = `${PREFIX}${String(process.pid)}`;
  // Called once for each project of the suite: folders inside each other make paths too long for Unix sockets.
  if (basename(place) === own) return () => undefined;
  for (const name of readdirSync(place)) {
    if (name.startsWith(PREFIX) && !isAlive(Number(name.slice(PREFIX.length)))) remove(join(place, name));
  }
  const folder = join(place, own);
  mkdirSync(folder, { mode: 0o700 });
  process.env.TMPDIR = folder;
  return () => {
    process.env.TMPDIR = place;
    remove(folder);
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user is alive too.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
