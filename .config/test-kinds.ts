/**
 * Tells the unit tests from the others by what they import, so that nobody has to keep a list: a unit test starts no
 * server, no process, no thread and no store on disk, neither itself nor through the helpers of test/.
 */
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Folders with suites of their own: minutes and hours, a browser, and a PostgreSQL server. */
const OTHER_SUITES = ["test/long/", "test/slow/", "test/browser/", "test/cluster/"];

/** Packages and modules of Node that only serve to start something; snarkjs keeps its curve in globals of the process. */
const STARTERS = /^(piscina|snarkjs|ffjavascript|node:(child_process|worker_threads|http|https|net|tls))$/;
/** Our modules that do. */
const STARTING_MODULES =
  /^src\/(app\/[a-z-]+|engine\/backends\/snarkjs|main|platform\/http\/server|platform\/pool\/(thread-pool|process-task)|platform\/store\/lmdb\/lmdb-store|prover\/compute\/compute-pools|vault\/threads\/vault-workers)\.ts$/;

const IMPORTS = /\bfrom\s+["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/g;

/** The default suite in two parts, as paths from the repository's root. */
export function testFiles(): { readonly unit: string[]; readonly integration: string[] } {
  const files = readdirSync(join(ROOT, "test"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".test.ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((file) => !OTHER_SUITES.some((folder) => file.startsWith(folder)))
    .sort();
  const known = new Map<string, boolean>();
  return {
    unit: files.filter((file) => !startsSomething(file, known)),
    integration: files.filter((file) => startsSomething(file, known)),
  };
}

function startsSomething(file: string, known: Map<string, boolean>): boolean {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, false);
  const specifiers = [...readFileSync(join(ROOT, file), "utf8").matchAll(IMPORTS)].map((found) => found[1] ?? found[2]);
  const starts = specifiers.some((specifier = "") => {
    if (!specifier.startsWith(".")) return STARTERS.test(specifier);
    const path = relative(ROOT, resolve(ROOT, dirname(file), specifier)).replace(/\.js$/, ".ts");
    return path.startsWith("test/")
      ? path.endsWith(".ts") && startsSomething(path, known)
      : STARTING_MODULES.test(path);
  });
  known.set(file, starts);
  return starts;
}
