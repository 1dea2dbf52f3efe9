import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * Compiles src and workers once before the suite: worker threads and spawned servers run the same JavaScript as
 * production.
 */
export default function setup(): void {
  execFileSync("npm", ["run", "--silent", "build"], {
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    stdio: "inherit",
  });
}
