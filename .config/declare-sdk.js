/**
 * Writes the declarations of the SDK beside its modules in dist/sdk, before the package is packed: what TypeScript makes
 * of src/sdk/index.ts, and of other files only those that its declarations refer to.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const OUTPUT = join(ROOT, "dist/sdk");
const ENTRY = join(ROOT, "src/sdk/index.ts");

const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), ts.sys.readFile);
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
// Declarations of packages without types of their own stand beside what uses them.
const ambient = fileNames.filter((name) => name.endsWith(".d.ts"));
const program = ts.createProgram([ENTRY, ...ambient], {
  ...options,
  rootDir: ROOT,
  outDir: OUTPUT,
  declaration: true,
  emitDeclarationOnly: true,
  sourceMap: false,
});

/** Texts of declarations by the path of their source, without its extension. */
const emitted = new Map();
const { diagnostics } = program.emit(undefined, (path, text) => {
  emitted.set(join(ROOT, relative(OUTPUT, path)).replace(/\.d\.ts$/, ""), text);
});
const faults = [...diagnostics, ...program.getSyntacticDiagnostics()];
if (faults.length > 0) throw new Error(ts.formatDiagnostics(faults, ts.createCompilerHost(options)));

const wanted = new Set([ENTRY.replace(/\.ts$/, "")]);
for (const path of wanted) {
  const text = emitted.get(path);
  if (text === undefined) throw new Error(`there is no declaration of ${path}`);
  for (const [, specifier] of text.matchAll(/(?:from |import\()"(\.[^"]+)"/g))
    wanted.add(resolve(dirname(path), specifier).replace(/\.js$/, ""));
  const output = join(OUTPUT, `${relative(join(ROOT, "src"), path)}.d.ts`);
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, text);
}
