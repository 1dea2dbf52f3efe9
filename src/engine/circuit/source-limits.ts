/**
 * Limits of one circuit's source, which the API's schema and the compiler share. circomlib is included from the
 * server's own copy and does not count.
 */

/** UTF-8 bytes of all files together: several times the largest circuits that people write by hand. */
export const SOURCE_BYTES_MAX = 256 * 1024;
/** Files of one circuit; the whole of circomlib has 58. */
export const SOURCE_FILES_MAX = 64;
export const SOURCE_PATH_CHARACTERS_MAX = 200;
/**
 * A path inside the source: relative, `/` between its parts, no part that is empty or starts with a dot, `.circom` at
 * the end.
 */
export const SOURCE_PATH_PATTERN = "^(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\\.circom$";

/** Findings of one compilation at most; the last one says how many are left out. */
export const DIAGNOSTICS_MAX = 500;
