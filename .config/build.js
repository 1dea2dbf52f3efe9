/**
 * `npm run build`: turns src, workers and bench into JavaScript under dist, file by file, without checking types (`npm run typecheck`
 * does that). Files that are as new as their output are passed over, so that a start with nothing changed costs milliseconds.
 */
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDERS = ["src", "workers", "bench"];

const files = (folder, ending) => (existsSync(join(ROOT, folder)) ? readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }) : [])
  .filter((entry) => entry.isFile() && entry.name.endsWith(ending) && !entry.name.endsWith(".d.ts"))
  .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));

const sources = FOLDERS.flatMap((folder) => files(folder, ".ts"));
const outputOf = (source) => join("dist", source.replace(/\.ts$/, ".js"));
const isStale = (source) => {
  const output = join(ROOT, outputOf(source));
  return !existsSync(output) || statSync(output).mtimeMs < statSync(join(ROOT, source)).mtimeMs;
};

// What a deleted or renamed source left behind would still be found by an import.
const wanted = new Set(sources.map(outputOf));
for (const output of FOLDERS.flatMap((folder) => files(join("dist", folder), ".js"))) {
  if (!wanted.has(output)) for (const path of [output, `${output}.map`]) rmSync(join(ROOT, path), { force: true });
}

const stale = sources.filter(isStale);
if (stale.length > 0) {
  await build({
    absWorkingDir: ROOT, entryPoints: stale, outdir: "dist", outbase: ".", format: "esm", platform: "node", target: "node20", sourcemap: true, sourcesContent: false, logLevel: "warning",
  });
}
