/**
 * Builds a resident PLONK key (plonk-key.ts) from a circuit's gates and the points of a universal setup, and commits to
 * the circuit on the way. Runs once for each key; the memory is then only read, but for its workspaces.
 */
import { rootOfUnity } from "../../curves/curve-parameters.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import type { G1Point, G2Point } from "../../curves/points.js";
import { inverse, power } from "../../field/prime-field.js";
import { GATE_WIRES } from "../../plonk/plonk-gates.js";
import type { GateWire, PlonkGates } from "../../plonk/plonk-gates.js";
import { COLUMN_FACTORS, domainPowerOf } from "../../plonk/key.js";
import type { PlonkVerifyingKey } from "../../plonk/key.js";
import { permutationOf } from "../../plonk/permutation.js";
import type { KernelKind } from "../kernel-module.js";
import { KERNEL_RESERVED_BYTES, loadKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { msmWorkspaceBytes } from "../msm/msm-lists.js";
import { Msm } from "../msm/msm.js";
import { Domain, coefficientPlaces, vectorBytes, writeDomainTables, writePowers } from "../ntt/domain.js";
import { Arena, align } from "../wasm/arena.js";
import { wasmHost } from "../wasm/wasm-host.js";
import { BLINDING_POINTS, COSET_COUNT, EXTRA_POWERS, FIXED_POLYNOMIALS } from "./plonk-key.js";
import type { FixedPolynomial, PlonkCoset, ResidentPlonkKey } from "./plonk-key.js";
import { plonkWorkspaceBytes } from "./plonk-layout.js";
import { ScalarMemory } from "./scalar-memory.js";
import { ADDITION_BYTES } from "./vectors.js";

/**
 * Points of a universal setup for a domain of n gates, in the form of snarkjs' files: affine, Montgomery form,
 * little-endian. No point is infinity.
 */
export interface PlonkSetupPoints {
  /** The powers 0 to n + 5 of the secret. */
  readonly powers: Uint8Array;
  /** The Lagrange polynomials of the domain at the secret. */
  readonly lagrange: Uint8Array;
  readonly tauG2: G2Point;
}

interface BuildOptions {
  readonly curve: CurveParameters;
  /** Number of threads that may prove or help with the key at the same time. */
  readonly workspaces: number;
  readonly preferred?: KernelKind;
}

const PAGE_BYTES = 65_536;
/** Points converted at a time: the raw bytes pass through a workspace. */
const CHUNK_POINTS = 4096;
/** The least number that generates a coset which is not the domain itself: no power of it is a root of unity. */
const COSET_SHIFT = 5n;
/** Vectors of the key beside those of its cosets: the fixed polynomials, the permutation's values, the tables. */
const PLAIN_VECTORS = FIXED_POLYNOMIALS.length + 3 + 1;
const COSET_VECTORS = FIXED_POLYNOMIALS.length + 3;

/**
 * Builds the key in a new memory.
 * @throws RangeError when the setup has fewer points than the circuit takes, or the key does not fit into the 4 GiB
 *   that a WebAssembly memory can have.
 */
export function buildPlonkKey(gates: PlonkGates, setup: PlonkSetupPoints, options: BuildOptions): ResidentPlonkKey {
  const { curve } = options;
  const domainPower = domainPowerOf(gates.gateCount);
  const preferred = options.preferred === undefined ? {} : { preferred: options.preferred };
  const sizing = loadKernels({ pages: 1, curve, ...preferred });
  const counts = { domainPower, wireCount: gates.systemWireCount + gates.additions.count };
  const start = align(KERNEL_RESERVED_BYTES + keyBytesOf(sizing, gates, domainPower));
  const workspaceBytes = align(Math.max(plonkWorkspaceBytes(sizing, counts), buildBytesOf(sizing, gates, domainPower)));
  const pages = Math.ceil((start + options.workspaces * workspaceBytes) / PAGE_BYTES);
  const memory = new wasmHost.Memory({ initial: pages, maximum: pages, shared: true });
  const kernels = loadKernels({ memory, curve, preferred: sizing.kind });
  const workspaces = Array.from({ length: options.workspaces }, (_, i) => ({
    start: start + i * workspaceBytes,
    end: start + (i + 1) * workspaceBytes,
  }));
  const arenas = { key: new Arena(KERNEL_RESERVED_BYTES, start), scratch: new Arena(start, start + workspaceBytes) };
  const built = new KeyBuilder(kernels, arenas, { gates, domainPower }).build(setup, options.workspaces);
  return { memory, kind: kernels.kind, workspaces, keyBytes: start, ...counts, ...built };
}

function keyBytesOf(kernels: Kernels, gates: PlonkGates, domainPower: number): number {
  const size = 2 ** domainPower;
  const vectors = PLAIN_VECTORS + COSET_COUNT * COSET_VECTORS;
  const points = 2 * (size + EXTRA_POWERS) * kernels.g1.pointBytes;
  const words = 4 * 4 * (size + EXTRA_POWERS) + gates.additions.count * ADDITION_BYTES;
  const elements = (gates.coefficients.length + 16) * kernels.fr.elementBytes;
  return vectors * align(vectorBytes(kernels, domainPower)) + points + words + elements + 2 * PAGE_BYTES;
}

/** Scratch while the key is built: the identity's elements, a vector, its scalars, and a sum over the setup. */
function buildBytesOf(kernels: Kernels, gates: PlonkGates, domainPower: number): number {
  const size = 2 ** domainPower;
  const { bytes, elementBytes } = kernels.fr;
  const raw = Math.max(CHUNK_POINTS * 2 * kernels.fq.bytes, gates.coefficients.length * bytes);
  return (
    3 * size * elementBytes +
    2 * align(vectorBytes(kernels, domainPower)) +
    size * (bytes + 4) +
    raw +
    msmWorkspaceBytes(kernels, "g1", size) +
    PAGE_BYTES
  );
}

type Built = Omit<ResidentPlonkKey, "memory" | "kind" | "workspaces" | "keyBytes" | "domainPower" | "wireCount">;

interface Circuit {
  readonly gates: PlonkGates;
  readonly domainPower: number;
}

class KeyBuilder {
  readonly #kernels: Kernels;
  readonly #arena: Arena;
  readonly #scratch: Arena;
  readonly #circuit: Circuit;
  readonly #size: number;
  readonly #scalars: ScalarMemory;

  constructor(kernels: Kernels, arenas: { readonly key: Arena; readonly scratch: Arena }, circuit: Circuit) {
    this.#kernels = kernels;
    this.#arena = arenas.key;
    this.#scratch = arenas.scratch;
    this.#circuit = circuit;
    this.#size = 2 ** circuit.domainPower;
    this.#scalars = new ScalarMemory(kernels, arenas.scratch);
  }

  build(setup: PlonkSetupPoints, workspaceCount: number): Built {
    const { gates, domainPower } = this.#circuit;
    const { curve } = this.#kernels;
    const points = this.#points(setup);
    const domainTables = this.#vector();
    this.#withScratch((scratch) => writeDomainTables(this.#kernels, domainPower, { target: domainTables, scratch }));
    const domain = new Domain(this.#kernels, domainPower, domainTables);
    const inverseSize = this.#element(inverse(BigInt(this.#size), curve.r));
    const factors = this.#elements(gates.coefficients);
    const sigma = { s1: this.#vector(), s2: this.#vector(), s3: this.#vector() };
    this.#writeSigma(sigma);
    const { fixed, commitments } = this.#fixedPolynomials({ domain, inverseSize, factors, sigma, ...points });
    const workspaceFlags = this.#arena.take(4 * workspaceCount);
    this.#kernels.words(workspaceFlags, workspaceCount).fill(0);
    return {
      verifyingKey: this.#verifyingKey(commitments, setup.tauG2),
      systemWireCount: gates.systemWireCount,
      additions: this.#additions(),
      factors,
      maps: this.#maps(),
      places: this.#places(),
      fixed,
      sigma,
      cosets: Array.from({ length: COSET_COUNT }, (_, i) => this.#coset(i, { domain, fixed })),
      joinFactors: this.#joinFactors(),
      inverseSize,
      domainTables,
      ...points,
      workspaceFlags,
    };
  }

  #vector(): number {
    return this.#arena.take(vectorBytes(this.#kernels, this.#circuit.domainPower));
  }

  get #blocks(): number {
    return this.#size / this.#kernels.fr.lanes;
  }

  #withScratch(work: (address: number) => void): void {
    this.#scratch.scoped(() => work(this.#scratch.take(256)));
  }

  #element(value: bigint): number {
    return this.#elements([value]);
  }

  #elements(values: readonly bigint[]): number {
    const address = this.#arena.take(values.length * this.#kernels.fr.elementBytes);
    this.#scalars.writeElements(address, values);
    return address;
  }

  #words(values: Uint32Array): number {
    const address = this.#arena.take(4 * values.length);
    this.#kernels.words(address, values.length).set(values);
    return address;
  }

  #points(setup: PlonkSetupPoints): { powers: number; lagrange: number } {
    const pointBytes = 2 * this.#kernels.fq.bytes;
    const size = this.#size;
    if (setup.powers.length < (size + EXTRA_POWERS) * pointBytes || setup.lagrange.length !== size * pointBytes)
      throw new RangeError("the setup has fewer points than the circuit takes");
    const at = (power: number): Uint8Array => setup.powers.subarray(power * pointBytes, (power + 3) * pointBytes);
    return {
      powers: this.#importPoints([setup.powers.subarray(0, (size + EXTRA_POWERS) * pointBytes)]),
      lagrange: this.#importPoints([setup.lagrange, at(0), at(size)]),
    };
  }

  #importPoints(parts: readonly Uint8Array[]): number {
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

  #additions(): number {
    const { count, left, right, leftFactor, rightFactor } = this.#circuit.gates.additions;
    const words = new Uint32Array(4 * count);
    for (let i = 0; i < count; i += 1)
      words.set([left[i] ?? 0, right[i] ?? 0, leftFactor[i] ?? 0, rightFactor[i] ?? 0], 4 * i);
    return this.#words(words);
  }

  #maps(): Record<GateWire, number> {
    const { gates } = this.#circuit;
    const wireCount = gates.systemWireCount + gates.additions.count;
    const map = (wire: GateWire, column: number): number => {
      const words = new Uint32Array(this.#size + BLINDING_POINTS);
      words.set(gates.wires[wire]);
      for (let i = 0; i < BLINDING_POINTS; i += 1) words[this.#size + i] = wireCount + column * BLINDING_POINTS + i;
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
    const { gates, domainPower } = this.#circuit;
    const { elementBytes } = kernels.fr;
    const { r } = kernels.curve;
    const next = permutationOf(gates, size);
    this.#scratch.scoped(() => {
      const identity = this.#scratch.take(3 * size * elementBytes);
      const root = rootOfUnity(kernels.curve, domainPower);
      this.#scalars.writeElements(identity, [1n]);
      this.#scalars.withElement(1n, (factor) => {
        for (let done = 1; done < size; done *= 2) {
          this.#scalars.writeElements(factor, [power(root, BigInt(done), r)]);
          kernels.call("fr_scale_elements", identity + done * elementBytes, identity, done, factor);
        }
        for (const [column, k] of [COLUMN_FACTORS.k1, COLUMN_FACTORS.k2].entries()) {
          this.#scalars.writeElements(factor, [k]);
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

  /** Interpolates each fixed polynomial, and commits to it by its values. */
  #fixedPolynomials(from: {
    readonly domain: Domain;
    readonly inverseSize: number;
    readonly factors: number;
    readonly sigma: Readonly<Record<"s1" | "s2" | "s3", number>>;
    readonly lagrange: number;
  }): { fixed: Record<FixedPolynomial, number>; commitments: Record<FixedPolynomial, G1Point | undefined> } {
    const fixed: Partial<Record<FixedPolynomial, number>> = {};
    const commitments: Partial<Record<FixedPolynomial, G1Point | undefined>> = {};
    for (const name of FIXED_POLYNOMIALS) {
      const target = this.#vector();
      this.#writeValues(name, target, from);
      commitments[name] = this.#commit(target, from.lagrange);
      from.domain.forward(target);
      this.#kernels.call("fr_scale_blocks", target, target, this.#blocks, from.inverseSize);
      fixed[name] = target;
    }
    return {
      fixed: fixed as Record<FixedPolynomial, number>,
      commitments: commitments as Record<FixedPolynomial, G1Point | undefined>,
    };
  }

  #writeValues(
    name: FixedPolynomial,
    target: number,
    from: { readonly factors: number; readonly sigma: Readonly<Record<"s1" | "s2" | "s3", number>> },
  ): void {
    const kernels = this.#kernels;
    if (name === "s1" || name === "s2" || name === "s3") {
      const bytes = vectorBytes(kernels, this.#circuit.domainPower);
      kernels.bytes(target, bytes).set(kernels.bytes(from.sigma[name], bytes));
      return;
    }
    this.#scratch.scoped(() => {
      const map = this.#scratch.take(4 * this.#size);
      const words = kernels.words(map, this.#size);
      words.fill(0);
      words.set(this.#circuit.gates.selectors[name]);
      kernels.call("fr_gather_elements", target, map, this.#blocks, from.factors);
    });
  }

  #commit(values: number, lagrange: number): G1Point | undefined {
    const kernels = this.#kernels;
    return this.#scratch.scoped(() => {
      const scalars = this.#scratch.take(this.#size * kernels.fr.bytes);
      kernels.call("fr_export_blocks", scalars, values, this.#blocks);
      const sum = this.#scratch.take(kernels.g1.pointBytes);
      new Msm(kernels, "g1", this.#scratch).run({ points: lagrange, scalars, indices: 0, count: this.#size }, sum);
      return this.#scalars.readPoint(sum);
    });
  }

  #coset(
    number: number,
    { domain, fixed }: { readonly domain: Domain; readonly fixed: Readonly<Record<FixedPolynomial, number>> },
  ): PlonkCoset {
    const kernels = this.#kernels;
    const { domainPower } = this.#circuit;
    const { r } = kernels.curve;
    const root = rootOfUnity(kernels.curve, domainPower + Math.log2(COSET_COUNT));
    const shift = (COSET_SHIFT * power(root, BigInt(number), r)) % r;
    const [scale, inverseScale, firstLagrange] = [this.#vector(), this.#vector(), this.#vector()];
    const inverseSize = inverse(BigInt(this.#size), r);
    this.#withScratch((scratch) => {
      writePowers(kernels, { log: domainPower, base: shift, factor: 1n }, { target: scale, scratch });
      const back = { log: domainPower, base: inverse(shift, r), factor: inverseSize };
      writePowers(kernels, back, { target: inverseScale, scratch });
      // All coefficients of the first Lagrange polynomial are 1 / n.
      writePowers(kernels, { log: domainPower, base: shift, factor: inverseSize }, { target: firstLagrange, scratch });
    });
    domain.backward(firstLagrange);
    const values = FIXED_POLYNOMIALS.map((name) => {
      const target = this.#vector();
      kernels.call("fr_mul_blocks", target, fixed[name], scale, this.#blocks);
      domain.backward(target);
      return [name, target] as const;
    });
    return {
      shift,
      scale,
      inverseScale,
      firstLagrange,
      fixed: Object.fromEntries(values) as Record<FixedPolynomial, number>,
    };
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

  #verifyingKey(
    commitments: Readonly<Record<FixedPolynomial, G1Point | undefined>>,
    tauG2: G2Point,
  ): PlonkVerifyingKey {
    const { s1, s2, s3, ...selectors } = commitments;
    if (s1 === undefined || s2 === undefined || s3 === undefined)
      throw new RangeError("the permutation's commitment is infinity: the setup is degenerate");
    return {
      curve: this.#kernels.curve.name,
      publicCount: this.#circuit.gates.publicCount,
      domainPower: this.#circuit.domainPower,
      ...COLUMN_FACTORS,
      selectors,
      s1,
      s2,
      s3,
      tauG2,
    };
  }
}
