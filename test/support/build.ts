import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Set by the first project of a run of the suite, for the others. */
const BUILT = "PROOFWRIGHT_TEST_BUILT_BY";

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
