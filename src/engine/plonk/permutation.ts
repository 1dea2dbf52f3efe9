/** PLONK's copy constraints: A. Gabizon, Z. Williamson, O. Ciobotaru (eprint 2019/953), section 5. */
import { GATE_WIRES } from "./plonk-gates.js";
import type { PlonkGates } from "./plonk-gates.js";

/**
 * Returns for each place of the columns a, b and c, one after the other, the place that the permutation gives it: the
 * places of one wire form a cycle, each naming the one before and the first the last. Rows without a gate hold wire 0.
 * @param size number of rows of each column
 * @param freeRows how many of the last rows no wire binds: their places stay where they are
 */
export function permutationOf(gates: PlonkGates, size: number, freeRows = 0): Uint32Array {
  const wireCount = gates.systemWireCount + gates.additions.count;
  const permutation = new Uint32Array(3 * size);
  const last = new Uint32Array(wireCount);
  const first = new Uint32Array(wireCount);
  const isSeen = new Uint8Array(wireCount);
  // Row by row and not column by column: the order of snarkjs, which the commitments depend on.
  for (let row = 0; row < size; row += 1) {
    for (const [column, name] of GATE_WIRES.entries()) {
      const wire = gates.wires[name][row] ?? 0;
      const place = column * size + row;
      if (row >= size - freeRows) {
        permutation[place] = place;
        continue;
      }
      if (isSeen[wire] === 1) permutation[place] = last[wire] ?? 0;
      else {
        first[wire] = place;
        isSeen[wire] = 1;
      }
      last[wire] = place;
    }
  }
  for (let wire = 0; wire < wireCount; wire += 1)
    if (isSeen[wire] === 1) permutation[first[wire] ?? 0] = last[wire] ?? 0;
  return permutation;
}
