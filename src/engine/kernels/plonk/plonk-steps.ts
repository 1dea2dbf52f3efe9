/**
 * The steps of a PLONK proof, whose tasks several threads can share (threads/thread-team.ts): A. Gabizon, Z.
 * Williamson, O. Ciobotaru (eprint 2019/953), section 8.3. A challenge is computed by the first step that takes it,
 * from what stands in the shared workspace, so that any thread can run any task.
 *
 * Polynomials stand without their blinding; where they are used, the few coefficients that it adds are added to the
 * result.
 */
import { PlonkTranscript } from "../../plonk/transcript.js";
import type { TeamStep } from "../threads/thread-team.js";
import { Msm } from "../msm/msm.js";
import { Domain } from "../ntt/domain.js";
import { COLUMNS, computePermutationProduct, computeWires, interpolate, interpolatePublicSignals } from "./columns.js";
import { joinTasks } from "./coset-values.js";
import type { PlonkContext } from "./plonk-context.js";
import { BLINDING_POINTS } from "./plonk-key.js";
import type { ResidentPlonkKey } from "./plonk-key.js";
import type { Commitment, PlonkLayout } from "./plonk-layout.js";
import { PlonkMemory } from "./plonk-memory.js";
import { PlonkOpenings } from "./plonk-openings.js";
import { PlonkQuotient } from "./plonk-quotient.js";
import { COSET_COUNT, EXTRA_POWERS, blocksOf } from "./resident-circuit.js";
import { StepList } from "./step-list.js";
import type { CommitmentSum } from "./step-list.js";
import type { ProofPlace } from "./team-prover.js";

/** Returns the steps of a proof. The witness and the blinding must stand in the workspace. */
export function plonkSteps({ kernels, layout, scratch }: ProofPlace<PlonkLayout>, key: ResidentPlonkKey): TeamStep[] {
  const memory = new PlonkMemory(kernels, layout, scratch);
  const domain = new Domain(kernels, key.domainPower, key.domainTables);
  return new PlonkSteps({ kernels, key, layout, scratch, memory, domain }).build();
}

class PlonkSteps {
  readonly #context: PlonkContext;
  readonly #transcript: PlonkTranscript;

  constructor(context: PlonkContext) {
    this.#context = context;
    this.#transcript = new PlonkTranscript(context.kernels.curve);
  }

  build(): TeamStep[] {
    const context = this.#context;
    const { layout } = context;
    const [quotient, openings] = [new PlonkQuotient(context), new PlonkOpenings(context)];
    const list = new StepList(new Msm(context.kernels, "g1", context.scratch));
    const wires = list.add("wires", [], 1, () => this.#computeWires());
    const wireSums = list.addSums("wire sums", [wires], this.#wireSums());
    const columns = list.add("interpolate", [wires], COLUMNS.length + 1, (task) => this.#interpolateColumn(task));
    const permutation = list.add("permutation", [wireSums, columns], 1, () => this.#computeZ());
    const zSum = list.addSums("z sum", [permutation], [this.#zSum()]);
    const zColumn = list.add("interpolate z", [permutation], 1, () =>
      interpolate(context, layout.values.z, layout.coefficients.z),
    );
    const alpha = list.add("alpha", [zSum, zColumn], 1, () => this.#setAlpha());
    const cosets = list.add("quotient", [alpha], COSET_COUNT, (task) => quotient.computeOnCoset(task));
    const join = list.add("join", [cosets], joinTasks(context), (task) => quotient.join(task));
    const split = list.add("split", [join], 1, () => quotient.split());
    const quotientSums = list.addSums("quotient sums", [split], this.#powerSums(["t1", "t2", "t3"], 1));
    const powers = list.add("powers", [quotientSums], 1, () => openings.writePowers());
    const values = list.add("values", [powers], openings.valueCount, (task) => openings.evaluate(task));
    const open = list.add("open", [values], 2, (task) => openings.open(task));
    list.addSums("opening sums", [open], this.#powerSums(["wXi", "wXiOmega"], 0));
    return list.steps;
  }

  #sum(name: Commitment): Pick<CommitmentSum, "lists" | "target"> {
    const { layout, memory } = this.#context;
    return { lists: layout.lists[name], target: memory.points.address(name) };
  }

  /** The wires' polynomials by their values: the scalars are the witness itself, whose values are often small. */
  #wireSums(): CommitmentSum[] {
    const { key, layout } = this.#context;
    return COLUMNS.map((name) => ({
      ...this.#sum(name),
      points: key.lagrange,
      scalars: layout.scalars,
      indices: key.maps[name],
      count: 2 ** key.domainPower + BLINDING_POINTS,
    }));
  }

  #zSum(): CommitmentSum {
    const { key, layout } = this.#context;
    const count = 2 ** key.domainPower + BLINDING_POINTS;
    return { ...this.#sum("z"), points: key.lagrange, scalars: layout.sums[0], indices: 0, count };
  }

  /** Sums over the powers; with `ordered` 1 the scalars stand in the order of coefficients, with 0 as they are. */
  #powerSums(names: readonly Commitment[], ordered: 0 | 1): CommitmentSum[] {
    const { key, layout } = this.#context;
    return names.map((name, i) => ({
      ...this.#sum(name),
      points: key.powers,
      scalars: layout.sums[i] ?? layout.sums[0],
      indices: ordered * key.places,
      count: 2 ** key.domainPower + EXTRA_POWERS,
    }));
  }

  /** Computes the wires, and writes the scalars of their blinding. */
  #computeWires(): void {
    const { kernels, key, layout } = this.#context;
    computeWires(this.#context, layout);
    for (const [column, name] of COLUMNS.entries())
      this.#writeBlindingScalars(layout.scalars + (key.wireCount + column * BLINDING_POINTS) * kernels.fr.bytes, name);
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
    const name = COLUMNS[task];
    if (name === undefined) {
      const signals = memory.publicSignals(key.publicCount);
      interpolatePublicSignals(this.#context, layout.coefficients.publicInputs, signals);
      return;
    }
    kernels.call("fr_gather_elements", layout.values[name], key.maps[name], blocksOf(this.#context), layout.wires);
    interpolate(this.#context, layout.values[name], layout.coefficients[name]);
  }

  #computeZ(): void {
    const { kernels, key, layout, memory } = this.#context;
    const { points } = memory;
    const wires = { a: points.get("a"), b: points.get("b"), c: points.get("c") };
    const challenges = this.#transcript.betaGamma(key.verifyingKey, memory.publicSignals(key.publicCount), wires);
    memory.challenges.set("beta", challenges.beta);
    memory.challenges.set("gamma", challenges.gamma);
    const { values, sums } = layout;
    const [first, second, third] = layout.quotient;
    const places = { columns: values, target: values.z, spare: [first, second, third] as const };
    computePermutationProduct(this.#context, places, challenges);
    kernels.call("fr_export_blocks", sums[0], values.z, blocksOf(this.#context));
    this.#writeBlindingScalars(sums[0] + 2 ** key.domainPower * kernels.fr.bytes, "z");
  }

  #setAlpha(): void {
    const { challenges, points } = this.#context.memory;
    const before = { beta: challenges.get("beta"), gamma: challenges.get("gamma") };
    challenges.set("alpha", this.#transcript.alpha(before, points.get("z")));
  }
}
