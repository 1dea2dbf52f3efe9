/**
 * What the kernel tests share: big seeded numbers, a module of bare field operations on chosen limbs, and points with
 * known logarithms.
 */
import { bn254 } from "@noble/curves/bn254.js";
import { Arena } from "../../src/engine/kernels/wasm/arena.js";
import { BN254 } from "../../src/engine/curves/bn254.js";
import { generatorCoordinates } from "../../src/engine/curves/curve-parameters.js";
import { writeBigIntLE } from "../../src/engine/field/bytes.js";
import { hasFusedMultiplyAdd } from "../../src/engine/kernels/wasm/features.js";
import type { PrimeField } from "../../src/engine/kernels/field/field.js";
import { FmaField } from "../../src/engine/kernels/field/fma-field.js";
import { balancedLimbs, unsignedLimbs } from "../../src/engine/kernels/field/integers.js";
import { IntegerField } from "../../src/engine/kernels/field/integer-field.js";
import { defineInversion, defineJointInversion } from "../../src/engine/kernels/field/inversion.js";
import { FixedBase, fixedBaseBytes } from "../../src/engine/kernels/msm/fixed-base.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../../src/engine/kernels/kernels.js";
import type { Kernels } from "../../src/engine/kernels/kernels.js";
import type { KernelKind } from "../../src/engine/kernels/kernel-module.js";
import { ModuleBuilder } from "../../src/engine/kernels/wasm/wasm-builder.js";
import { wasmHost } from "../../src/engine/kernels/wasm/wasm-host.js";
import type { SeededRandom } from "./seeded.js";

/** The kinds that this machine can run; both everywhere that has fused multiply-add. */
export const KERNEL_KINDS: readonly KernelKind[] = hasFusedMultiplyAdd() ? ["fma", "integer"] : ["integer"];

export function bigBelow(random: SeededRandom, limit: bigint): bigint {
  let value = 0n;
  for (let bits = 0n; bits < BigInt(limit.toString(2).length) + 32n; bits += 30n)
    value = (value << 30n) | BigInt(random.below(2 ** 30));
  return value % limit;
}

export function modulo(value: bigint, modulus: bigint): bigint {
  return ((value % modulus) + modulus) % modulus;
}

export type BareOperation = "mul" | "sum" | "square" | "add" | "sub" | "reduce" | "invert" | "invertJointly" | "pack";

/** Field operations of one emitter, on limbs that a test chooses. */
export interface BareField {
  readonly prime: bigint;
  readonly radix: bigint;
  readonly productMax: bigint;
  readonly reducedMax: bigint;
  readonly lanes: number;
  /** Limbs of a value as the emitter normalises it. */
  limbs(value: bigint): bigint[];
  /** Largest normalised limbs in either direction, the highest one such that the value keeps to `max`. */
  extremes(max: bigint): bigint[][];
  valueOf(limbs: readonly bigint[]): bigint;
  /** Runs the operation lane by lane; for `pack` the results are the canonical integers. */
  run(operation: BareOperation, a: readonly (readonly bigint[])[], b: readonly (readonly bigint[])[]): bigint[];
}

export function bareField(kind: KernelKind, prime: bigint, bytes: number): BareField {
  const module = new ModuleBuilder();
  return kind === "fma"
    ? buildBareField(module, new FmaField(prime, module), { kind, bytes })
    : buildBareField(module, new IntegerField(prime), { kind, bytes });
}

/** How many times a b + a a the bare "sum" adds up: as many as the pairing's longest sums have. */
export function sumTimes(kind: KernelKind): number {
  return kind === "integer" ? 1 : 6;
}
const PLACE = { a: 0, b: 1024, result: 2048, scratch: 4096 } as const;

function buildBareField<E>(
  module: ModuleBuilder,
  field: PrimeField<E>,
  { kind, bytes }: { readonly kind: KernelKind; readonly bytes: number },
): BareField {
  const operate = (
    name: BareOperation,
    emit: (f: Parameters<Parameters<ModuleBuilder["define"]>[1]>[0], a: E, b: E) => E,
  ): void => {
    module.define({ name, params: ["i32", "i32", "i32"] }, (f, result, a, b) => {
      const value = emit(f, field.loadBlock(f, a, 0, field.productMax), field.loadBlock(f, b, 0, field.productMax));
      field.storeBlock(f, result, 0, value);
    });
  };
  operate("mul", (f, a, b) => field.mul(f, a, b));
  // As long as the pairing has them and with the columns kept apart, where the emitter can do that.
  module.define({ name: "sum", params: ["i32", "i32", "i32"] }, (f, result, a, b) => {
    if (field instanceof FmaField) {
      const [left, right] = [field.factor(a, field.productMax), field.factor(b, field.productMax)];
      const products = Array.from({ length: sumTimes(kind) }, () => [
        { a: left, b: right },
        { a: left, b: left },
      ]).flat();
      field.storeBlock(f, result, 0, field.sumOfProducts(f, products));
    } else {
      const [left, right] = [a, b].map((address) => field.loadBlock(f, address, 0, field.productMax)) as [E, E];
      field.storeBlock(
        f,
        result,
        0,
        field.sumOfProducts(f, [
          { a: left, b: right },
          { a: left, b: left },
        ]),
      );
    }
  });
  operate("square", (f, a) => field.square(f, a));
  operate("add", (f, a, b) => field.normalize(f, field.add(f, a, b)));
  operate("sub", (f, a, b) => field.normalize(f, field.sub(f, a, b)));
  operate("reduce", (f, a, b) => field.reduce(f, field.add(f, a, b)));
  module.define({ name: "pack", params: ["i32", "i32", "i32"] }, (f, result, a, _b) => {
    const lanes = Array.from({ length: field.lanes }, (_, lane) => ({
      ...result,
      emit: (code: Parameters<typeof result.emit>[0]) => {
        result.emit(code);
        code.byte(0x41);
        code.signed(BigInt(lane * bytes));
        code.byte(0x6a);
      },
    }));
    field.pack(f, lanes, bytes, field.loadBlock(f, a, 0, field.productMax));
  });
  for (const [name, { handle }] of [
    ["invert", defineInversion(module, field, { name: "test", bytes })],
    ["invertJointly", defineJointInversion(module, field, { name: "test_joint", bytes })],
  ] as const)
    module.define({ name, params: ["i32", "i32", "i32"] }, (f, result, a, scratch) => {
      f.call(handle, [result, a, scratch]);
    });
  const memory = new wasmHost.Memory({ initial: 1, maximum: 1, shared: true });
  const exports = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes(1)), { env: { memory } })
    .exports as Record<string, (...args: number[]) => void>;
  const doubles = new Float64Array(memory.buffer),
    words = new Int32Array(memory.buffer),
    octets = new Uint8Array(memory.buffer);
  const { limbCount, lanes } = field;
  const limbBits = BigInt(field.limbBits);
  const write = (at: number, lane: number, limbs: readonly bigint[]): void => {
    limbs.forEach((limb, j) => {
      if (kind === "fma") doubles[at / 8 + 2 * j + lane] = Number(limb);
      else words[at / 4 + j] = Number(limb);
    });
  };
  const read = (at: number, lane: number): bigint[] =>
    Array.from({ length: limbCount }, (_, j) => {
      if (kind === "fma") return BigInt(doubles[at / 8 + 2 * j + lane]!);
      return j === limbCount - 1 ? BigInt(words[at / 4 + j]!) : BigInt(words[at / 4 + j]! >>> 0);
    });
  const valueOf = (limbs: readonly bigint[]): bigint => limbs.reduceRight((sum, limb) => (sum << limbBits) + limb, 0n);
  return {
    prime: field.prime,
    radix: field.radix,
    productMax: field.productMax,
    reducedMax: field.reducedMax,
    lanes,
    valueOf,
    limbs: (value) => (kind === "fma" ? balancedLimbs : unsignedLimbs)(value, field.limbBits, limbCount),
    extremes: (max) => extremesOf(kind, field.limbBits, limbCount, max),
    run: (operation, a, b) => {
      const results: bigint[] = [];
      for (let i = 0; i < a.length; i += lanes) {
        for (let lane = 0; lane < lanes; lane += 1) {
          write(PLACE.a, lane, a[Math.min(i + lane, a.length - 1)]!);
          write(PLACE.b, lane, b[Math.min(i + lane, a.length - 1)]!);
        }
        exports[operation]!(PLACE.result, PLACE.a, operation.startsWith("invert") ? PLACE.scratch : PLACE.b);
        for (let lane = 0; lane < lanes && i + lane < a.length; lane += 1) {
          const packed = octets.slice(PLACE.result + lane * bytes, PLACE.result + (lane + 1) * bytes);
          results.push(
            operation === "pack"
              ? BigInt(`0x${Buffer.from(packed.reverse()).toString("hex")}`)
              : valueOf(read(PLACE.result, lane)),
          );
        }
      }
      return results;
    },
  };
}

/**
 * Limbs at both ends of their range, in all and alternating signs, with a highest limb that keeps the value within
 * `max`.
 */
function extremesOf(kind: KernelKind, limbBits: number, limbCount: number, max: bigint): bigint[][] {
  const [low, high] =
    kind === "fma" ? [-(1n << BigInt(limbBits - 1)), 1n << BigInt(limbBits - 1)] : [0n, (1n << BigInt(limbBits)) - 1n];
  const top = BigInt(limbBits * (limbCount - 1));
  const patterns = [
    () => low,
    () => high,
    (j: number) => (j % 2 === 0 ? low : high),
    (j: number) => (j % 2 === 0 ? high : low),
    () => 0n,
  ];
  return patterns.flatMap((pattern) => {
    const lower = Array.from({ length: limbCount - 1 }, (_, j) => pattern(j));
    const rest = lower.reduceRight((sum, limb) => (sum << BigInt(limbBits)) + limb, 0n);
    const floor = (value: bigint): bigint => value >> top;
    return [floor(max - rest), -floor(max + rest), 0n].map((limb) => [...lower, limb]);
  });
}

export interface KernelSetup {
  readonly kernels: Kernels;
  readonly arena: Arena;
}

export function kernelSetup(kind: KernelKind, pages = 1024): KernelSetup {
  const kernels = loadKernels({ preferred: kind, pages });
  if (kernels.kind !== kind) throw new Error(`no ${kind} kernels here`);
  return { kernels, arena: new Arena(KERNEL_RESERVED_BYTES, pages * 65_536) };
}

export type Group = "g1" | "g2";

/** Affine coordinates of log * generator by noble; undefined is infinity. */
export function nobleMultiple(group: Group, log: bigint): bigint[] | undefined {
  const scalar = modulo(log, BN254.r);
  if (scalar === 0n) return undefined;
  if (group === "g1") {
    const { x, y } = bn254.G1.Point.BASE.multiply(scalar).toAffine();
    return [x, y];
  }
  const { x, y } = bn254.G2.Point.BASE.multiply(scalar).toAffine();
  return [x.c0, x.c1, y.c0, y.c1];
}

/** Writes log_i * generator; 0 is infinity. Returns the address. */
export function writeMultiples({ kernels, arena }: KernelSetup, group: Group, logs: readonly bigint[]): number {
  const { pointBytes } = kernels[group];
  const points = arena.take(Math.max(1, logs.length) * pointBytes);
  const scratch = arena.take(256);
  const known = new Map<bigint, number>();
  for (const [i, log] of logs.entries()) {
    const at = points + i * pointBytes,
      seen = known.get(log);
    if (seen !== undefined) {
      kernels.bytes(at, pointBytes).set(kernels.bytes(seen, pointBytes));
      continue;
    }
    const coordinates = nobleMultiple(group, log);
    if (coordinates === undefined) kernels.call(`${group}_mark`, at);
    else kernels.writePoint(at, coordinates, scratch);
    known.set(log, at);
  }
  return points;
}

/** Affine coordinates of a point in kernel memory. */
export function readPoint({ kernels, arena }: KernelSetup, group: Group, point: number): bigint[] | undefined {
  if (kernels.callOne(`${group}_is_marked`, point) === 1) return undefined;
  return arena.scoped(() => {
    const count = group === "g1" ? 2 : 4;
    const target = arena.take(count * kernels.fq.bytes);
    kernels.call("fq_export_plain", target, point, count);
    return Array.from({ length: count }, (_, i) =>
      kernels.readInteger(target + i * kernels.fq.bytes, kernels.fq.bytes),
    );
  });
}

export function writeScalars({ kernels, arena }: KernelSetup, scalars: readonly bigint[]): number {
  const address = arena.take(Math.max(1, scalars.length) * kernels.fr.bytes);
  scalars.forEach((scalar, i) => {
    kernels.writeInteger(address + i * kernels.fr.bytes, scalar, kernels.fr.bytes);
  });
  return address;
}

/** log_i * generator by a fixed-base table, as zkey files have points; the logs are taken modulo the order. */
export function generatorMultiples(group: Group, logs: readonly bigint[]): Uint8Array {
  const sizing = loadKernels({ pages: 1 });
  const pages = Math.ceil((KERNEL_RESERVED_BYTES + fixedBaseBytes(sizing, group, logs.length)) / 65_536) + 1;
  const { kernels, arena } = kernelSetup(sizing.kind, pages);
  const point = arena.take(kernels[group].pointBytes);
  arena.scoped(() => {
    kernels.writePoint(point, generatorCoordinates(kernels.curve, group), arena.take(256));
  });
  const scalars = new Uint8Array(logs.length * kernels.fr.bytes);
  for (const [i, log] of logs.entries()) writeBigIntLE(modulo(log, BN254.r), scalars, i * kernels.fr.bytes);
  const output = new Uint8Array(logs.length * (group === "g1" ? 2 : 4) * kernels.fq.bytes);
  new FixedBase(kernels, group, arena, { point, expectedCount: logs.length }).multiply(scalars, output);
  return output;
}
