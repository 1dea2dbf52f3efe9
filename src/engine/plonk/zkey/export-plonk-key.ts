/** A PLONK key of this server as snarkjs' `.zkey`, so that others prove with it. */
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { buildPlonkKey } from "../../kernels/plonk/build-plonk-key.js";
import { writePlonkZkey } from "../../kernels/zkey/write-plonk-zkey.js";
import { readPlonkKey } from "../key-file.js";
import { plonkZkeyBytes } from "./plonk-zkey.js";

/** A file has five times the domain for every public signal, and is sent from process to process as a whole. */
const FILE_BYTES_MAX = 1024 ** 3;

/**
 * Gives the file in pieces.
 * @param provingKey as key-file.ts writes it
 * @throws RangeError when the file would be longer than 1 GiB, or the key does not fit into a WebAssembly memory
 */
export function* exportPlonkZkey(provingKey: Uint8Array, curve: CurveParameters): Generator<Uint8Array> {
  const { gates, points, domainPower } = readPlonkKey(provingKey, curve);
  if (plonkZkeyBytes({ domainPower, publicCount: gates.publicCount }, curve) > FILE_BYTES_MAX)
    throw new RangeError("the key has too many gates or public signals for one file of snarkjs");
  const key = buildPlonkKey(gates, points, { curve, workspaces: 1 });
  yield* writePlonkZkey(key, { gates, points }, curve);
}
