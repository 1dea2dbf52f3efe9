/**
 * Vectors of a key that is too large for one memory: each of them is a section of its own outside of it, of which a
 * piece at a time is copied to where the kernels can reach it.
 */
import { blocksOf } from "./resident-circuit.js";
import type { CircuitContext, VectorPlace } from "./resident-circuit.js";

/** A piece of some vectors. */
export interface Piece {
  /** Its first block, and the number of its blocks. */
  readonly first: number;
  readonly count: number;
  /** Where the piece of each vector is. */
  readonly addresses: readonly number[];
}

/** Blocks of a piece: what the kernels read of 15 vectors, and write, stays in the processor's cache. */
const PIECE_BLOCKS = 1024;
const VECTORS_MAX = 16;

/** Returns the bytes of scratch that `forEachPiece` takes for up to 16 vectors outside of the memory. */
export function pieceScratchBytes({ fr }: CircuitContext["kernels"]): number {
  return VECTORS_MAX * (PIECE_BLOCKS * fr.lanes * fr.elementBytes + 64);
}

/** Visits some vectors piece by piece; in one piece when all of them are in the memory. */
export function forEachPiece(
  context: Pick<CircuitContext, "kernels" | "key" | "scratch">,
  vectors: readonly VectorPlace[],
  visit: (piece: Piece) => void,
): void {
  const { kernels, scratch } = context;
  const blocks = blocksOf(context);
  const blockBytes = kernels.fr.lanes * kernels.fr.elementBytes;
  const size = vectors.every((vector) => typeof vector === "number") ? blocks : PIECE_BLOCKS;
  scratch.scoped(() => {
    const copies = vectors.map((vector) => (typeof vector === "number" ? 0 : scratch.take(size * blockBytes)));
    for (let first = 0; first < blocks; first += size) {
      const count = Math.min(size, blocks - first);
      const addresses = vectors.map((vector, i) => {
        if (typeof vector === "number") return vector + first * blockBytes;
        const copy = copies[i] ?? 0;
        kernels.bytes(copy, count * blockBytes).set(new Uint8Array(vector, first * blockBytes, count * blockBytes));
        return copy;
      });
      scratch.scoped(() => {
        visit({ first, count, addresses });
      });
    }
  });
}
