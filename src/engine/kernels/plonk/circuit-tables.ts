/**
 * Writes the part of a resident key that PLONK and FFLONK share (resident-circuit.ts): gates, permutation, polynomials
 * and cosets. Each scheme's builder says in which order and adds its own.
 */
import { rootOfUnity } from "../../curves/curve-parameters.js";
import { inverse, power } from "../../field/prime-field.js";
import { COLUMN_FACTORS } from "../../plonk/key.js";
import { permutationOf } from "../../plonk/permutation.js";
import { GATE_WIRES } from "../../plonk/plonk-gates.js";
import type { GateWire, PlonkGates } from "../../plonk/plonk-gates.js";
import type { Kernels } from "../kernels.js";
import { Domain, coefficientPlaces, vectorBytes, writeDomainTables, writePowers } from "../ntt/domain.js";
import { align } from "../wasm/arena.js";
import type { Arena } from "../wasm/arena.js";
import { COSET_COUNT, EXTRA_POWERS, FIXED_POLYNOMIALS, PERMUTATION_COLUMNS } from "./resident-circuit.js";
import type { CircuitCoset, FixedPolynomial, ResidentCircuit } from "./resident-circuit.js";
import { ScalarMemory } from "./scalar-memory.js";
import { ADDITION_BYTES } from "./vectors.js";

/** A circuit and the domain that it takes. */
export interface TabledCircuit {
  readonly gates: PlonkGates;
  readonly domainPower: number;
  /** How many of the domain's last rows no gate may have; their wires are free. */
  readonly freeRows: number;
  /** Numbers of scalars beside the wires that each column's map names: those of its last rows, or behind them. */
  readonly extraWires: number;
}

/** The tables but for what the builder of a scheme chooses itself. */
type Tables = Pick<
  ResidentCircuit,
  "publicCount" | "domainPower" | "systemWireCount" | "wireCount" | "additions" | "factors" | "maps" | "places"
> &
  Pick<ResidentCircuit, "sigma" | "joinFactors" | "inverseSize" | "domainTables">;

/** Points converted at a time: the raw bytes pass through a workspace. */
const CHUNK_POINTS = 4096;
/** The least number that generates a coset which is not the domain itself: no power of it is a root of unity. */
const COSET_SHIFT = 5n;
/** The tables' own vectors: fixed polynomials, the permutation's values, the domain's tables. */
const TABLE_VECTORS = FIXED_POLYNOMIALS.length + PERMUTATION_COLUMNS.length + 1;
/** Vectors of a coset beside fixed polynomials: its two scales. */
export const COSET_VECTORS = 2;
const SPARE_BYTES = 131_072;

/** Returns the bytes of the tables, with `vectors` more vectors and `points` points. */
export function tableBytes(
  kernels: Kernels,
  { gates, domainPower, extraWires }: TabledCircuit,
  more: { readonly vectors: number; readonly points: number },
): number {
  const size = 2 ** domainPower;
  const vectors = (TABLE_VECTORS + more.vectors) * align(vectorBytes(kernels, domainPower));
  const words = 4 * (3 * (size + extraWires) + size + EXTRA_POWERS) + gates.additions.count * ADDITION_BYTES;
  const elements = (gates.coefficients.length + 16) * kernels.fr.elementBytes;
  return vectors + more.points * kernels.g1.pointBytes + words + elements + SPARE_BYTES;
}

/** Returns the bytes of scratch that writing the tables takes. */
export function tableScratchBytes(kernels: Kernels, { gates, domainPower }: TabledCircuit): number {
  const size = 2 ** domainPower;
  const { bytes, elementBytes } = kernels.fr;
  const raw = Math.max(CHUNK_POINTS * 2 * kernels.fq.bytes, gates.coefficients.length * bytes);
  return 3 * size * elementBytes + align(vectorBytes(kernels, domainPower)) + 4 * size + raw + SPARE_BYTES;
}

/** Writes tables into the memory of one key. */
export class CircuitTables {
  readonly scalars: ScalarMemory;
  readonly #kernels: Kernels;
  readonly #arena: Arena;
  readonly #scratch: Arena;
  readonly #circuit: TabledCircuit;
  readonly #size: number;

  constructor(kernels: Kernels, arenas: { readonly key: Arena; readonly scratch: Arena }, circuit: TabledCircuit) {
    this.#kernels = kernels;
    this.#arena = arenas.key;
    this.#scratch = arenas.scratch;
    this.#circuit = circuit;
    this.#size = 2 ** circuit.domainPower;
    this.scalars = new ScalarMemory(kernels, arenas.scratch);
  }

  /** Writes the gates, the permutation and what belongs to the domain. */
  write(): Tables {
    const { gates, domainPower } = this.#circuit;
    const domainTables = this.vector();
    this.#withScratch((scratch) => writeDomainTables(this.#kernels, domainPower, { target: domainTables, scratch }));
    const sigma = { s1: this.vector(), s2: this.vector(), s3: this.vector() };
    this.#writeSigma(sigma);
    return {
      publicCount: gates.publicCount,
      domainPower,
      systemWireCount: gates.systemWireCount,
      wireCount: gates.systemWireCount + gates.additions.count,
      additions: this.#additions(),
      factors: this.#elements(gates.coefficients),
      maps: this.#maps(),
      places: this.#places(),
      sigma,
      joinFactors: this.#joinFactors(),
      inverseSize: this.#elements([inverse(BigInt(this.#size), this.#kernels.curve.r)]),
      domainTables,
    };
  }

  /** Takes a vector of the key's memory. */
  vector(): number {
    return this.#arena.take(vectorBytes(this.#kernels, this.#circuit.domainPower));
  }

  /** Takes the flags of workspaces, none of them taken. */
  workspaceFlags(count: number): number {
    const flags = this.#arena.take(4 * count);
    this.#kernels.words(flags, count).fill(0);
    return flags;
  }

  /** Copies points into the key: affine, Montgomery form, little-endian, as in snarkjs' files; none is infinity. */
  importPoints(parts: readonly Uint8Array[]): number {
    const kernels = this.#kernels;
    const rawBytes = 2 * kernels.fq.bytes;
    const { pointBytes } = kernels.g1;
    const count = parts.reduce((sum, part) => sum + part.length / rawBytes, 0);
    const target = this.#arena.take(count * pointBytes);
    let done = 0;
    this.#scratch.scoped(() => {
      const raw = this.#scratch.take(CHUNK_POINTS * rawBytes);
      for (const part of parts) {
        for (let from = 0; from < part.length; from += CHUNK_POINTS * rawBytes) {
          const chunk = part.subarray(from, from + CHUNK_POINTS * rawBytes);
          kernels.bytes(raw, chunk.length).set(chunk);
          kernels.call("fq_import_foreign", target + done * pointBytes, raw, chunk.length / kernels.fq.bytes);
          done += chunk.length / rawBytes;
        }
      }
    });
    return target;
  }

  /**
   * Interpolates each fixed polynomial.
   * @param onValues called with each one's values on the domain, before they become coefficients
   */
  fixedPolynomials(
    tables: Tables,
    onValues: (name: FixedPolynomial, values: number) => void = () => undefined,
  ): Record<FixedPolynomial, number> {
    const domain = this.#domain(tables);
    const entries = FIXED_POLYNOMIALS.map((name) => {
      const target = this.vector();
      this.#writeValues(name, target, tables);
      onValues(name, target);
      domain.forward(target);
      this.#kernels.call("fr_scale_blocks", target, target, this.#blocks, tables.inverseSize);
      return [name, target] as const;
    });
    return Object.fromEntries(entries) as Record<FixedPolynomial, number>;
  }

  /** Evaluates the named polynomials on a coset. */
  coset<Name extends FixedPolynomial>(
    number: number,
    tables: Tables & Pick<ResidentCircuit, "fixed">,
    names: readonly Name[],
  ): CircuitCoset<Name> {
    return this.#evaluate({ number, names }, tables, () => this.vector());
  }

  /**
   * As `coset` and `firstLagrange`, with the values outside of the key's memory. Takes scratch for as many vectors as
   * there are names, and three.
   */
  sectionedCoset<Name extends FixedPolynomial>(
    number: number,
    tables: Tables & Pick<ResidentCircuit, "fixed">,
    names: readonly Name[],
  ): CircuitCoset<Name, SharedArrayBuffer> & { readonly firstLagrange: SharedArrayBuffer } {
    const bytes = vectorBytes(this.#kernels, this.#circuit.domainPower);
    const outside = (address: number): SharedArrayBuffer => {
      const section = new SharedArrayBuffer(bytes);
      new Uint8Array(section).set(this.#kernels.bytes(address, bytes));
      return section;
    };
    return this.#scratch.scoped(() => {
      const take = (): number => this.#scratch.take(bytes);
      const { shift, scale, inverseScale, fixed } = this.#evaluate({ number, names }, tables, take);
      const firstLagrange = outside(this.#firstLagrange(tables, scale, take()));
      const values = names.map((name) => [name, outside(fixed[name])] as const);
      const sections = Object.fromEntries(values) as Record<Name, SharedArrayBuffer>;
      return { shift, scale: outside(scale), inverseScale: outside(inverseScale), fixed: sections, firstLagrange };
    });
  }

  /** Evaluates the first Lagrange polynomial on a coset: all its coefficients are 1 / n. */
  firstLagrange(tables: Tables, { scale }: CircuitCoset): number {
    return this.#firstLagrange(tables, scale, this.vector());
  }

  get #blocks(): number {
    return this.#size / this.#kernels.fr.lanes;
  }

  #evaluate<Name extends FixedPolynomial>(
    { number, names }: { readonly number: number; readonly names: readonly Name[] },
    tables: Tables & Pick<ResidentCircuit, "fixed">,
    take: () => number,
  ): CircuitCoset<Name> {
    const kernels = this.#kernels;
    const { domainPower } = this.#circuit;
    const { r } = kernels.curve;
    const root = rootOfUnity(kernels.curve, domainPower + Math.log2(COSET_COUNT));
    const shift = (COSET_SHIFT * power(root, BigInt(number), r)) % r;
    const [scale, inverseScale] = [take(), take()];
    this.#withScratch((scratch) => {
      writePowers(kernels, { log: domainPower, base: shift, factor: 1n }, { target: scale, scratch });
      const back = { log: domainPower, base: inverse(shift, r), factor: inverse(BigInt(this.#size), r) };
      writePowers(kernels, back, { target: inverseScale, scratch });
    });
    const domain = this.#domain(tables);
    const values = names.map((name) => {
      const target = take();
      kernels.call("fr_mul_blocks", target, tables.fixed[name], scale, this.#blocks);
      domain.backward(target);
      return [name, target] as const;
    });
    return { shift, scale, inverseScale, fixed: Object.fromEntries(values) as Record<Name, number> };
  }

  #firstLagrange(tables: Tables, scale: number, target: number): number {
    this.#kernels.call("fr_scale_blocks", target, scale, this.#blocks, tables.inverseSize);
    this.#domain(tables).backward(target);
    return target;
  }

  #domain({ domainTables }: Tables): Domain {
    return new Domain(this.#kernels, this.#circuit.domainPower, domainTables);
  }

  #withScratch(work: (address: number) => void): void {
    this.#scratch.scoped(() => work(this.#scratch.take(256)));
  }

  #elements(values: readonly bigint[]): number {
    const address = this.#arena.take(values.length * this.#kernels.fr.elementBytes);
    this.scalars.writeElements(address, values);
    return address;
  }

  #words(values: Uint32Array): number {
    const address = this.#arena.take(4 * values.length);
    this.#kernels.words(address, values.length).set(values);
    return address;
  }

  #additions(): number {
    const { count, left, right, leftFactor, rightFactor } = this.#circuit.gates.additions;
    const words = new Uint32Array(4 * count);
    for (let i = 0; i < count; i += 1)
      words.set([left[i] ?? 0, right[i] ?? 0, leftFactor[i] ?? 0, rightFactor[i] ?? 0], 4 * i);
    return this.#words(words);
  }

  #maps(): Record<GateWire, number> {
    const { gates, extraWires, freeRows } = this.#circuit;
    const wireCount = gates.systemWireCount + gates.additions.count;
    const bound = this.#size - freeRows;
    const map = (wire: GateWire, column: number): number => {
      const words = new Uint32Array(bound + extraWires);
      words.set(gates.wires[wire]);
      for (let i = 0; i < extraWires; i += 1) words[bound + i] = wireCount + column * extraWires + i;
      return this.#words(words);
    };
    const [a, b, c] = GATE_WIRES.map(map) as [number, number, number];
    return { a, b, c };
  }

  #places(): number {
    const words = new Uint32Array(this.#size + EXTRA_POWERS);
    words.set(coefficientPlaces(this.#circuit.domainPower));
    for (let i = this.#size; i < words.length; i += 1) words[i] = i;
    return this.#words(words);
  }

  /** Writes the values of the permutation's columns: each place names the next place of the same wire. */
  #writeSigma(sigma: Readonly<Record<"s1" | "s2" | "s3", number>>): void {
    const kernels = this.#kernels;
    const size = this.#size;
    const { gates, domainPower, freeRows } = this.#circuit;
    const { elementBytes } = kernels.fr;
    const { r } = kernels.curve;
    const next = permutationOf(gates, size, freeRows);
    this.#scratch.scoped(() => {
      const identity = this.#scratch.take(3 * size * elementBytes);
      const root = rootOfUnity(kernels.curve, domainPower);
      this.scalars.writeElements(identity, [1n]);
      this.scalars.withElement(1n, (factor) => {
        for (let done = 1; done < size; done *= 2) {
          this.scalars.writeElements(factor, [power(root, BigInt(done), r)]);
          kernels.call("fr_scale_elements", identity + done * elementBytes, identity, done, factor);
        }
        for (const [column, k] of [COLUMN_FACTORS.k1, COLUMN_FACTORS.k2].entries()) {
          this.scalars.writeElements(factor, [k]);
          kernels.call("fr_scale_elements", identity + (column + 1) * size * elementBytes, identity, size, factor);
        }
      });
      const map = this.#scratch.take(4 * size);
      for (const [column, target] of [sigma.s1, sigma.s2, sigma.s3].entries()) {
        kernels.words(map, size).set(next.subarray(column * size, (column + 1) * size));
        kernels.call("fr_gather_elements", target, map, this.#blocks, identity);
      }
    });
  }

  #writeValues(name: FixedPolynomial, target: number, { sigma, factors }: Tables): void {
    const kernels = this.#kernels;
    if (name === "s1" || name === "s2" || name === "s3") {
      const bytes = vectorBytes(kernels, this.#circuit.domainPower);
      kernels.bytes(target, bytes).set(kernels.bytes(sigma[name], bytes));
      return;
    }
    this.#scratch.scoped(() => {
      const map = this.#scratch.take(4 * this.#size);
      const words = kernels.words(map, this.#size);
      words.fill(0);
      words.set(this.#circuit.gates.selectors[name]);
      kernels.call("fr_gather_elements", target, map, this.#blocks, factors);
    });
  }

  /** 1 / i, and 1 / (4 shift^(n k)): see `_join_cosets`. */
  #joinFactors(): number {
    const { curve } = this.#kernels;
    const fourth = rootOfUnity(curve, Math.log2(COSET_COUNT));
    const constant = power(COSET_SHIFT, BigInt(this.#size), curve.r);
    const scales = Array.from({ length: COSET_COUNT }, (_, k) =>
      inverse(BigInt(COSET_COUNT) * power(constant, BigInt(k), curve.r), curve.r),
    );
    return this.#elements([inverse(fourth, curve.r), ...scales]);
  }
}
