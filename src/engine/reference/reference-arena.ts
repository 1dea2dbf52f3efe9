/**
 * One instance of ffjavascript's WebAssembly program of a curve, with a memory of its own that is handed out by bump
 * allocation. Pointers are byte offsets into that memory. An instance belongs to one thread.
 *
 * The reference (this folder) is the oracle of the kernels' tests, and computes where the kernels do not: in setups,
 * for keys that are not open, and where a kernel fails.
 */
import type { CurveProgram } from "../backends/snarkjs.js";
import type { CurveName } from "../curves/curve-parameters.js";

type Binary = (a: number, b: number, result: number) => void;
type Unary = (a: number, result: number) => void;

/** Field operations on pointers, Montgomery form unless said otherwise. The result may alias an operand. */
export interface FieldOperations {
  readonly bytes: number;
  readonly add: Binary;
  readonly sub: Binary;
  readonly mul: Binary;
  readonly square: Unary;
  readonly neg: Unary;
  readonly copy: Unary;
  readonly toMontgomery: Unary;
  readonly fromMontgomery: Unary;
  readonly isZero: (a: number) => number;
  readonly eq: (a: number, b: number) => number;
  readonly one: (result: number) => void;
  /**
   * Inverts `count` neighbouring elements; zero stays zero. Takes (count + 1) elements of scratch behind the allocator.
   */
  readonly batchInverse: (input: number, count: number, output: number) => void;
}

/** Group operations on pointers: Jacobian points are x, y, z and affine ones x, y (infinity is all zero). */
export interface GroupOperations {
  readonly field: FieldOperations;
  readonly affineBytes: number;
  readonly jacobianBytes: number;
  readonly add: Binary;
  /** Jacobian plus affine. */
  readonly addMixed: Binary;
  readonly double: Unary;
  readonly eq: (a: number, b: number) => number;
  readonly isZero: (a: number) => number;
  readonly zero: (result: number) => void;
  readonly toAffine: Unary;
  readonly toJacobian: Unary;
  readonly isOnCurveAffine: (a: number) => number;
  /** Affine base times a little-endian scalar of `length` bytes, into a Jacobian point. */
  readonly timesScalarAffine: (base: number, scalar: number, length: number, result: number) => void;
}

/** Pairing operations on pointers. */
interface PairingOperations {
  readonly preparedG1Bytes: number;
  readonly preparedG2Bytes: number;
  readonly targetBytes: number;
  readonly prepareG1: Unary;
  readonly prepareG2: Unary;
  readonly millerLoop: Binary;
  readonly finalExponentiation: Unary;
  readonly target: Pick<FieldOperations, "mul" | "eq" | "copy">;
}

/** Operations on vectors of scalar-field elements. */
interface VectorOperations {
  /** result[i] = a[i] * b[i] - c[i]. */
  readonly mulSub: (operands: readonly [a: number, b: number, c: number], count: number, result: number) => void;
  /** Takes `count` elements out of Montgomery form. */
  readonly batchFromMontgomery: (a: number, count: number, result: number) => void;
}

/**
 * Bytes behind the allocator that stay free, because some functions of the program use memory there as scratch
 * (batchInverse: 4097 * 64).
 */
const SCRATCH_BYTES = 1 << 20;
/** The program needs so many pages for its constants. */
const INITIAL_PAGES = 25;
/** The program compares pointers as signed numbers, which limits a memory to 2 GiB. */
const PAGES_MAX = 32_767;
const PAGE_BYTES = 65_536;

/** Prefix of the pairing's functions in the program, and the bytes of a coordinate. */
const CURVE_SHAPES: Readonly<Record<CurveName, { readonly prefix: string; readonly fqBytes: number }>> = {
  BN254: { prefix: "bn128", fqBytes: 32 },
  BLS12_381: { prefix: "bls12381", fqBytes: 48 },
};

type WasmFunction = (...parameters: number[]) => number;

/**
 * An instance of the program and its memory. `bytes` and `words` are replaced when the memory grows: read them again
 * after `alloc`.
 */
export class ReferenceArena {
  readonly fr: FieldOperations;
  readonly g1: GroupOperations;
  readonly g2: GroupOperations;
  readonly pairing: PairingOperations;
  readonly vector: VectorOperations;
  /** c0 + c1 i to c0 - c1 i. */
  readonly conjugateFq2: Unary;
  bytes: Uint8Array;
  words: Uint32Array;
  readonly #memory: WebAssembly.Memory;

  constructor(program: CurveProgram) {
    this.#memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: PAGES_MAX });
    const exported = new WebAssembly.Instance(program.module, { env: { memory: this.#memory } }).exports;
    const find = (name: string): WasmFunction => {
      const found = exported[name];
      if (typeof found !== "function") throw new Error(`the curve program has no function ${name}`);
      return found as WasmFunction;
    };
    this.bytes = new Uint8Array(this.#memory.buffer);
    this.words = new Uint32Array(this.#memory.buffer);
    this.fr = fieldOf(find, "frm", 32);
    const { fqBytes } = CURVE_SHAPES[program.curve];
    this.g1 = groupOf(find, "g1m", fieldOf(find, "f1m", fqBytes));
    this.g2 = groupOf(find, "g2m", fieldOf(find, "f2m", 2 * fqBytes));
    this.pairing = pairingOf(find, program);
    this.conjugateFq2 = find("f2m_conjugate");
    const joinABC = find("qap_joinABC");
    this.vector = {
      mulSub: ([a, b, c], count, result) => {
        joinABC(a, b, c, count, result);
      },
      batchFromMontgomery: find("frm_batchFromMontgomery"),
    };
  }

  get byteLength(): number {
    return this.bytes.length;
  }

  /**
   * Takes `length` bytes, aligned to 8, and grows the memory when needed.
   * @throws RangeError when the memory would exceed 2 GiB.
   */
  alloc(length: number): number {
    const pointer = ((this.words[0] ?? 0) + 7) & ~7;
    const end = pointer + length;
    this.words[0] = end;
    const wanted = end + SCRATCH_BYTES;
    if (wanted > this.bytes.length) {
      const pages = Math.ceil((wanted - this.bytes.length) / PAGE_BYTES);
      if (pages + this.bytes.length / PAGE_BYTES > PAGES_MAX)
        throw new RangeError("the computation does not fit the memory of one WebAssembly instance");
      this.#memory.grow(pages);
      this.bytes = new Uint8Array(this.#memory.buffer);
      this.words = new Uint32Array(this.#memory.buffer);
    }
    return pointer;
  }

  /** Copies bytes in and returns their pointer. */
  put(source: Uint8Array): number {
    const pointer = this.alloc(source.length);
    this.bytes.set(source, pointer);
    return pointer;
  }

  /** Returns a copy of the bytes at a pointer. */
  take(pointer: number, length: number): Uint8Array {
    return this.bytes.slice(pointer, pointer + length);
  }

  /** Runs `work` and gives back everything that it allocated, also when it throws. */
  scoped<Value>(work: () => Value): Value {
    const mark = this.words[0] ?? 0;
    try {
      return work();
    } finally {
      this.words[0] = mark;
    }
  }
}

function fieldOf(find: (name: string) => WasmFunction, prefix: string, bytes: number): FieldOperations {
  const batchInverse = find(`${prefix}_batchInverse`);
  return {
    bytes,
    add: find(`${prefix}_add`),
    sub: find(`${prefix}_sub`),
    mul: find(`${prefix}_mul`),
    square: find(`${prefix}_square`),
    neg: find(`${prefix}_neg`),
    copy: find(`${prefix}_copy`),
    toMontgomery: find(`${prefix}_toMontgomery`),
    fromMontgomery: find(`${prefix}_fromMontgomery`),
    isZero: find(`${prefix}_isZero`),
    eq: find(`${prefix}_eq`),
    one: find(`${prefix}_one`),
    batchInverse: (input, count, output) => {
      batchInverse(input, bytes, count, output, bytes);
    },
  };
}

function groupOf(find: (name: string) => WasmFunction, prefix: string, field: FieldOperations): GroupOperations {
  return {
    field,
    affineBytes: 2 * field.bytes,
    jacobianBytes: 3 * field.bytes,
    add: find(`${prefix}_add`),
    addMixed: find(`${prefix}_addMixed`),
    double: find(`${prefix}_double`),
    eq: find(`${prefix}_eq`),
    isZero: find(`${prefix}_isZero`),
    zero: find(`${prefix}_zero`),
    toAffine: find(`${prefix}_toAffine`),
    toJacobian: find(`${prefix}_toJacobian`),
    isOnCurveAffine: find(`${prefix}_inCurveAffine`),
    timesScalarAffine: find(`${prefix}_timesScalarAffine`),
  };
}

function pairingOf(find: (name: string) => WasmFunction, program: CurveProgram): PairingOperations {
  const { prefix, fqBytes } = CURVE_SHAPES[program.curve];
  return {
    preparedG1Bytes: program.preparedG1Bytes,
    preparedG2Bytes: program.preparedG2Bytes,
    targetBytes: 12 * fqBytes,
    prepareG1: find(`${prefix}_prepareG1`),
    prepareG2: find(`${prefix}_prepareG2`),
    millerLoop: find(`${prefix}_millerLoop`),
    finalExponentiation: find(`${prefix}_finalExponentiation`),
    target: { mul: find("ftm_mul"), eq: find("ftm_eq"), copy: find("ftm_copy") },
  };
}
