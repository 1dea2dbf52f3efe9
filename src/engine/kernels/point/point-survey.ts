/**
 * Emits the test that points lie on their curve, for points from outside: additions of points that do not are wrong
 * without a sign of it.
 */
import { i32 } from "../wasm/wasm-ops.js";
import { lanesOf } from "../field/field.js";
import type { Field } from "../field/field.js";
import type { ModuleBuilder } from "../wasm/wasm-builder.js";

interface SurveyOptions {
  /** Prefix of the function's name: "g1" or "g2". */
  readonly name: string;
  /** The b of y^2 = x^3 + b, as coefficients over the prime field. */
  readonly b: readonly bigint[];
}

/**
 * Defines `_survey` (points, count) -> index: the index of an affine point of the first `lanes` neighbours of which one
 * does not satisfy the equation, or `count` when all do. `count` is at least 1, and no point is marked as infinity.
 */
export function definePointSurvey<E>(module: ModuleBuilder, field: Field<E>, { name, b }: SurveyOptions): void {
  module.define({ name: `${name}_survey`, params: ["i32", "i32"], results: ["i32"] }, (f, points, count) => {
    const last = f.let(i32.sub(count, i32.const(1)));
    const index = f.local("i32");
    f.for(i32.const(0), count, field.lanes, (i) => {
      const addresses = lanesOf(field).map((lane) => {
        f.set(index, i32.add(i, i32.const(lane)));
        // Past the end the last point is taken again.
        f.if(i32.gtU(index, last), () => f.set(index, last));
        return f.let(i32.add(points, i32.mul(index, i32.const(2 * field.elementBytes))));
      });
      const x = field.load(f, addresses, 0, field.reducedMax);
      const y = field.load(f, addresses, field.elementBytes, field.reducedMax);
      const cube = field.reduce(f, field.mul(f, field.reduce(f, field.square(f, x)), x));
      const right = field.reduce(f, field.add(f, cube, field.constant(f, b)));
      const difference = field.reduce(f, field.sub(f, field.reduce(f, field.square(f, y)), right));
      f.if(i32.eqz(field.isZero(f, difference)), () => f.return(i));
    });
    f.return(count);
  });
}
