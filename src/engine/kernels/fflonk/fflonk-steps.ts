/**
 * The steps of an FFLONK proof, whose tasks several threads can share (threads/thread-team.ts): A. Gabizon, Z.
 * Williamson (eprint 2021/1167), section 7, in the form of snarkjs.
 */
import type { TeamStep } from "../threads/thread-team.js";
import { Msm } from "../msm/msm.js";
import { joinTasks } from "../plonk/coset-values.js";
import { COSET_COUNT } from "../plonk/resident-circuit.js";
import { StepList } from "../plonk/step-list.js";
import type { CommitmentSum } from "../plonk/step-list.js";
import type { ProofPlace } from "../plonk/team-prover.js";
import { fflonkContext } from "./fflonk-context.js";
import { COMMITMENT_SIZES } from "./fflonk-key.js";
import type { ResidentFflonkKey } from "./fflonk-key.js";
import type { Commitment, FflonkLayout } from "./fflonk-layout.js";
import { FflonkOpenings } from "./fflonk-openings.js";
import { FflonkPolynomials } from "./fflonk-polynomials.js";

/** Coefficients of one task that works along a long polynomial: some milliseconds. */
const SHARE_COEFFICIENTS = 32_768;

/** Returns the steps of a proof. The witness and the blinding must stand in the workspace. */
export function fflonkSteps(place: ProofPlace<FflonkLayout>, key: ResidentFflonkKey): TeamStep[] {
  const context = fflonkContext(place, key);
  const { layout } = context;
  const polynomials = new FflonkPolynomials(context);
  const openings = new FflonkOpenings(context);
  const list = new StepList(new Msm(place.kernels, "g1", place.scratch));
  const size = 2 ** key.domainPower;
  const commit = (name: Commitment, after: number, count: number): number =>
    list.addSums(name, [after], [commitment(name, count)]);
  const commitment = (name: Commitment, count: number): CommitmentSum => ({
    points: key.powers,
    scalars: layout.sum,
    indices: 0,
    count,
    lists: layout.lists[name],
    target: context.memory.points.address(name),
  });
  const inShares = (
    step: { readonly name: string; readonly after: number; readonly count: number },
    run: (share: { readonly first: number; readonly count: number }) => void,
  ): number =>
    list.add(step.name, [step.after], Math.ceil(step.count / SHARE_COEFFICIENTS), (task) => {
      const first = task * SHARE_COEFFICIENTS;
      run({ first, count: Math.min(SHARE_COEFFICIENTS, step.count - first) });
    });
  const writeScalars = (polynomial: number, after: number, count: number): number =>
    inShares({ name: "scalars", after, count }, (share) => openings.writeScalars(polynomial, share));

  const wires = list.add("wires", [], 1, () => polynomials.computeWires());
  const columns = list.add("interpolate", [wires], polynomials.columnTasks, (task) =>
    polynomials.interpolateColumn(task),
  );
  const gates = list.add("gates", [columns], key.gateCosets.length, (task) => polynomials.divideGates(task));
  const c1 = list.add("combine", [gates], polynomials.c1Tasks, (task) => polynomials.combineC1(task));
  const c1Size = COMMITMENT_SIZES.c1 * size;
  const c1Sum = commit("c1", writeScalars(layout.c1, c1, c1Size), c1Size);

  const z = list.add("permutation", [c1Sum], 1, () => polynomials.computeZ());
  const cosets = list.add("quotient", [z], COSET_COUNT, (task) => polynomials.dividePermutation(task));
  const join = list.add("join", [cosets], joinTasks(context), (task) => polynomials.join(task));
  const c2 = list.add("combine", [join], polynomials.c2Tasks, (task) => polynomials.combineC2(task));
  const c2Size = COMMITMENT_SIZES.c2 * size;
  const c2Sum = commit("c2", writeScalars(layout.c2, c2, c2Size), c2Size);

  const { w1, w2 } = openings.sizes;
  const divided = list.add("divide", [c2Sum], 3, (task) => openings.divide(task));
  const w = inShares({ name: "open", after: divided, count: w1 }, (share) => openings.combineW(share));
  const wSum = commit("w1", w, w1);
  const atY = inShares({ name: "open at y", after: wSum, count: w2 }, (share) => openings.combineAtY(share));
  const opened = list.add("divide at y", [atY], 1, () => openings.divideAtY());
  // The highest coefficient of the quotient is 0.
  commit("w2", writeScalars(layout.c2, opened, w2), w2 - 1);
  return list.steps;
}
