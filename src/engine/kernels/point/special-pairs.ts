/**
 * Emits what a batch of additions (point-batch.ts) does where two points are equal, opposite or infinite: lane by lane,
 * as such pairs are rare.
 */
import { i32 } from "../wasm/wasm-ops.js";
import { everyLane, lanesOf } from "../field/field.js";
import type { Field } from "../field/field.js";
import type { FunctionHandle, ModuleBuilder } from "../wasm/wasm-builder.js";
import type { Local } from "../wasm/wasm-ops.js";
import { addressOf, differenceOf, loadPoint, storePoint, sumBy } from "./affine-sum.js";
import { LIST_ENTRY_BYTES } from "./batch-layout.js";
import type { BatchLayout } from "./batch-layout.js";

/** How one pair must be added. */
const KIND = { plain: 0, double: 1, infinity: 2, left: 3, right: 4 } as const;

/**
 * Finds the kind of each lane of a vector that may need a special case, and puts a usable denominator in its place: 2y
 * to double, and 1 where none is needed.
 */
export function definePatch<E>(
  module: ModuleBuilder,
  field: Field<E>,
  layout: BatchLayout,
  name: string,
): FunctionHandle {
  const classify = defineClassify(module, field, name);
  return module.define(
    { name: `${name}_patch_vector`, params: ["i32", "i32"], exported: false },
    (f, entry, record) => {
      for (const lane of lanesOf(field)) {
        const left = i32.load(entry, lane * LIST_ENTRY_BYTES);
        const [kind] = f.callFor("i32", classify, [left, i32.load(entry, lane * LIST_ENTRY_BYTES + 4)]);
        if (kind === undefined) throw new Error("classify gives a kind");
        f.run(i32.store8(i32.add(record, i32.const(lane)), kind, layout.kinds));
        f.if(i32.eq(kind, i32.const(KIND.double)), () => {
          const { y } = loadPoint(f, field, everyLane(field, left));
          field.storeLane(f, { address: record, offset: 0, lane }, field.reduce(f, field.add(f, y, y)));
        });
        f.if(i32.gtU(kind, i32.const(KIND.double)), () =>
          field.storeLane(f, { address: record, offset: 0, lane }, field.constant(f, [1n])),
        );
      }
    },
  );
}

/** Defines (left word, right word) -> the KIND of the pair. */
function defineClassify<E>(module: ModuleBuilder, field: Field<E>, name: string): FunctionHandle {
  return module.define(
    { name: `${name}_classify_pair`, params: ["i32", "i32"], results: ["i32"], exported: false },
    (f, left, right) => {
      f.if(field.isMarked(f, addressOf(left)), () => f.return(i32.const(KIND.right)));
      f.if(field.isMarked(f, addressOf(right)), () => f.return(i32.const(KIND.left)));
      const p = loadPoint(f, field, everyLane(field, left));
      const q = loadPoint(f, field, everyLane(field, right));
      f.if(i32.eqz(field.isZero(f, field.sub(f, p.x, q.x))), () => f.return(i32.const(KIND.plain)));
      // Equal x: the same point, unless the y differ or are both 0.
      f.if(i32.eqz(field.isZero(f, field.sub(f, p.y, q.y))), () => f.return(i32.const(KIND.infinity)));
      f.if(field.isZero(f, p.y), () => f.return(i32.const(KIND.infinity)));
      f.return(i32.const(KIND.double));
    },
  );
}

/**
 * Defines the second pass for a vector with a special lane: each lane by itself, by its kind. The inverses lie in the
 * record's second block.
 */
export function defineFinish<E>(
  module: ModuleBuilder,
  field: Field<E>,
  layout: BatchLayout,
  name: string,
): FunctionHandle {
  const finishLane = defineFinishLane(module, field, name);
  return module.define(
    { name: `${name}_finish_vector`, params: ["i32", "i32"], exported: false },
    (f, entry, record) => {
      const inverse = f.let(i32.add(record, i32.const(layout.block)));
      for (const lane of lanesOf(field)) {
        const kind = i32.load8U(record, layout.kinds + lane);
        // The inverse of this lane, in the first lane's place.
        const first = field.loadLane(f, { address: inverse, offset: 0, lane }, field.productMax);
        field.storeLane(f, { address: inverse, offset: 0, lane: 0 }, first);
        f.call(finishLane, [i32.add(entry, i32.const(lane * LIST_ENTRY_BYTES)), kind, inverse]);
      }
    },
  );
}

/** Defines (entry, KIND, block with the inverse in its first lane): stores the sum of one entry. */
function defineFinishLane<E>(module: ModuleBuilder, field: Field<E>, name: string): FunctionHandle {
  return module.define(
    { name: `${name}_finish_lane`, params: ["i32", "i32", "i32"], exported: false },
    (f, entry, kind, block) => {
      const [left, right, target] = [0, 4, 8].map((offset) => f.let(i32.load(entry, offset))) as [
        Local<"i32">,
        Local<"i32">,
        Local<"i32">,
      ];
      const targets = everyLane(field, target);
      const p = loadPoint(f, field, everyLane(field, left));
      const q = loadPoint(f, field, everyLane(field, right));
      const inverse = field.loadLane(f, { address: block, offset: 0, lane: 0 }, field.productMax);
      f.if(i32.eq(kind, i32.const(KIND.plain)), () => {
        const slope = field.mul(f, differenceOf(f, field, q.y, p.y), inverse);
        storePoint(f, field, targets, sumBy(f, field, slope, { p, qx: q.x }));
      });
      f.if(i32.eq(kind, i32.const(KIND.double)), () => {
        const squared = field.square(f, p.x);
        const numerator = field.reduce(f, field.add(f, field.add(f, squared, squared), squared));
        storePoint(f, field, targets, sumBy(f, field, field.mul(f, numerator, inverse), { p, qx: p.x }));
      });
      f.if(i32.eq(kind, i32.const(KIND.infinity)), () => field.storeMark(f, target));
      for (const [which, point, word] of [
        [KIND.left, p, left],
        [KIND.right, q, right],
      ] as const) {
        f.if(i32.eq(kind, i32.const(which)), () => {
          f.if(
            field.isMarked(f, addressOf(word)),
            () => field.storeMark(f, target),
            () => {
              field.store(f, targets, 0, point.x);
              field.store(f, targets, field.elementBytes, field.normalize(f, point.y));
            },
          );
        });
      }
    },
  );
}
