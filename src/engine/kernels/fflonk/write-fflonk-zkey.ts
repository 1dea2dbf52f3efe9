/**
 * Writes a resident key as snarkjs' `.zkey` (fflonk/fflonk-zkey-layout.ts), byte for byte as `snarkjs fflonk setup`
 * does. Most of it are values at the 4 n-th roots of unity, which snarkjs does not compute again.
 */
import { BN254 } from "../../curves/bn254.js";
import { fflonkPowerCount } from "../../fflonk/fflonk-values.js";
import {
  FFLONK_PROTOCOL,
  VALUES_PER_COEFFICIENT,
  ZKEY_ADDITION_BYTES,
  fileHead,
  headerContent,
  montgomery,
  sectionHead,
  u32,
} from "../../fflonk/fflonk-zkey-layout.js";
import type { FFLONK_SECTION } from "../../fflonk/fflonk-zkey-layout.js";
import { GATE_WIRES } from "../../plonk/plonk-gates.js";
import type { PlonkGates } from "../../plonk/plonk-gates.js";
import { openKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { Domain, vectorBytes, writeDomainTables } from "../ntt/domain.js";
import { ScalarMemory } from "../plonk/scalar-memory.js";
import { takeWorkspace } from "../threads/workspaces.js";
import { Arena } from "../wasm/arena.js";
import type { FflonkSetupPoints } from "./build-fflonk-key.js";
import { COMMITMENT_SIZES } from "./fflonk-key.js";
import type { ResidentFflonkKey } from "./fflonk-key.js";

/** snarkjs' order of the polynomials' sections. */
const POLYNOMIALS = ["l", "r", "m", "o", "k", "s1", "s2", "s3"] as const;
/** Sections of a file. */
const SECTION_COUNT = 17;

/**
 * Gives the file in pieces, the longest of 5 n numbers or 9 n points: some 70 MB in all for n = 2^15. A workspace of
 * the key is taken until the last piece is read.
 * @param gates and setup those that the key was built from
 * @throws Error when every workspace is taken
 */
export function* writeFflonkZkey(
  key: ResidentFflonkKey,
  gates: PlonkGates,
  setup: FflonkSetupPoints,
): Generator<Uint8Array> {
  const workspace = takeWorkspace(key);
  if (workspace === undefined) throw new Error("every workspace of the proving key is taken");
  try {
    const kernels = openKernels(key.memory, { preferred: key.kind, curve: BN254 });
    const polynomials = new PolynomialWriter(kernels, key, new Arena(workspace.start, workspace.end));
    const { wireCount, domainPower } = key;
    yield fileHead(SECTION_COUNT);
    yield section("protocol", u32(FFLONK_PROTOCOL));
    yield section("additions", additionsContent(gates));
    for (const name of GATE_WIRES) yield section(name, gates.wires[name]);
    for (const name of POLYNOMIALS) yield section(name, polynomials.written(key.fixed[name]));
    const lagrangeCount = Math.max(1, key.publicCount);
    yield sectionHead("lagrange", lagrangeCount * polynomials.writtenBytes);
    for (let i = 0; i < lagrangeCount; i += 1) yield polynomials.writtenLagrange(i);
    yield section("powers", setup.powers.subarray(0, fflonkPowerCount(domainPower) * 2 * BN254.fqBytes));
    yield section("c0", polynomials.exported(key.c0, COMMITMENT_SIZES.c0 * 2 ** domainPower));
    const counts = { wireCount, additionCount: gates.additions.count, gateCount: gates.gateCount };
    yield section("header", headerContent(key.verifyingKey, counts));
  } finally {
    workspace.release();
  }
}

function section(name: keyof typeof FFLONK_SECTION, ...parts: readonly (Uint8Array | Uint32Array)[]): Uint8Array {
  const contents = parts.map((part) => new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  const length = contents.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([sectionHead(name, length), ...contents]);
}

function additionsContent({ additions, coefficients }: PlonkGates): Uint8Array {
  const content = new Uint8Array(additions.count * ZKEY_ADDITION_BYTES);
  const factors = coefficients.map(montgomery);
  for (let i = 0; i < additions.count; i += 1) {
    const at = i * ZKEY_ADDITION_BYTES;
    content.set(u32(additions.left[i] ?? 0, additions.right[i] ?? 0), at);
    for (const [j, name] of (["leftFactor", "rightFactor"] as const).entries())
      content.set(factors[additions[name][i] ?? 0] ?? new Uint8Array(0), at + 8 + j * BN254.frBytes);
  }
  return content;
}

/** Polynomials in the form of the file, computed in a workspace. */
class PolynomialWriter {
  readonly #kernels: Kernels;
  readonly #key: ResidentFflonkKey;
  readonly #arena: Arena;
  readonly #size: number;
  readonly #fine: Domain;
  /** Places of all coefficients for a transform to the values, and elements in natural order. */
  readonly #reversed: number;
  readonly #elements: number;
  readonly #values: number;

  constructor(kernels: Kernels, key: ResidentFflonkKey, arena: Arena) {
    const log = key.domainPower + Math.log2(VALUES_PER_COEFFICIENT);
    this.#kernels = kernels;
    this.#key = key;
    this.#arena = arena;
    this.#size = 2 ** key.domainPower;
    const tables = arena.take(vectorBytes(kernels, log));
    arena.scoped(() => writeDomainTables(kernels, log, { target: tables, scratch: arena.take(256) }));
    this.#fine = new Domain(kernels, log, tables);
    this.#reversed = arena.take(4 * 2 ** log);
    this.#elements = arena.take(2 ** log * kernels.fr.elementBytes);
    this.#values = arena.take(vectorBytes(kernels, log));
    writeReversed(kernels.words(this.#reversed, 2 ** log));
  }

  /** Bytes of one polynomial. */
  get writtenBytes(): number {
    return (1 + VALUES_PER_COEFFICIENT) * this.#size * BN254.frBytes;
  }

  /** Returns coefficients and values of a polynomial of the key. */
  written(polynomial: number): Uint8Array {
    const kernels = this.#kernels;
    const { elementBytes, lanes } = kernels.fr;
    const count = VALUES_PER_COEFFICIENT * this.#size;
    kernels.bytes(this.#elements, count * elementBytes).fill(0);
    kernels.call("fr_order_elements", this.#elements, polynomial, this.#key.places, this.#size, elementBytes);
    const coefficients = this.exported(this.#elements, this.#size);
    kernels.call("fr_gather_elements", this.#values, this.#reversed, count / lanes, this.#elements);
    this.#fine.backward(this.#values);
    kernels.call("fr_gather_blocks", this.#elements, this.#values, 0, count);
    return Buffer.concat([coefficients, this.exported(this.#elements, count)]);
  }

  /** Returns the same of the Lagrange polynomial that is 1 at one row. */
  writtenLagrange(row: number): Uint8Array {
    const kernels = this.#kernels;
    const key = this.#key;
    return this.#arena.scoped(() => {
      const bytes = vectorBytes(kernels, key.domainPower);
      const vector = this.#arena.take(bytes);
      kernels.bytes(vector, bytes).fill(0);
      new ScalarMemory(kernels, this.#arena).writeAt(vector, row, 1n);
      new Domain(kernels, key.domainPower, key.domainTables).forward(vector);
      kernels.call("fr_scale_blocks", vector, vector, this.#size / kernels.fr.lanes, key.inverseSize);
      return this.written(vector);
    });
  }

  /** Returns neighbouring elements in the form of files. */
  exported(elements: number, count: number): Uint8Array {
    const kernels = this.#kernels;
    return this.#arena.scoped(() => {
      const raw = this.#arena.take(count * kernels.fr.bytes);
      kernels.call("fr_export_foreign", raw, elements, count);
      return Uint8Array.from(kernels.bytes(raw, count * kernels.fr.bytes));
    });
  }
}

/** Writes at each place the number with the reversed bits. */
function writeReversed(words: Uint32Array): void {
  let reversed = 0;
  for (let i = 0; i < words.length; i += 1) {
    words[i] = reversed;
    let bit = words.length >>> 1;
    for (; bit > 0 && (reversed & bit) !== 0; bit >>>= 1) reversed ^= bit;
    reversed |= bit;
  }
}
