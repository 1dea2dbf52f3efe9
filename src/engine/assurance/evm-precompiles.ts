/**
 * The EVM's precompiled contracts for BN254 (EIP-196 addition and multiplication, EIP-197 pairing check), on the
 * reference backend's arithmetic: those of the EVM's package are noble's, which the cross-check has asked already.
 */
import type { CustomPrecompile, ExecResult, PrecompileInput } from "@ethereumjs/evm";
import { EVMError } from "@ethereumjs/evm";
import { BN254 } from "../curves/bn254.js";
import type { PairingKernels, PairingTerm } from "../curves/curve-kernels.js";
import { isOnCurveG1, isOnTwist, negateG1, type G1Point, type G2Point } from "../curves/points.js";

const WORD_BYTES = 32;
const POINT_BYTES = 2 * WORD_BYTES;
const PAIR_BYTES = 6 * WORD_BYTES;
/** Since EIP-1108. */
const GAS = { add: 150n, multiply: 6000n, pairing: 45_000n, pair: 34_000n } as const;

/** An input that the precompile refuses: the call fails and takes all its gas. */
class RefusedInput extends Error {
  override readonly name = "RefusedInput";
}

/**
 * Returns the three precompiles.
 * @param kernels of BN254
 */
export function bn254Precompiles(kernels: PairingKernels): CustomPrecompile[] {
  const { generatorG1, generatorG2 } = BN254;
  const one = kernels.pairingProduct([
    { g1: generatorG1, g2: generatorG2 },
    { g1: negateG1(generatorG1, BN254), g2: generatorG2 },
  ]);
  return [
    precompile(
      6,
      () => GAS.add,
      (input) => {
        const terms = [0, POINT_BYTES].map((at) => ({ point: readG1(input, at), scalar: 1n }));
        return writeG1(kernels.combineG1(terms));
      },
    ),
    precompile(
      7,
      () => GAS.multiply,
      (input) => {
        const scalar = readWord(input, POINT_BYTES) % BN254.r;
        return writeG1(kernels.combineG1([{ point: readG1(input, 0), scalar }]));
      },
    ),
    precompile(
      8,
      (input) => GAS.pairing + GAS.pair * BigInt(Math.floor(input.length / PAIR_BYTES)),
      (input) => {
        if (input.length % PAIR_BYTES !== 0) throw new RefusedInput("the input is not a list of pairs");
        const terms = Array.from({ length: input.length / PAIR_BYTES }, (_, i) =>
          readPair(input, i * PAIR_BYTES, kernels),
        );
        const finite = terms.filter((term) => term !== undefined);
        const isOne = finite.length === 0 || kernels.equalPairingValues(kernels.pairingProduct(finite), one);
        return writeWord(isOne ? 1n : 0n);
      },
    ),
  ];
}

function precompile(
  number: number,
  gasOf: (input: Uint8Array) => bigint,
  run: (input: Uint8Array) => Uint8Array,
): CustomPrecompile {
  return {
    address: `0x${number.toString(16).padStart(40, "0")}`,
    function: ({ data, gasLimit }: PrecompileInput): ExecResult => {
      const gas = gasOf(data);
      if (gas > gasLimit) return failed(gasLimit, EVMError.errorMessages.OUT_OF_GAS);
      try {
        return { executionGasUsed: gas, returnValue: run(data) };
      } catch (error) {
        if (!(error instanceof RefusedInput)) throw error;
        return failed(gasLimit, EVMError.errorMessages.INVALID_INPUTS);
      }
    },
  };
}

function failed(gas: bigint, message: ConstructorParameters<typeof EVMError>[0]): ExecResult {
  return { executionGasUsed: gas, returnValue: new Uint8Array(), exceptionError: new EVMError(message) };
}

/** Undefined where one of the two is infinity, whose pairing is one. */
function readPair(input: Uint8Array, at: number, kernels: PairingKernels): PairingTerm | undefined {
  const g1 = readG1(input, at);
  const g2 = readG2(input, at + POINT_BYTES, kernels);
  return g1 === undefined || g2 === undefined ? undefined : { g1, g2 };
}

/** Undefined for infinity, which is written as zeros. */
function readG1(input: Uint8Array, at: number): G1Point | undefined {
  const point = { x: readWord(input, at), y: readWord(input, at + WORD_BYTES) };
  if (point.x === 0n && point.y === 0n) return undefined;
  if (!isOnCurveG1(point, BN254)) throw new RefusedInput("a point is not on the curve");
  return point;
}

/** Coordinates come with the imaginary part first (EIP-197). */
function readG2(input: Uint8Array, at: number, kernels: PairingKernels): G2Point | undefined {
  const [x1, x0, y1, y0] = [0, 1, 2, 3].map((i) => readWord(input, at + i * WORD_BYTES));
  const point = { x: { c0: x0 ?? 0n, c1: x1 ?? 0n }, y: { c0: y0 ?? 0n, c1: y1 ?? 0n } };
  if ([x0, x1, y0, y1].every((coordinate) => coordinate === 0n)) return undefined;
  if (!isOnTwist(point, BN254) || !kernels.isInSubgroupG2(point)) throw new RefusedInput("a point is not in G2");
  return point;
}

/** Input that is missing at the end is zeros. */
function readWord(input: Uint8Array, at: number): bigint {
  const word = Buffer.alloc(WORD_BYTES);
  word.set(input.subarray(at, at + WORD_BYTES));
  return BigInt(`0x${word.toString("hex")}`);
}

function writeWord(value: bigint): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(2 * WORD_BYTES, "0"), "hex"));
}

function writeG1(point: G1Point | undefined): Uint8Array {
  return Uint8Array.from([...writeWord(point?.x ?? 0n), ...writeWord(point?.y ?? 0n)]);
}
