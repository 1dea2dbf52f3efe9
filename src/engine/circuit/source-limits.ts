/**
 * Limits of one circuit's source and of what is said about it, which the API's schema and the compiler share. circomlib
 * is included from the server's own copy and does not count.
 */

/**
 * UTF-8 bytes of all files together, whatever the settings: with JSON's escapes, what the server can hold of one body.
 */
export const SOURCE_BYTES_MAX = 16 * 1024 * 1024;
/** Files of one circuit, whatever the settings. */
export const SOURCE_FILES_MAX = 5000;
/** Room for several packages with circomlib among them, whose Poseidon constants alone have 1.9 MB. */
export const SOURCE_MEGABYTES_DEFAULT = 8;
export const SOURCE_FILES_DEFAULT = 2000;
export const SOURCE_PATH_CHARACTERS_MAX = 200;
/**
 * A path inside the source: relative, `/` between its parts, no part that is empty or starts with a dot, `.circom` at
 * the end. Scopes of packages begin with `@`.
 */
export const SOURCE_PATH_PATTERN = "^(?:[A-Za-z0-9_@][A-Za-z0-9_.@+-]*/)*[A-Za-z0-9_@][A-Za-z0-9_.@+-]*\\.circom$";

/** Findings of one compilation at most; the last one says how many are left out. */
export const DIAGNOSTICS_MAX = 500;

const SOURCE_PATH = new RegExp(SOURCE_PATH_PATTERN);

/** Returns what is wrong with the path of a source file, as the rest of a sentence; undefined when it can be one. */
export function findPathFault(path: string): string | undefined {
  if (path === "") return "is empty";
  if (path.length > SOURCE_PATH_CHARACTERS_MAX)
    return `is longer than ${String(SOURCE_PATH_CHARACTERS_MAX)} characters`;
  if (/[\u0000-\u001f\u007f]/.test(path)) return "has a control character";
  if (path.includes("\\")) return "has a backslash: write '/' between folders";
  if (path.startsWith("/")) return "is absolute: paths are relative to the source";
  const parts = path.split("/");
  if (parts.includes("")) return "has an empty part";
  if (parts.some((part) => part === "." || part === "..")) return "has a part '.' or '..'";
  if (SOURCE_PATH.test(path)) return undefined;
  return path.endsWith(".circom")
    ? "has a part with characters other than letters, digits and ._-@+, or one that starts with '.', '-' or '+'"
    : "does not end in .circom";
}

/** Returns the paths that are at the same time a folder of another path: no tree of files has both. */
export function filesThatAreFolders(paths: readonly string[]): string[] {
  const folders = new Set(paths.flatMap(foldersOf));
  return paths.filter((path) => folders.has(path));
}

function foldersOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(1).map((_, i) => parts.slice(0, i + 1).join("/"));
}
