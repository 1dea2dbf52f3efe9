/**
 * Follows the includes of circom source as the compiler does, to know which files it reads before it runs: a compiler
 * with a real file system follows `include "../../etc/passwd"` as well. Paths are absolute in the tree of
 * source-tree.ts.
 */
import { posix } from "node:path";
import { withBlankComments } from "./source-places.js";

interface IncludeTree {
  /** Absolute path -> text. */
  readonly textOf: (path: string) => string | undefined;
  /** Folders that are searched after that of the including file, in this order. */
  readonly searched: readonly string[];
}

/** The files that a source reaches. */
export interface ReachedFiles {
  /** Absolute path -> text without comments, in the order of reading. */
  readonly files: ReadonlyMap<string, string>;
  /** The first include that could leave the tree; nothing may be compiled then. */
  readonly leaving?: { readonly file: string; readonly include: string; readonly line: number };
  /** The first file with an include that is nowhere: the compiler stops there. */
  readonly incomplete?: string;
}

/** The keyword before a text; circom's words are of letters, digits, `_` and `$`. */
const INCLUDE_BEFORE = /(?<![\w$])include[^\w$]*$/;

/**
 * Returns the files that the compiler can read, from `main` on. Comments are blanked, places stay: the texts have then
 * one reading, whatever a compiler thinks of a comment, and every other text of the source is between two quotes.
 */
export function reachedFiles(main: string, tree: IncludeTree): ReachedFiles {
  const files = new Map<string, string>();
  const open = [main];
  let incomplete: string | undefined;
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const text = files.has(path) ? undefined : tree.textOf(path);
    if (text === undefined) continue;
    const code = withBlankComments(text);
    files.set(path, code);
    for (const { include, line } of includesOf(code)) {
      const found = placesOf(path, include, tree);
      if (found === undefined) return { files, leaving: { file: path, include, line } };
      const existing = found.find((place) => tree.textOf(place) !== undefined);
      if (existing === undefined) incomplete ??= path;
      else open.push(existing);
    }
  }
  return { files, ...(incomplete === undefined ? {} : { incomplete }) };
}

/** Texts have no escapes and no line breaks, so that every second piece between quotes is one. */
function includesOf(code: string): { readonly include: string; readonly line: number }[] {
  const pieces = code.split('"');
  let line = 1;
  return pieces.flatMap((piece, i) => {
    const at = line;
    line += piece.split("\n").length - 1;
    return i % 2 === 1 && INCLUDE_BEFORE.test(pieces[i - 1] ?? "") ? [{ include: piece, line: at }] : [];
  });
}

/** Where the compiler looks for an include; undefined where one of the places is not in the tree for certain. */
function placesOf(path: string, include: string, { searched }: IncludeTree): string[] | undefined {
  if (include.startsWith("/") || include.includes("\0") || include.includes("\\")) return undefined;
  const bases = [posix.dirname(path), ...searched];
  // Without the leading slash: `..` beyond the top stays visible.
  const places = bases.map((base) => posix.normalize(`${base.slice(1)}/${include}`));
  return places.some((place) => place === ".." || place.startsWith("../"))
    ? undefined
    : places.map((place) => `/${place}`);
}
