/**
 * Emits the step that joins a polynomial of less than 4 n coefficients from its residues on four cosets of a domain of
 * n points. On the coset of shift s w^j, w a root of order 4 n, X^n is the constant s^n i^j with i of order 4: the
 * residue is the sum of the four parts times powers of that constant, an inverse transform of four points.
 */
import { everyLane } from "../field/field.js";
import type { PrimeField } from "../field/field.js";
import { forEachBlock } from "../ntt/ntt.js";
import type { ModuleBuilder } from "../wasm/wasm-builder.js";

/**
 * Defines `_join_cosets` (first, second, third, fourth, count, factors): the residues, in vectors of `count` blocks,
 * are replaced by the parts t0 to t3 of t0 + X^n t1 + X^2n t2 + X^3n t3. At `factors` stand 1 / i, and 1 / (4 s^(n k))
 * for k from 0 to 3, elements in Montgomery form.
 */
export function defineCosets<E>(module: ModuleBuilder, field: PrimeField<E>, name: string): void {
  const params = { first: "i32", second: "i32", third: "i32", fourth: "i32", count: "i32", factors: "i32" } as const;
  const blockBytes = field.lanes * field.elementBytes;
  module.defineNamed({ name: `${name}_join_cosets`, params }, (f, p) => {
    const factor = (i: number): E => {
      const element = field.variable(f, field.reducedMax);
      field.assign(f, element, field.load(f, everyLane(field, p.factors), i * field.elementBytes, field.reducedMax));
      return element;
    };
    const inverseRoot = factor(0);
    const scales = [1, 2, 3, 4].map(factor);
    const arrays = [p.first, p.second, p.third, p.fourth];
    forEachBlock(f, { arrays, count: p.count, blockBytes }, (...places) => {
      const [u0, u1, u2, u3] = places.map((at) => field.loadBlock(f, at, 0, field.productMax)) as [E, E, E, E];
      const add = (x: E, y: E): E => field.reduce(f, field.add(f, x, y));
      const sub = (x: E, y: E): E => field.reduce(f, field.sub(f, x, y));
      const [evenSum, evenDifference, oddSum] = [add(u0, u2), sub(u0, u2), add(u1, u3)];
      const turned = field.mul(f, sub(u1, u3), inverseRoot);
      const parts = [
        add(evenSum, oddSum),
        add(evenDifference, turned),
        sub(evenSum, oddSum),
        sub(evenDifference, turned),
      ];
      for (const [i, part] of parts.entries()) {
        const [scale, place] = [scales[i], places[i]];
        if (scale !== undefined && place !== undefined) field.storeBlock(f, place, 0, field.mul(f, part, scale));
      }
    });
  });
}
