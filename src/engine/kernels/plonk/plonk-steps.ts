/**
 * The steps of a PLONK proof, whose tasks several threads can share (threads/thread-team.ts): A. Gabizon, Z.
 * Williamson, O. Ciobotaru (eprint 2019/953), section 8.3. A challenge is computed by the first step that takes it,
 * from what stands in the shared workspace, so that any thread can run any task.
 *
 * Polynomials stand without their blinding; where they are used, the few coefficients that it adds are added to the
 * result.
 */
import { rootOfUnity } from "../../curves/curve-parameters.js";
import { inverse, power } from "../../field/prime-field.js";
import { PlonkTranscript } from "../../plonk/transcript.js";
import type { TeamStep } from "../threads/thread-team.js";
import type { Kernels } from "../kernels.js";
import { Msm } from "../msm/msm.js";
import { Domain, vectorBytes } from "../ntt/domain.js";
import type { Arena } from "../wasm/arena.js";
import { identityBlock } from "./plonk-context.js";
import type { PlonkContext } from "./plonk-context.js";
import { BLINDING_POINTS, COSET_COUNT, EXTRA_POWERS } from "./plonk-key.js";
import type { ResidentPlonkKey } from "./plonk-key.js";
import type { Commitment, PlonkLayout } from "./plonk-layout.js";
import { PlonkMemory } from "./plonk-memory.js";
import { PlonkOpenings } from "./plonk-openings.js";
import { PlonkQuotient } from "./plonk-quotient.js";

/** One sum over points of the key. */
interface Sum {
  readonly name: Commitment;
  readonly points: number;
  readonly scalars: number;
  readonly indices: number;
  readonly count: number;
}

const WIRES = ["a", "b", "c"] as const;
/** Blocks of one task of `join`. */
const CHUNK_BLOCKS = 8192;

/** Returns the steps of a proof. The witness and the blinding must stand in the workspace. */
export function plonkSteps(kernels: Kernels, key: ResidentPlonkKey, layout: PlonkLayout, scratch: Arena): TeamStep[] {
  const memory = new PlonkMemory(kernels, layout, scratch);
  const domain = new Domain(kernels, key.domainPower, key.domainTables);
  return new StepList({ kernels, key, layout, scratch, memory, domain }).build();
}

class StepList {
  readonly #context: PlonkContext;
  readonly #steps: TeamStep[] = [];
  readonly #msm: Msm;
  readonly #transcript: PlonkTranscript;

  constructor(context: PlonkContext) {
    this.#context = context;
    this.#msm = new Msm(context.kernels, "g1", context.scratch);
    this.#transcript = new PlonkTranscript(context.kernels.curve);
  }

  build(): TeamStep[] {
    const quotient = new PlonkQuotient(this.#context);
    const openings = new PlonkOpenings(this.#context);
    const { kernels, key } = this.#context;
    const wires = this.#add("wires", [], 1, () => this.#computeWires());
    const wireSums = this.#addSums("wire sums", [wires], this.#wireSums());
    const columns = this.#add("interpolate", [wires], WIRES.length + 1, (task) => this.#interpolateColumn(task));
    const permutation = this.#add("permutation", [wireSums, columns], 1, () => this.#computeZ());
    const zSum = this.#addSums("z sum", [permutation], [this.#zSum()]);
    const zColumn = this.#add("interpolate z", [permutation], 1, () => this.#interpolateZ());
    const alpha = this.#add("alpha", [zSum, zColumn], 1, () => this.#setAlpha());
    const cosets = this.#add("quotient", [alpha], COSET_COUNT, (task) => quotient.computeOnCoset(task));
    const blocks = 2 ** key.domainPower / kernels.fr.lanes;
    const chunks = Math.ceil(blocks / CHUNK_BLOCKS);
    const join = this.#add("join", [cosets], chunks, (task) =>
      quotient.join(task * CHUNK_BLOCKS, Math.min(CHUNK_BLOCKS, blocks - task * CHUNK_BLOCKS)),
    );
    const split = this.#add("split", [join], 1, () => quotient.split());
    const quotientSums = this.#addSums("quotient sums", [split], this.#powerSums(["t1", "t2", "t3"], 1));
    const powers = this.#add("powers", [quotientSums], 1, () => openings.writePowers());
    const values = this.#add("values", [powers], openings.valueCount, (task) => openings.evaluate(task));
    const open = this.#add("open", [values], 2, (task) => openings.open(task));
    this.#addSums("opening sums", [open], this.#powerSums(["wXi", "wXiOmega"], 0));
    return this.#steps;
  }

  #add(name: string, after: readonly number[], count: number, run: (task: number) => void): number {
    return this.#steps.push({ name, after, count: () => count, run }) - 1;
  }

  /** Adds three steps for sums that are computed together; the last writes the commitments. */
  #addSums(name: string, after: readonly number[], sums: readonly Sum[]): number {
    const { memory, layout } = this.#context;
    const prepared = this.#add(name, after, sums.length, (task) => {
      const sum = sums[task];
      if (sum !== undefined) this.#msm.prepare(sum, layout.lists[sum.name]);
    });
    const counts = (): number[] => sums.map((sum) => this.#msm.partCount(layout.lists[sum.name]));
    this.#steps.push({
      name,
      after: [prepared],
      count: () => counts().reduce((total, count) => total + count, 0),
      run: (task) => {
        let part = task;
        for (const { name: commitment } of sums) {
          const lists = layout.lists[commitment];
          const count = this.#msm.partCount(lists);
          if (part < count) {
            this.#msm.runPart(lists, part);
            return;
          }
          part -= count;
        }
      },
    });
    return this.#add(name, [this.#steps.length - 1], sums.length, (task) => {
      const sum = sums[task];
      if (sum !== undefined) this.#msm.finish(layout.lists[sum.name], memory.pointAddress(sum.name));
    });
  }

  /** The wires' polynomials by their values: the scalars are the witness itself, whose values are often small. */
  #wireSums(): Sum[] {
    const { key, layout } = this.#context;
    return WIRES.map((name) => ({
      name,
      points: key.lagrange,
      scalars: layout.scalars,
      indices: key.maps[name],
      count: 2 ** key.domainPower + BLINDING_POINTS,
    }));
  }

  #zSum(): Sum {
    const { key, layout } = this.#context;
    const count = 2 ** key.domainPower + BLINDING_POINTS;
    return { name: "z", points: key.lagrange, scalars: layout.sums[0], indices: 0, count };
  }

  /** Sums over the powers; with `ordered` 1 the scalars stand in the order of coefficients, with 0 as they are. */
  #powerSums(names: readonly Commitment[], ordered: 0 | 1): Sum[] {
    const { key, layout } = this.#context;
    return names.map((name, i) => ({
      name,
      points: key.powers,
      scalars: layout.sums[i] ?? layout.sums[0],
      indices: ordered * key.places,
      count: 2 ** key.domainPower + EXTRA_POWERS,
    }));
  }

  /** Imports the witness, computes the additions, and writes the scalars of the wires' blinding. */
  #computeWires(): void {
    const { kernels, key, layout, memory } = this.#context;
    const { bytes, elementBytes } = kernels.fr;
    // The constant stands in the selectors, and wire 0 is 0.
    memory.scalars.writeIntegers(layout.scalars, [0n]);
    kernels.call("fr_import_plain", layout.wires, layout.scalars, key.systemWireCount);
    const added = layout.wires + key.systemWireCount * elementBytes;
    const count = key.wireCount - key.systemWireCount;
    if (count > 0) {
      kernels.call("fr_add_wires", added, key.additions, count, key.factors, layout.wires);
      kernels.call("fr_export_plain", layout.scalars + key.systemWireCount * bytes, added, count);
    }
    for (const [column, name] of WIRES.entries())
      this.#writeBlindingScalars(layout.scalars + (key.wireCount + column * BLINDING_POINTS) * bytes, name);
  }

  /** Writes the factors of the powers 0, 1, 2, n, n + 1, n + 2 in B (X^n - 1). */
  #writeBlindingScalars(address: number, name: "a" | "b" | "c" | "z"): void {
    const { memory } = this.#context;
    const [b0 = 0n, b1 = 0n, b2 = 0n] = memory.blinding(name);
    memory.scalars.writeIntegers(address, [-b0, -b1, -b2, b0, b1, b2]);
  }

  /** Gathers a column's values and interpolates it; the last task does so for the public signals. */
  #interpolateColumn(task: number): void {
    const { kernels, key, layout, memory } = this.#context;
    const name = WIRES[task];
    if (name !== undefined) {
      kernels.call("fr_gather_elements", layout.values[name], key.maps[name], this.#blocks, layout.wires);
      this.#interpolate(layout.values[name], layout.coefficients[name]);
      return;
    }
    const target = layout.coefficients.publicInputs;
    kernels.bytes(target, this.#vectorBytes).fill(0);
    for (const [i, signal] of memory.publicSignals(key.verifyingKey.publicCount).entries())
      memory.scalars.writeAt(target, i, -signal);
    this.#interpolate(target, target);
  }

  #interpolate(values: number, coefficients: number): void {
    const { kernels, key, domain } = this.#context;
    if (values !== coefficients)
      kernels.bytes(coefficients, this.#vectorBytes).set(kernels.bytes(values, this.#vectorBytes));
    domain.forward(coefficients);
    kernels.call("fr_scale_blocks", coefficients, coefficients, this.#blocks, key.inverseSize);
  }

  /** z on the domain: products of the factors' ratios, from prefixes of the numerators and suffixes of the rest. */
  #computeZ(): void {
    const { kernels, key, layout, memory, scratch } = this.#context;
    const { beta, gamma } = this.#transcript.betaGamma(
      key.verifyingKey,
      memory.publicSignals(key.verifyingKey.publicCount),
      { a: memory.point("a"), b: memory.point("b"), c: memory.point("c") },
    );
    memory.setChallenge("beta", beta);
    memory.setChallenge("gamma", gamma);
    const [numerators, denominators, suffixes] = layout.quotient;
    const { values, sums } = layout;
    const order = kernels.curve.r;
    const root = rootOfUnity(kernels.curve, key.domainPower);
    const { elementBytes, lanes } = kernels.fr;
    scratch.scoped(() => {
      const constants = scratch.take(8 * elementBytes);
      const { k1, k2 } = key.verifyingKey;
      memory.scalars.writeElements(constants, [beta, gamma, k1, k2, power(root, BigInt(lanes), order), 0n, 0n, 0n]);
      const identity = identityBlock(this.#context, [beta, (beta * root) % order]);
      const vectors = scratch.take(4 * 6);
      const { s1, s2, s3 } = key.sigma;
      kernels.words(vectors, 6).set([values.a, values.b, values.c, s1, s2, s3]);
      kernels.call("fr_permutation_factors", numerators, denominators, vectors, this.#blocks, constants, identity);
      const total = scratch.take(elementBytes);
      kernels.call("fr_prefix_products", values.z, numerators, this.#blocks, total);
      kernels.call("fr_suffix_products", suffixes, denominators, this.#blocks);
      const whole = memory.scalars.readAt(suffixes, 0);
      kernels.call("fr_mul_blocks", values.z, values.z, suffixes, this.#blocks);
      memory.scalars.withElement(inverse(whole, order), (factor) => {
        kernels.call("fr_scale_blocks", values.z, values.z, this.#blocks, factor);
      });
    });
    kernels.call("fr_export_blocks", sums[0], values.z, this.#blocks);
    this.#writeBlindingScalars(sums[0] + 2 ** key.domainPower * kernels.fr.bytes, "z");
  }

  #interpolateZ(): void {
    const { layout } = this.#context;
    this.#interpolate(layout.values.z, layout.coefficients.z);
  }

  #setAlpha(): void {
    const { memory } = this.#context;
    const challenges = { beta: memory.challenge("beta"), gamma: memory.challenge("gamma") };
    memory.setChallenge("alpha", this.#transcript.alpha(challenges, memory.point("z")));
  }

  get #blocks(): number {
    const { kernels, key } = this.#context;
    return 2 ** key.domainPower / kernels.fr.lanes;
  }

  get #vectorBytes(): number {
    return vectorBytes(this.#context.kernels, this.#context.key.domainPower);
  }
}
