/** Every source file of the repository with its imports, for the rules beside this file. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Import {
  readonly from: string;
  /** Path from the repository's root for its own files; otherwise the package or `node:` module. */
  readonly to: string;
  readonly isTypeOnly: boolean;
}

/** Paths of all files below a folder with one of these endings. */
export function filesIn(folder: string, endings: readonly string[]): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

/** Paths of all TypeScript files below a folder, without declarations. */
export function sourceFiles(folder: string): string[] {
  return filesIn(folder, [".ts", ".tsx"]).filter((file) => !file.endsWith(".d.ts"));
}

export function textOf(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

/** `import ... from`, `export ... from` and `import "..."` at the start of a line. */
const STATEMENT =
  /^\s*(?:import|export)\s+(?<type>type\s+)?[^;"']*?\bfrom\s+["'](?<from>[^"']+)["']|^\s*import\s+["'](?<bare>[^"']+)["']/gm;
/** `import("...")`, also behind `typeof`, and the calls of CommonJS. */
const CALL =
  /(?<type>typeof\s+)?\b(?:import|require(?:\.resolve)?|createRequire\(import\.meta\.url\)(?:\.resolve)?)\(\s*["'](?<from>[^"']+)["']\s*\)/g;

/** All imports of a file, re-exports among them. */
export function importsOf(file: string): Import[] {
  return readImports(file, textOf(file));
}

/** @param file path from the repository's root, against which relative imports are resolved */
export function readImports(file: string, text: string): Import[] {
  return [...text.matchAll(STATEMENT), ...text.matchAll(CALL)].map(({ groups = {} }) => {
    const specifier = groups.from ?? groups.bare ?? "";
    const to = specifier.startsWith(".")
      ? sourceOf(relative(ROOT, resolve(ROOT, dirname(file), specifier)))
      : specifier;
    return { from: file, to, isTypeOnly: groups.type !== undefined };
  });
}

/** The source of a module, as it is imported: a `.js` is made of a `.ts`, or of a `.tsx` where there is one. */
function sourceOf(path: string): string {
  const withElements = path.replace(/\.js$/, ".tsx");
  return path.endsWith(".js") && existsSync(join(ROOT, withElements)) ? withElements : path.replace(/\.js$/, ".ts");
}

/**
 * Groups of files that import each other in a circle (strongly connected components, Tarjan 1972), each sorted. Empty
 * when there is no circle.
 */
export function circles(imports: readonly Import[]): string[][] {
  const edges = new Map<string, string[]>();
  for (const { from, to } of imports) edges.set(from, [...(edges.get(from) ?? []), to]);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): number => {
    const index = order.size;
    order.set(file, index);
    stack.push(file);
    let low = index;
    for (const next of edges.get(file) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next)) low = Math.min(low, lowest.get(next) ?? order.get(next)!);
    }
    lowest.set(file, low);
    if (low === index) {
      const group = stack.splice(stack.indexOf(file));
      if (group.length > 1) found.push(group.sort());
    }
    return low;
  };
  for (const file of edges.keys()) if (!order.has(file)) visit(file);
  return found;
}

/** Every file and package that these files import at run time, directly or through others, with one way to each. */
export function reachable(files: readonly string[], imports: readonly Import[]): Map<string, readonly string[]> {
  const ways = new Map<string, readonly string[]>(files.map((file) => [file, [file]]));
  const queue = [...files];
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    for (const { from, to, isTypeOnly } of imports) {
      if (from !== file || isTypeOnly || ways.has(to)) continue;
      ways.set(to, [...(ways.get(file) ?? []), to]);
      queue.push(to);
    }
  }
  return ways;
}
