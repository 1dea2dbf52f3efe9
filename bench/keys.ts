/**
 * Proving keys of the bench's circuits, made once and kept under the system's temporary folder: good for measuring and
 * for nothing else.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setupGroth16 } from "../src/engine/groth16/setup.js";
import { benchFolder, keepFile } from "./circuits.js";
import type { BenchCircuit } from "./circuits.js";

export interface BenchKey {
  /** snarkjs `.zkey`. */
  readonly zkey: Uint8Array;
  readonly path: string;
}

/** The key of a circuit; the first time about 5 s for 126,594 constraints. */
export async function loadKey(circuit: BenchCircuit): Promise<BenchKey> {
  const name = createHash("sha256").update(circuit.r1csBytes).digest("hex").slice(0, 24);
  const path = join(benchFolder(), `${circuit.name}-${name}.zkey`);
  if (!existsSync(path)) keepFile(path, (await setupGroth16(circuit.r1cs)).zkey);
  return { zkey: new Uint8Array(readFileSync(path)), path };
}
