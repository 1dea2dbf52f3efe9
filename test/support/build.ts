import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Set by the first project of a run, for the others. The server refuses unknown names with its own prefix. */
const BUILT = "VITEST_BUILT_BY";

/**
 * Compiles src and workers once before the suite: worker threads and spawned servers run the same JavaScript as
 * production.
 */
export default function setup(): void {
  if (process.env[BUILT] === String(process.pid)) return;
  execFileSync("npm", ["run", "--silent", "build"], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    stdio: "inherit",
  });
  process.env[BUILT] = String(process.pid);
}
