/**
 * Poseidon over the scalar field of a curve, many hashes in one call: about 50 times as fast as on bigints
 * (`crypto/hashes/poseidon.ts`, which is the oracle of its tests). The first use on a thread takes some 10 ms, 0.3 s
 * where the module is not prepared; then the kernel is kept. It keeps no state between calls, and checks nothing:
 * inputs must be canonical.
 */
import { BLS12_381 } from "../../curves/bls12-381.js";
import { BN254 } from "../../curves/bn254.js";
import type { CurveName } from "../../curves/curve-parameters.js";
import type { KernelKind } from "../kernel-module.js";
import { Arena } from "../wasm/arena.js";
import { hasFusedMultiplyAdd } from "../wasm/features.js";
import { ModuleCache } from "../wasm/module-cache.js";
import type { CompiledModule } from "../wasm/module-cache.js";
import { wasmHost } from "../wasm/wasm-host.js";
import { buildPoseidonModule, POSEIDON_PAGES, poseidonModuleName } from "./poseidon-module.js";
import type { PoseidonInputs, PoseidonModule } from "./poseidon-module.js";

/** Hashes of one call: 128 KiB of inputs and results, and half a millisecond for each 100. */
export const HASHES_AT_ONCE_MAX = 1024;

/** (target, source, count, constants, scratch); for a hash alone without the count. */
type HashFunction = (...args: readonly number[]) => void;

const modules = new ModuleCache<PoseidonModule>();
/** Kernels of this thread by curve and what was asked for: a few, and they hold nothing but constants of the hash. */
const kernels = new Map<string, PoseidonKernel>();

/** An instance of the module with its memory. */
export class PoseidonKernel {
  /** Canonical little-endian integers of 32 bytes: the elements of the first hash, then those of the second. */
  readonly inputs: Uint8Array;
  /** The results, one integer of 32 bytes for each hash. */
  readonly outputs: Uint8Array;
  readonly #hashes = new Map<number, { readonly run: HashFunction; readonly constants: number }>();
  readonly #scratch: number;
  /** One hash of two elements on both lanes; undefined where there is one lane. */
  readonly #alone: HashFunction | undefined;

  constructor({ layout, module }: CompiledModule<PoseidonModule>) {
    const memory = new wasmHost.Memory({ initial: POSEIDON_PAGES, maximum: POSEIDON_PAGES, shared: true });
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    const arena = new Arena(64, POSEIDON_PAGES * 65_536);
    const { frBytes } = layout;
    const view = (bytes: number): Uint8Array => new Uint8Array(memory.buffer, arena.take(bytes), bytes);
    this.#scratch = arena.take(layout.scratchBytes);
    this.outputs = view(HASHES_AT_ONCE_MAX * frBytes);
    this.inputs = view(3 * HASHES_AT_ONCE_MAX * frBytes);
    this.#alone = exports["hash_2_alone"] as HashFunction | undefined;
    const importPlain = exports["fr_import_plain"] as (target: number, source: number, count: number) => void;
    for (const { inputs, constants, constantCount } of layout.hashes) {
      const table = arena.take(constantCount * layout.elementBytes);
      this.inputs.set(constants);
      importPlain(table, this.inputs.byteOffset, constantCount);
      const run = exports[`hash_${String(inputs)}`] as HashFunction;
      this.#hashes.set(inputs, { run, constants: table });
    }
  }

  /** Hashes the first `count` groups of `arity` elements of `inputs` into `outputs`. */
  hash(arity: PoseidonInputs, count: number): void {
    if (!Number.isInteger(count) || count < 0 || count > HASHES_AT_ONCE_MAX)
      throw new RangeError(`one call computes up to ${String(HASHES_AT_ONCE_MAX)} hashes`);
    const hash = this.#hashes.get(arity);
    if (hash === undefined) throw new TypeError(`there is no kernel for ${String(arity)} inputs`);
    if (arity === 2 && count === 1 && this.#alone !== undefined)
      this.#alone(this.outputs.byteOffset, this.inputs.byteOffset, hash.constants, this.#scratch);
    else if (count > 0) hash.run(this.outputs.byteOffset, this.inputs.byteOffset, count, hash.constants, this.#scratch);
  }
}

/** Returns the kernel of this thread for a curve; "integer" forces the arithmetic that runs everywhere. */
export function poseidonKernel(curveName: CurveName, preferred: KernelKind = "fma"): PoseidonKernel {
  const asked = `${curveName} ${preferred}`;
  const known = kernels.get(asked);
  if (known !== undefined) return known;
  const curve = curveName === "BN254" ? BN254 : BLS12_381;
  // The test for multiply-add takes as long as a hash, so that its outcome is kept with the kernel.
  const kind: KernelKind = preferred === "fma" && hasFusedMultiplyAdd() ? "fma" : "integer";
  const kernel = new PoseidonKernel(
    modules.get(poseidonModuleName(curve, kind), () => buildPoseidonModule(curve, kind)),
  );
  kernels.set(asked, kernel);
  return kernel;
}
