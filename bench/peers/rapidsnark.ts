/** rapidsnark's program, which is not ours to install: taken from RAPIDSNARK or PATH. */
import { execFile } from "node:child_process";
import { accessSync, constants, readFileSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

/** Returns the path of the program; undefined where there is none. */
export function findRapidsnark(): string | undefined {
  const { RAPIDSNARK: named, PATH: searchPath = "" } = process.env;
  const places = searchPath.split(delimiter).map((folder) => join(folder, "rapidsnark"));
  return [...(named === undefined ? [] : [named]), ...places].find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export interface NativeProof {
  /** From the program's start to its end; it maps the key's file anew each time. */
  readonly ms: number;
  /** snarkjs' JSON, with the curve, which the program leaves out. */
  readonly proof: unknown;
}

/** Proves with the program. Rejects when it fails. @param files.key snarkjs `.zkey` @param files.witness `.wtns` */
export async function proveNatively(
  program: string,
  files: { readonly key: string; readonly witness: string },
): Promise<NativeProof> {
  const [proof, signals] = [`${files.witness}.proof`, `${files.witness}.public`] as const;
  try {
    const startedAt = performance.now();
    await promisify(execFile)(program, [files.key, files.witness, proof, signals]);
    const ms = performance.now() - startedAt;
    return { ms, proof: { curve: "bn128", ...(JSON.parse(readFileSync(proof, "utf8")) as object) } };
  } finally {
    for (const path of [proof, signals]) rmSync(path, { force: true });
  }
}
