/**
 * The lines of the Miller loop over points of G2, and with them the membership test at its end (pairing-plan.ts). The
 * test is made for each point: a random combination of points would miss parts of small order, which the cofactor has.
 */
import type { G2Point } from "../../curves/points.js";
import { scratchBytesFor } from "../wasm/scratch-bytes.js";
import type { PairingMemory } from "./pairing-memory.js";
import type { AddedPoint, PairingPlan } from "./pairing-plan.js";

/** Lines of one point in the order of the loop: divided ones of two blocks each, or undivided ones of three. */
export interface Lines {
  readonly bytes: Uint8Array;
  readonly isDivided: boolean;
}

/** From so many points on, one shared inversion a step costs less than the additional products of projective steps. */
const TOGETHER_MIN = 4;
/** Points whose lines are in memory at the same time. */
const TOGETHER_MAX = 64;

/** Returns the lines of each point, undefined for points outside the subgroup. All points must lie on the twist. */
export function linesOf(memory: PairingMemory, plan: PairingPlan, points: readonly G2Point[]): (Lines | undefined)[] {
  const results: (Lines | undefined)[] = [];
  for (let start = 0; start < points.length; start += TOGETHER_MAX) {
    const part = points.slice(start, start + TOGETHER_MAX);
    results.push(
      ...(part.length < TOGETHER_MIN
        ? part.map((point) => projectiveLines(memory, plan, point))
        : affineLines(memory, plan, part)),
    );
  }
  return results;
}

/** Undivided lines of one point. A step that reaches infinity stays there, and the test at the end refuses it. */
function projectiveLines(memory: PairingMemory, plan: PairingPlan, { x, y }: G2Point): Lines | undefined {
  const { blockBytes, elementBytes } = memory.layout;
  return memory.scoped(() => {
    const lineBytes = 3 * blockBytes;
    const lines = memory.take(plan.steps.length * lineBytes);
    const elements = memory.take(6 * elementBytes),
      running = memory.take(3 * blockBytes);
    memory.writeElements(elements, [x.c0, x.c1, y.c0, y.c1, 1n, 0n]);
    memory.call("fq2_gather", running, elements, 3);
    moveTo(memory, plan, running, 1);
    const { others, end } = imagesOf(memory, plan, { points: running, count: 1 });
    for (const [i, step] of plan.steps.entries()) {
      const line = lines + i * lineBytes;
      if (step === "double") memory.call("g2_double_step", running, line);
      else memory.call("g2_add_step", running, others[step], line);
    }
    return memory.call("g2_equals", running, end) === 1
      ? { bytes: memory.read(lines, plan.steps.length * lineBytes), isDivided: false }
      : undefined;
  });
}

/** Divided lines of many points. */
function affineLines(memory: PairingMemory, plan: PairingPlan, points: readonly G2Point[]): (Lines | undefined)[] {
  const { blockBytes, elementBytes, recordBytes } = memory.layout;
  const count = points.length;
  return memory.scoped(() => {
    const lineBytes = 2 * blockBytes,
      stride = plan.steps.length * lineBytes;
    const lines = memory.take(count * stride),
      records = memory.take(count * recordBytes),
      scratch = memory.take(scratchBytesFor(memory.layout.lineScratch, count));
    const elements = memory.take(4 * count * elementBytes);
    memory.writeElements(
      elements,
      points.flatMap(({ x, y }) => [x.c0, x.c1, y.c0, y.c1]),
    );
    const moved = memory.take(2 * count * blockBytes);
    memory.call("fq2_gather", moved, elements, 2 * count);
    moveTo(memory, plan, moved, count);
    for (let i = 0; i < count; i += 1) {
      memory.clear(records + i * recordBytes, recordBytes);
      memory.copy(records + i * recordBytes, moved + 2 * i * blockBytes, 2 * blockBytes);
    }
    const { others, end } = imagesOf(memory, plan, { points: moved, count });
    for (const [i, step] of plan.steps.entries()) {
      const first = lines + i * lineBytes;
      if (step === "double") memory.call("g2_lines_double", records, first, stride, scratch, count);
      else memory.call("g2_lines_add", records, others[step], first, stride, scratch, count);
    }
    const all = memory.read(lines, count * stride);
    return points.map((_, i) => {
      const isMember = memory.call("g2_lines_end", records + i * recordBytes, end + 2 * i * blockBytes) === 1;
      return isMember ? { bytes: all.subarray(i * stride, (i + 1) * stride), isDivided: true } : undefined;
    });
  });
}

/** Moves affine points to the twist on which the loops run, in place. */
function moveTo(memory: PairingMemory, { move }: PairingPlan, points: number, count: number): void {
  if (move !== undefined) memory.call("g2_move", points, count);
}

/** The points that the loop adds, and the end of the loop for a member, each as affine points one after the other. */
function imagesOf(
  memory: PairingMemory,
  { steps, endPower }: PairingPlan,
  { points, count }: { readonly points: number; readonly count: number },
): { others: Record<AddedPoint, number>; end: number } {
  const pointBytes = 2 * memory.layout.blockBytes;
  const take = (): number => memory.take(count * pointBytes);
  const others = { point: take(), negative: take(), psi: take(), minus_psi_2: take() },
    end = take();
  memory.copy(others.point, points, count * pointBytes);
  const usesPsi = steps.includes("psi");
  for (let i = 0; i < count; i += 1) {
    const [point, negative] = [others.point + i * pointBytes, others.negative + i * pointBytes];
    memory.call("g2_negate", negative, point);
    if (usesPsi) {
      memory.call("g2_psi_1", others.psi + i * pointBytes, point);
      memory.call("g2_psi_2", others.minus_psi_2 + i * pointBytes, negative);
    }
    memory.call(`g2_psi_${String(endPower)}`, end + i * pointBytes, negative);
  }
  return { others, end };
}
