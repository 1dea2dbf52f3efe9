/**
 * Joins the engine's Groth16 types to the kernels: makes a proving key that was read from a zkey resident, and a proof
 * of the kernels' coordinates. Nothing here checks a witness or a proof; src/engine/groth16 does both.
 */
import { encodeG1, encodeG2 } from "../../curves/points.js";
import { buildResidentKey } from "./build-resident-key.js";
import type { Groth16Proof } from "../../groth16/proof.js";
import type { Groth16ProvingKey } from "../../groth16/proving-key.js";
import type { Blinding, ResidentProver } from "./resident-prover.js";
import type { KeyMemoryOptions } from "../threads/key-memory.js";
import type { ResidentKey } from "./resident-key.js";

type ResidentOptions = Omit<KeyMemoryOptions, "curve">;

/** Makes a key resident; see `buildResidentKey` for cost and errors. The zkey's bytes are not needed afterwards. */
export function makeKeyResident(key: Groth16ProvingKey, options: ResidentOptions): ResidentKey {
  const { curve } = key;
  return buildResidentKey(
    {
      ...key,
      coefficients: key.coefficients.entries,
      alphaG1: encodeG1(key.alphaG1, curve),
      betaG1: encodeG1(key.betaG1, curve),
      deltaG1: encodeG1(key.deltaG1, curve),
      betaG2: encodeG2(key.betaG2, curve),
      deltaG2: encodeG2(key.deltaG2, curve),
    },
    options,
  );
}

/**
 * Makes a proof for given blinding factors, which must be fresh and random.
 * @param witness 32 bytes little-endian per wire, each below the order, wire 0 being one: checked by the caller.
 * @param team memory of a team that other threads may join with `ResidentProver.help`; without it the thread proves
 *   alone.
 * @throws Error when the key is degenerate, so that a proof element is infinity, and as `ResidentProver.prove` does.
 */
export function proveResident(
  prover: ResidentProver,
  witness: Uint8Array,
  blinding: Blinding,
  team?: SharedArrayBuffer,
): Groth16Proof {
  const { a, b, c } = prover.prove(witness, blinding, team).proof;
  const [ax, ay] = required(a);
  const [bx0, bx1, by0, by1] = required(b);
  const [cx, cy] = required(c);
  if (
    ax === undefined ||
    ay === undefined ||
    bx0 === undefined ||
    bx1 === undefined ||
    by0 === undefined ||
    by1 === undefined ||
    cx === undefined ||
    cy === undefined
  ) {
    throw new Error("a kernel point has too few coordinates");
  }
  return {
    curve: prover.curve,
    a: { x: ax, y: ay },
    b: { x: { c0: bx0, c1: bx1 }, y: { c0: by0, c1: by1 } },
    c: { x: cx, y: cy },
  };
}

function required(coordinates: readonly bigint[] | undefined): readonly bigint[] {
  if (coordinates === undefined)
    throw new Error("a proof element is the point at infinity: the proving key is degenerate");
  return coordinates;
}
