/**
 * Emits inversion of an integer modulo a prime with division steps: D. Bernstein, B.-Y. Yang, "Fast constant-time gcd
 * computation and modular inversion" (2019), in the variable-time form with limbs of 30 bits that P. Wuille describes
 * in libsecp256k1's doc/safegcd_implementation.md. Its time depends on the value.
 */
import { inverse } from "../../field/prime-field.js";
import { i32, i64 } from "../wasm/wasm-ops.js";
import { unsignedLimbs } from "./integers.js";
import type { Address } from "./field.js";
import type { FunctionBuilder } from "../wasm/wasm-builder.js";
import type { Expression, Local } from "../wasm/wasm-ops.js";

/** Division steps of one matrix, and bits of a limb: a matrix entry and a limb then multiply within 63 bits. */
const STEP_BITS = 30;
const LIMB_MASK = (1n << 30n) - 1n;
/** Steps that one multiplier can clear: -1 / f modulo 2^6 is f (f^2 - 2). */
const STEPS_AT_ONCE = 6;

type I64 = Local<"i64">;

/**
 * Emits target := 1 / source modulo the prime; 0 for 0. Both are addresses of canonical little-endian integers, which
 * may be the same.
 * @param options.bytes length of either, a multiple of 8
 */
export function emitIntegerInversion(
  f: FunctionBuilder,
  { target, source }: { readonly target: Address; readonly source: Address },
  { prime, bytes }: { readonly prime: bigint; readonly bytes: number },
): void {
  // One bit of room above the bytes for the signs of d and e, which stay between -2p and p.
  const count = Math.ceil((8 * bytes + 1) / STEP_BITS);
  const modulus = unsignedLimbs(prime, STEP_BITS, count);
  const limbs = (value: readonly Expression<"i64">[]): I64[] => value.map((limb) => f.let(limb));
  const zeros = modulus.map(() => i64.const(0n));
  const fs = limbs(modulus.map((limb) => i64.const(limb)));
  const gs = limbs(loadLimbs(f, source, bytes, count));
  const ds = limbs(zeros);
  const es = limbs([i64.const(1n), ...zeros.slice(1)]);
  const eta = f.let(i64.const(-1n));
  const rest = f.let(anyOf(gs));
  f.while(i32.eqz(i64.eqz(rest)), () => {
    const matrix = emitDivisionSteps(f, eta, fs, gs);
    emitUpdate(f, matrix, [ds, es], { limbs: modulus, prime });
    emitUpdate(f, matrix, [fs, gs]);
    f.set(rest, anyOf(gs));
  });
  // f is the greatest common divisor, 1 or -1 (or the prime itself for 0, where d is 0): its sign is that of the
  // result. d is between -2p and p: the prime is added where that leaves it between -p and p, and once more after the
  // sign.
  const sign = f.let(i64.shrS(fs[count - 1] as I64, i64.const(63n)));
  const within = emitRaiseIfNegative(f, ds, modulus);
  const signed = emitCarry(
    f,
    within.map((limb) => f.let(i64.sub(i64.xor(limb, sign), sign))),
  );
  storeLimbs(f, target, bytes, emitRaiseIfNegative(f, signed, modulus));
}

/** Transition matrix of 30 division steps, scaled by 2^30: rows (u, v) for f and (q, r) for g. */
interface Matrix {
  readonly u: I64;
  readonly v: I64;
  readonly q: I64;
  readonly r: I64;
}

/** Runs 30 division steps on the lowest limbs of f and g, skipping zeros; changes eta. */
function emitDivisionSteps(f: FunctionBuilder, eta: I64, fs: readonly I64[], gs: readonly I64[]): Matrix {
  const [u, v, q, r] = [1n, 0n, 0n, 1n].map((value) => f.let(i64.const(value))) as [I64, I64, I64, I64];
  const low = f.let(fs[0] as I64);
  const high = f.let(gs[0] as I64);
  const left = f.let(i64.const(BigInt(STEP_BITS)));
  const skip = (): void => {
    const zeros = f.let(i64.ctz(i64.or(high, i64.shl(i64.const(-1n), left))));
    f.set(high, i64.shrS(high, zeros));
    f.set(u, i64.shl(u, zeros));
    f.set(v, i64.shl(v, zeros));
    f.set(eta, i64.sub(eta, zeros));
    f.set(left, i64.sub(left, zeros));
  };
  skip();
  f.while(i32.eqz(i64.eqz(left)), () => {
    f.if(i64.ltS(eta, i64.const(0n)), () => {
      f.set(eta, i64.sub(i64.const(0n), eta));
      for (const [a, b] of [
        [low, high],
        [u, q],
        [v, r],
      ] as const) {
        const kept = f.let(a);
        f.set(a, b);
        f.set(b, i64.sub(i64.const(0n), kept));
      }
    });
    // As many low bits of g as may be cleared before f and g change places again.
    const steps = f.let(i64.add(eta, i64.const(1n)));
    f.if(i64.ltS(left, steps), () => f.set(steps, left));
    f.if(i64.ltS(i64.const(BigInt(STEPS_AT_ONCE)), steps), () => f.set(steps, i64.const(BigInt(STEPS_AT_ONCE))));
    const mask = i64.sub(i64.shl(i64.const(1n), steps), i64.const(1n));
    const factor = i64.mul(i64.mul(low, high), i64.sub(i64.mul(low, low), i64.const(2n)));
    const w = f.let(i64.and(factor, mask));
    f.set(high, i64.add(high, i64.mul(low, w)));
    f.set(q, i64.add(q, i64.mul(u, w)));
    f.set(r, i64.add(r, i64.mul(v, w)));
    skip();
  });
  return { u, v, q, r };
}

interface Modulus {
  readonly prime: bigint;
  readonly limbs: readonly bigint[];
}

/** (a, b) := matrix (a, b) / 2^30: exactly for f and g, which have no modulus, and modulo the prime for d and e. */
function emitUpdate(
  f: FunctionBuilder,
  { u, v, q, r }: Matrix,
  [a, b]: readonly [readonly I64[], readonly I64[]],
  modulus?: Modulus,
): void {
  const count = a.length;
  const row = (x: I64, y: I64): { carry: I64; multiple: I64 | undefined } => {
    const carry = f.let(i64.add(i64.mul(x, a[0] as I64), i64.mul(y, b[0] as I64)));
    if (modulus === undefined) return { carry, multiple: undefined };
    // Negative operands get the prime added first, so that the results stay within -2p and p.
    const base = i64.add(
      i64.and(x, i64.shrS(a[count - 1] as I64, i64.const(63n))),
      i64.and(y, i64.shrS(b[count - 1] as I64, i64.const(63n))),
    );
    const primeInverse = i64.const(inverse(modulus.prime, 1n << BigInt(STEP_BITS)));
    const multiple = f.let(base);
    f.set(multiple, i64.sub(multiple, i64.and(i64.add(i64.mul(primeInverse, carry), multiple), i64.const(LIMB_MASK))));
    return { carry, multiple };
  };
  const rows = [row(u, v), row(q, r)] as const;
  for (let i = 0; i < count; i += 1) {
    const x = f.let(a[i] as I64);
    const y = f.let(b[i] as I64);
    for (const [which, { carry, multiple }] of rows.entries()) {
      const target = which === 0 ? a : b;
      if (i > 0)
        f.set(carry, i64.add(carry, i64.add(i64.mul(which === 0 ? u : q, x), i64.mul(which === 0 ? v : r, y))));
      if (multiple !== undefined) f.set(carry, i64.add(carry, i64.mul(multiple, i64.const(modulus?.limbs[i] ?? 0n))));
      if (i > 0) f.set(target[i - 1] as I64, i64.and(carry, i64.const(LIMB_MASK)));
      f.set(carry, i64.shrS(carry, i64.const(BigInt(STEP_BITS))));
    }
  }
  f.set(a[count - 1] as I64, rows[0].carry);
  f.set(b[count - 1] as I64, rows[1].carry);
}

function anyOf(limbs: readonly I64[]): Expression<"i64"> {
  return limbs.reduce<Expression<"i64">>((x, y) => i64.or(x, y), i64.const(0n));
}

function loadLimbs(f: FunctionBuilder, source: Address, bytes: number, count: number): Expression<"i64">[] {
  const words = Array.from({ length: bytes / 8 }, (_, i) => f.let(i64.load(source, 8 * i)));
  return Array.from({ length: count }, (_, j) => {
    const shift = (j * STEP_BITS) % 64;
    const low = words[Math.floor((j * STEP_BITS) / 64)];
    const high = words[Math.floor((j * STEP_BITS) / 64) + 1];
    if (low === undefined) return i64.const(0n);
    const bits = i64.shrU(low, i64.const(BigInt(shift)));
    const all =
      high !== undefined && shift + STEP_BITS > 64 ? i64.or(bits, i64.shl(high, i64.const(BigInt(64 - shift)))) : bits;
    return i64.and(all, i64.const(LIMB_MASK));
  });
}

/** Adds the prime to a negative number; carried. */
function emitRaiseIfNegative(f: FunctionBuilder, limbs: readonly I64[], modulus: readonly bigint[]): I64[] {
  const negative = f.let(i64.shrS(limbs[limbs.length - 1] as I64, i64.const(63n)));
  return emitCarry(
    f,
    limbs.map((limb, i) => f.let(i64.add(limb, i64.and(negative, i64.const(modulus[i] ?? 0n))))),
  );
}

/** Brings all limbs but the highest between 0 and 2^30 - 1; the highest keeps the sign. */
function emitCarry(f: FunctionBuilder, limbs: readonly I64[]): I64[] {
  const digits: I64[] = [];
  let carry = f.let(i64.const(0n));
  for (const [i, limb] of limbs.entries()) {
    const sum = f.let(i64.add(limb, carry));
    const isTop = i === limbs.length - 1;
    digits.push(isTop ? sum : f.let(i64.and(sum, i64.const(LIMB_MASK))));
    if (!isTop) carry = f.let(i64.shrS(sum, i64.const(BigInt(STEP_BITS))));
  }
  return digits;
}

/** Packs a carried number that is not negative. */
function storeLimbs(f: FunctionBuilder, target: Address, bytes: number, digits: readonly I64[]): void {
  for (let word = 0; word < bytes / 8; word += 1) {
    let packed: Expression<"i64"> = i64.const(0n);
    for (const [j, digit] of digits.entries()) {
      const shift = j * STEP_BITS - word * 64;
      if (shift <= -64 || shift >= 64) continue;
      packed = i64.or(
        packed,
        shift >= 0 ? i64.shl(digit, i64.const(BigInt(shift))) : i64.shrU(digit, i64.const(BigInt(-shift))),
      );
    }
    f.run(i64.store(target, packed, 8 * word));
  }
}
