/**
 * WebAssembly that depends on nothing but the code, emitted once by the build instead of by every process and thread
 * (0.6 s of processor time for one curve). Only programs that the build joins know of it; all others emit their own.
 */
import { readFileSync } from "node:fs";
import { deserialize } from "node:v8";

/** The folder, as seen from those of the joined programs; its name has the hash of the code that emitted the files. */
declare const PREPARED_PROGRAMS: string | undefined;

/**
 * Reads a program that the build has prepared.
 * @param name of write-programs.ts
 * @returns what the writer was given under this name; undefined where there is none: the caller emits it
 */
export function preparedProgram(name: string): unknown {
  if (typeof PREPARED_PROGRAMS !== "string") return undefined;
  try {
    return deserialize(readFileSync(new URL(`${PREPARED_PROGRAMS}/${name}`, import.meta.url)));
  } catch {
    // Removed by a later build, or written by a later version of Node.
    return undefined;
  }
}
