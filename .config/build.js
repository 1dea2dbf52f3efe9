/**
 * `npm run build`: makes JavaScript of src, workers and bench under dist, without checking types (`npm run typecheck`
 * does that). Does nothing when nothing has changed, so that such a start costs milliseconds.
 *
 * What runs as a program (the command, every worker) is joined with its modules and the packages that consist of
 * hundreds of small ones: Node takes longer to find and open modules than to run them, which was most of what a start
 * costs, once more for every thread. The modules of src and bench are there one by one as well, for the bench and for
 * what tests start.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { addCompressed } from "./compress.js";
import { addNativeParts } from "./native-parts.js";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
addNativeParts(ROOT);
const { build } = await import("esbuild");
/** Pure ES modules that are joined with ours; all other packages stay where they are. */
const JOINED_PACKAGES = /^(@noble|@scure|jose|typebox|viem|abitype|ox)(\/|$)/;
const CHUNKS = "dist/chunks";
/** WebAssembly that the programs would emit at every start, by the hash of the code that emits it. */
const PREPARED = "dist/prepared";
/** The API's document, by the hash of its content. */
const DOCUMENTS = "dist/openapi";
/** The built-in circuits as they are compiled by default. */
const CIRCUITS = "dist/circuits";

const files = (folder, ending) =>
  (existsSync(join(ROOT, folder)) ? readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }) : [])
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending) && !entry.name.endsWith(".d.ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
const outputOf = (source) => join("dist", source.replace(/\.ts$/, ".js"));
const changedMs = (path) => (existsSync(join(ROOT, path)) ? statSync(join(ROOT, path)).mtimeMs : 0);
const isStale = (output, sources) => sources.some((source) => changedMs(source) > changedMs(output));

const programs = ["src/cli.ts", ...files("workers", ".ts")];
// The modules of the console and of the documentation run in browsers only, as one script each.
const modules = [...files("src", ".ts"), ...files("bench", ".ts")].filter(
  (source) => !programs.includes(source) && !/^src\/(console|docs)\/browser\//.test(source),
);
const common = {
  absWorkingDir: ROOT,
  outdir: "dist",
  outbase: ".",
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
};
/** Leaves packages where they are, but for those that are joined. */
const otherPackages = {
  name: "other-packages",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === "entry-point" || JOINED_PACKAGES.test(path) ? undefined : { path, external: true },
    );
  },
};

/** Emits the programs unless the same code has done so, and returns their folder. */
async function preparePrograms() {
  const writer = "src/engine/prepared/write-programs.ts";
  const joined = { ...common, entryPoints: [writer], bundle: true, write: false, sourcemap: false };
  const { outputFiles } = await build({ ...joined, plugins: [otherPackages] });
  const hash = createHash("sha256").update(readFileSync(join(ROOT, "package-lock.json")));
  for (const { contents } of outputFiles) hash.update(contents);
  const folder = join(PREPARED, hash.digest("hex").slice(0, 16));
  if (existsSync(join(ROOT, folder))) return folder;
  const unfinished = join(ROOT, `${folder}.new`);
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const { writePrograms } = await import(pathToFileURL(join(ROOT, outputOf(writer))).href);
  await writePrograms(unfinished);
  renameSync(unfinished, join(ROOT, folder));
  return folder;
}

/** Writes the API's document unless it is there, and returns its path. */
async function prepareDocument() {
  const { makeApiDocument } = await import(pathToFileURL(join(ROOT, "dist/src/app/api-document.js")).href);
  const text = makeApiDocument();
  const path = join(DOCUMENTS, `${createHash("sha256").update(text).digest("hex").slice(0, 16)}.json`);
  mkdirSync(join(ROOT, DOCUMENTS), { recursive: true });
  if (!existsSync(join(ROOT, path))) writeFileSync(join(ROOT, path), text);
  if (!existsSync(join(ROOT, `${path}.br`))) await addCompressed([join(ROOT, path)]);
  return path;
}

// What a deleted or renamed source left behind would still be found by an import.
const wanted = new Set([...programs, ...modules].map(outputOf));
for (const output of ["src", "workers", "bench"].flatMap((folder) => files(join("dist", folder), ".js"))) {
  if (!wanted.has(output)) for (const path of [output, `${output}.map`]) rmSync(join(ROOT, path), { force: true });
}

const staleModules = modules.filter((source) => isStale(outputOf(source), [source, ".config/build.js"]));
if (staleModules.length > 0) await build({ ...common, entryPoints: staleModules });

const programSources = [
  ...programs,
  ...modules.filter((source) => source.startsWith("src/")),
  "package-lock.json",
  // The document names the version.
  "package.json",
  ".config/build.js",
];
if (!existsSync(join(ROOT, PREPARED)) || programs.some((program) => isStale(outputOf(program), programSources))) {
  const prepared = await preparePrograms();
  const document = await prepareDocument();
  const { metafile } = await build({
    ...common,
    entryPoints: programs,
    bundle: true,
    splitting: true,
    chunkNames: "chunks/[hash]",
    metafile: true,
    plugins: [otherPackages],
    // From the folder of any output.
    define: {
      PREPARED_PROGRAMS: JSON.stringify(`../${relative("dist", prepared)}`),
      PREPARED_DOCUMENT: JSON.stringify(`../${relative("dist", document)}`),
    },
  });
  for (const [folder, current] of [
    [PREPARED, prepared],
    [DOCUMENTS, document],
  ])
    for (const name of readdirSync(join(ROOT, folder)))
      if (join(folder, name) !== current && join(folder, name) !== `${current}.br`)
        rmSync(join(ROOT, folder, name), { recursive: true });
  for (const chunk of files(CHUNKS, ".js")) {
    if (!(chunk in metafile.outputs))
      for (const path of [chunk, `${chunk}.map`]) rmSync(join(ROOT, path), { force: true });
  }
}

// What browsers run: our own modules and noble's, with a stand-in for what the engine takes of Node.
const PAGE_FOLDER = "src/prover/ceremony-page/browser";
const page = { "page.js": "page", "contribute.js": "contribute-worker", "points.js": "points-worker" };
const nodeStandIns = {
  name: "node-stand-ins",
  setup: ({ onResolve }) => {
    onResolve({ filter: /^node:/ }, ({ path, importer }) => {
      const standIn = { "node:crypto": "node-crypto.ts", "node:v8": "node-host.ts", "node:fs": "node-host.ts" }[path];
      if (standIn === undefined) throw new Error(`${importer} takes ${path}, which browsers do not have`);
      return { path: join(ROOT, PAGE_FOLDER, standIn) };
    });
  },
};
const pageOutputs = Object.keys(page).map((name) => join("dist/ceremony-page", name));
if (
  pageOutputs.some((output) =>
    isStale(output, [...files("src/engine", ".ts"), ...files(PAGE_FOLDER, ".ts"), ".config/build.js"]),
  )
) {
  await build({
    ...{ absWorkingDir: ROOT, outdir: "dist/ceremony-page", format: "esm", platform: "browser", target: "es2022" },
    entryPoints: Object.entries(page).map(([name, source]) => ({
      in: join(PAGE_FOLDER, `${source}.ts`),
      out: name.slice(0, -".js".length),
    })),
    ...{ bundle: true, minify: true, legalComments: "none", logLevel: "warning" },
    define: { PREPARED_PROGRAMS: "undefined", "import.meta.url": '""' },
    plugins: [nodeStandIns],
  });
}

// What `import "proofwright"` gives, for Node and browsers: one module for each that a bundler may leave out.
const SDK = "dist/sdk";
const sdkSources = [...modules.filter((source) => source.startsWith("src/")), "package-lock.json", ".config/build.js"];
if (isStale(join(SDK, "sdk/index.js"), sdkSources)) {
  rmSync(join(ROOT, SDK), { recursive: true, force: true });
  await build({
    ...{ absWorkingDir: ROOT, outdir: SDK, outbase: "src", format: "esm", platform: "neutral", target: "es2022" },
    entryPoints: [
      "sdk/index",
      "sdk/proofwright",
      "sdk/verify-proof",
      "verify-receipt",
      "verify-store-proof",
      "verify-tree-head",
    ].map((name) => `src/${name}.ts`),
    ...{ bundle: true, splitting: true, chunkNames: "[name]-[hash]", packages: "external", logLevel: "warning" },
    define: { PREPARED_PROGRAMS: "undefined", "import.meta.url": '""' },
    plugins: [nodeStandIns],
  });
}

// The console: one script and one style under names that change with their content, so that browsers may keep them.
const CONSOLE_FOLDER = "src/console/browser";
const CONSOLE = "dist/console";
const consoleSources = [".ts", ".tsx", ".css", ".json"].flatMap((ending) => files(CONSOLE_FOLDER, ending));
const consoleManifest = join(CONSOLE, "manifest.json");
if (isStale(consoleManifest, [...consoleSources, ...files("circuits", ".json"), ".config/build.js"])) {
  rmSync(join(ROOT, CONSOLE), { recursive: true, force: true });
  const { metafile } = await build({
    ...{ absWorkingDir: ROOT, outdir: CONSOLE, format: "esm", platform: "browser", target: "es2022" },
    entryPoints: [join(CONSOLE_FOLDER, "main.tsx")],
    entryNames: "console-[hash]",
    ...{ bundle: true, minify: true, legalComments: "none", logLevel: "warning", metafile: true },
    ...{ jsx: "automatic", jsxImportSource: "preact", define: { "process.env.NODE_ENV": '"production"' } },
  });
  const made = Object.keys(metafile.outputs).map((output) => relative(CONSOLE, output));
  const [script, style] = [".js", ".css"].map((ending) => made.find((name) => name.endsWith(ending)));
  await addCompressed([script, style].map((name) => join(ROOT, CONSOLE, name)));
  writeFileSync(join(ROOT, consoleManifest), JSON.stringify({ script, style }));
}

// The documentation; its own module says from what it is made.
const { buildDocs, docsSources } = await import("./build-docs.js");
if (isStale("dist/docs/manifest.json", docsSources())) await buildDocs();

const circuitSources = [
  ...files("circuits", ".circom"),
  ...files("src/engine/circuit", ".ts"),
  ...["src/prover/compute/prepare-built-ins.ts", "src/prover/compute/prepared-circuits.ts", "package-lock.json"],
];
// Removed before the first circuit is compiled and written after the last.
const complete = join(CIRCUITS, "complete");
if (isStale(complete, circuitSources)) {
  const { prepareBuiltIns } = await import(
    pathToFileURL(join(ROOT, "dist/src/prover/compute/prepare-built-ins.js")).href
  );
  await prepareBuiltIns(join(ROOT, CIRCUITS));
  writeFileSync(join(ROOT, complete), "");
}
