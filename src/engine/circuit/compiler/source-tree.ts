/**
 * Lays the caller's files out as the compiler finds them: the folders that it searches for includes, and the spellings
 * of includes that only work where a package manager has put circomlib.
 */
import { posix } from "node:path";
import { LIBRARY_FOLDER, SOURCE_FOLDER } from "../diagnostics.js";
import { withoutComments } from "./source-places.js";

interface SourceTree {
  /** Absolute path to text. */
  readonly files: ReadonlyMap<string, string>;
  /** Folders that the compiler searches after that of the including file, in this order. */
  readonly searched: readonly string[];
}

const PACKAGES = "node_modules";
const BYTE_ORDER_MARK = "\ufeff";
/** The include prefixes of circomlib, as a package and as bare names of files. */
const LIBRARY_SEARCHED = [LIBRARY_FOLDER, `${LIBRARY_FOLDER}/circomlib/circuits`];

/**
 * Prepares sources for the compiler. The caller's own packages are searched first, then the root of the source, then
 * the shipped library, so that a source may bring its own circomlib.
 * @param sources relative path to text
 * @param isShipped whether the library has a file, by its include path (`circomlib/circuits/poseidon.circom`)
 */
export function layOutSources(
  sources: Readonly<Record<string, string>>,
  isShipped: (path: string) => boolean,
): SourceTree {
  const paths = new Set(Object.keys(sources));
  const packages = packageFolders([...paths]);
  const isFound = (path: string): boolean =>
    isShipped(path) || paths.has(path) || packages.some((folder) => paths.has(`${folder}/${path}`));
  const files = Object.entries(sources).map(([path, text]) => {
    const plain = text.startsWith(BYTE_ORDER_MARK) ? text.slice(BYTE_ORDER_MARK.length) : text;
    return [`${SOURCE_FOLDER}/${path}`, withPackageIncludes(path, plain, { paths, isFound })] as const;
  });
  return {
    files: new Map(files),
    searched: [...packages.map((folder) => `${SOURCE_FOLDER}/${folder}`), SOURCE_FOLDER, ...LIBRARY_SEARCHED],
  };
}

/** The caller's folders named node_modules, outermost first. */
function packageFolders(paths: readonly string[]): string[] {
  const folders = paths.flatMap((path) => {
    const parts = path.split("/");
    return parts.flatMap((part, i) => (part === PACKAGES ? [parts.slice(0, i + 1).join("/")] : []));
  });
  return [...new Set(folders)].sort((a, b) => a.split("/").length - b.split("/").length || (a < b ? -1 : 1));
}

/**
 * Shortens `../../node_modules/circomlib/...` to `circomlib/...` where the longer one leads nowhere. Blanks fill the
 * rest, so that lines and columns stay. The compiler knows files by path: an alias would make two files of one.
 */
function withPackageIncludes(
  path: string,
  text: string,
  { paths, isFound }: { readonly paths: ReadonlySet<string>; readonly isFound: (path: string) => boolean },
): string {
  if (!text.includes(`${PACKAGES}/`)) return text;
  const code = withoutComments(text);
  const pieces: string[] = [];
  let end = 0;
  for (const { index, 0: statement, 1: included = "" } of code.matchAll(/\binclude\s*"([^"]*)"/g)) {
    const at = included.lastIndexOf(`${PACKAGES}/`);
    if (at < 0 || paths.has(posix.join(posix.dirname(path), included))) continue;
    const rest = included.slice(at + PACKAGES.length + 1);
    if (!isFound(rest)) continue;
    const shorter = statement.replace(`"${included}"`, () => `"${rest}"`).padEnd(statement.length);
    pieces.push(text.slice(end, index), shorter);
    end = index + statement.length;
  }
  return pieces.join("") + text.slice(end);
}
