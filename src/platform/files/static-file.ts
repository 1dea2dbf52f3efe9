/** Reads files that the build made and that are answered unchanged. */
import { existsSync, readFileSync } from "node:fs";
import { StaticBytes } from "../contract/static-bytes.js";

/**
 * Returns the file's bytes, with their form in brotli where the build has put it beside them as `NAME.br`.
 * @throws Error of the file system when the file is not there
 */
export function readStaticFile(path: string): StaticBytes {
  const compressed = `${path}.br`;
  return new StaticBytes(readFileSync(path), existsSync(compressed) ? readFileSync(compressed) : undefined);
}
