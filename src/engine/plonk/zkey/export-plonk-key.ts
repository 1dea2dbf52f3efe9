/** A PLONK key of this server as snarkjs' `.zkey`, so that others prove with it. */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { buildPlonkKey } from "../../kernels/plonk/build-plonk-key.js";
import { writePlonkZkey } from "../../kernels/zkey/write-plonk-zkey.js";
import { readPlonkKey } from "../key-file.js";

/**
 * Gives the file in pieces; it has five times the domain for every public signal.
 * @param provingKey as key-file.ts writes it
 * @throws RangeError when the key does not fit into a WebAssembly memory
 */
export function* exportPlonkZkey(provingKey: Uint8Array, curve: CurveParameters): Generator<Uint8Array> {
  const { gates, points } = readPlonkKey(provingKey, curve);
  const key = buildPlonkKey(gates, points, { curve, workspaces: 1 });
  yield* writePlonkZkey(key, { gates, points }, curve);
}
