/**
 * `npm run build`: turns src, workers and bench into JavaScript under dist, file by file, without checking types (`npm run typecheck`
 * does that). Files that are as new as their output are passed over, so that a start with nothing changed costs milliseconds.
 *
 * Packages that consist of hundreds of small modules are each made into a few, for Node takes longer to find and open modules than to run
 * them: without this they are more than half of what a start costs, and every worker thread pays it again.
 */
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
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

/** By package: the imports of it that the sources may name. */
const JOINED = { typebox: ["typebox", "typebox/compile", "typebox/format"], viem: ["viem", "viem/accounts"] };
const VENDOR = "dist/vendor";
const versions = JSON.stringify(Object.entries(JOINED).map(([name, imports]) => [JSON.parse(readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8")).version, ...imports]));
const stamp = join(ROOT, VENDOR, "versions.json");

if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== versions) {
  rmSync(join(ROOT, VENDOR), { recursive: true, force: true });
  await build({
    absWorkingDir: ROOT, entryPoints: Object.values(JOINED).flat().map((name) => ({ in: name, out: name })), outdir: VENDOR, bundle: true, splitting: true,
    format: "esm", platform: "node", target: "node20", legalComments: "inline", logLevel: "warning",
  });
  writeFileSync(stamp, versions);
}

/** Leaves every import as it is, but those of joined packages. */
const joinedImports = {
  name: "joined-imports",
  setup({ onResolve }) {
    onResolve({ filter: /.*/ }, ({ path, importer, kind }) => {
      if (kind === "entry-point") return undefined;
      const imports = JOINED[path.split("/")[0]];
      if (imports === undefined) return { path, external: true };
      if (!imports.includes(path)) return { errors: [{ text: `${path} is not among the imports that .config/build.js joins` }] };
      return { path: posix.relative(dirname(outputOf(relative(ROOT, importer))), posix.join(VENDOR, `${path}.js`)), external: true };
    });
  },
};

const stale = sources.filter(isStale);
if (stale.length > 0) {
  await build({
    absWorkingDir: ROOT, entryPoints: stale, outdir: "dist", outbase: ".", bundle: true, plugins: [joinedImports], format: "esm", platform: "node", target: "node20", sourcemap: true, sourcesContent: false, logLevel: "warning",
  });
}
