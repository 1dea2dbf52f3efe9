/** Paths inside the package, whether the code runs from dist/ or, in tests, from src/. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

function findRoot(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (folder === dirname(folder)) throw new Error("package.json not found above the program");
  }
}

/** Absolute path of the folder that holds package.json. */
export const PACKAGE_ROOT = findRoot(dirname(fileURLToPath(import.meta.url)));

/** Returns the absolute path of a compiled worker entry. Workers always run as JavaScript from dist/. */
export function workerPath(name: string): string {
  return join(PACKAGE_ROOT, "dist", "workers", `${name}.js`);
}
