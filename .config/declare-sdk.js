/**
 * Writes the declarations of the SDK beside its modules in dist/sdk, before the package is packed: what TypeScript makes
 * of src/sdk/index.ts, and of other files only those that its declarations refer to.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OUTPUT = join(ROOT, "dist/sdk");
const ENTRY = join(ROOT, "src/sdk/index.ts");

const folder = mkdtempSync(join(tmpdir(), "declarations-"));
try {
  emitDeclarations();
  copyWanted();
} finally {
  rmSync(folder, { recursive: true });
}

/** Declarations of the entry and of all that it imports, under the folder as they are under the root. */
function emitDeclarations() {
  // Declarations of packages without types of their own stand beside what uses them.
  const ambient = readdirSync(join(ROOT, "src"), { recursive: true })
    .filter((name) => name.endsWith(".d.ts") && !/^(console|docs)\/browser\//.test(name))
    .map((name) => join(ROOT, "src", name));
  const output = { declaration: true, emitDeclarationOnly: true, noCheck: true, sourceMap: false };
  const project = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: { ...output, rootDir: ROOT, outDir: folder, typeRoots: [join(ROOT, "node_modules/@types")] },
    files: [ENTRY, ...ambient],
    include: [],
  };
  const file = join(folder, "tsconfig.json");
  writeFileSync(file, JSON.stringify(project));
  execFileSync("npm", ["run", "--silent", "tsc", "--", "-p", file], { cwd: ROOT, stdio: "inherit" });
}

function copyWanted() {
  const wanted = new Set([ENTRY.replace(/\.ts$/, "")]);
  for (const path of wanted) {
    const emitted = join(folder, `${relative(ROOT, path)}.d.ts`);
    for (const [, specifier] of readFileSync(emitted, "utf8").matchAll(/(?:from |import\()"(\.[^"]+)"/g))
      wanted.add(resolve(dirname(path), specifier).replace(/\.js$/, ""));
    const output = join(OUTPUT, `${relative(join(ROOT, "src"), path)}.d.ts`);
    mkdirSync(dirname(output), { recursive: true });
    copyFileSync(emitted, output);
  }
}
