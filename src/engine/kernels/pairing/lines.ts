/**
 * The lines of the Miller loop over points of G2, and with them the membership test: the loop ends at T = [6x + 2]Q +
 * psi(Q) - psi^2(Q), and Q is in the subgroup of order r exactly when T = -psi^3(Q). For psi satisfies psi^2 - t psi +
 * q = 0, so the order of a Q with that property divides the norm of 6x + 2 + z - z^2 + z^3 in Z[z] / (z^2 - t z + q),
 * whose greatest common divisor with the order of the twist is r. The method is that of Y. Dai, K. Lin, C.-A. Zhao, Z.
 * Zhou, eprint 2022/348. The test is made for each point: a random combination of points would miss parts of small
 * order, which the cofactor has.
 */
import type { G2Point } from "../../curves/points.js";
import { LOOP_DIGITS } from "./loop-digits.js";
import type { PairingMemory } from "./pairing-memory.js";

/** Lines of one point in the order of the loop: divided ones of two blocks each, or undivided ones of three. */
export interface Lines {
  readonly bytes: Uint8Array;
  readonly isDivided: boolean;
}

/** A step of the loop on the running point; each gives a line. */
type Step = "double" | "point" | "negative" | "psi" | "minus_psi_2";

const STEPS: readonly Step[] = [
  ...LOOP_DIGITS.flatMap((digit): Step[] =>
    digit === 0 ? ["double"] : ["double", digit === 1 ? "point" : "negative"],
  ),
  "psi",
  "minus_psi_2",
];
/** Lines of a point: one for each doubling and each addition. */
export const LINES = STEPS.length;
/** From so many points on, one shared inversion a step costs less than the additional products of projective steps. */
const TOGETHER_MIN = 4;
/** Points whose lines are in memory at the same time. */
const TOGETHER_MAX = 64;

/** Returns the lines of each point, undefined for points outside the subgroup. All points must lie on the twist. */
export function linesOf(memory: PairingMemory, points: readonly G2Point[]): (Lines | undefined)[] {
  const results: (Lines | undefined)[] = [];
  for (let start = 0; start < points.length; start += TOGETHER_MAX) {
    const part = points.slice(start, start + TOGETHER_MAX);
    results.push(
      ...(part.length < TOGETHER_MIN ? part.map((point) => projectiveLines(memory, point)) : affineLines(memory, part)),
    );
  }
  return results;
}

/** Undivided lines of one point. A step that reaches infinity stays there, and the test at the end refuses it. */
function projectiveLines(memory: PairingMemory, { x, y }: G2Point): Lines | undefined {
  const { blockBytes, elementBytes } = memory.layout;
  return memory.scoped(() => {
    const lineBytes = 3 * blockBytes;
    const lines = memory.take(LINES * lineBytes);
    const elements = memory.take(6 * elementBytes),
      running = memory.take(3 * blockBytes);
    memory.writeElements(elements, [x.c0, x.c1, y.c0, y.c1, 1n, 0n]);
    memory.call("fq2_gather", running, elements, 3);
    const { others, end } = imagesOf(memory, elements, 1);
    for (const [i, step] of STEPS.entries()) {
      const line = lines + i * lineBytes;
      if (step === "double") memory.call("g2_double_step", running, line);
      else memory.call("g2_add_step", running, others[step], line);
    }
    return memory.call("g2_equals", running, end) === 1
      ? { bytes: memory.read(lines, LINES * lineBytes), isDivided: false }
      : undefined;
  });
}

/** Divided lines of many points. */
function affineLines(memory: PairingMemory, points: readonly G2Point[]): (Lines | undefined)[] {
  const { blockBytes, elementBytes, recordBytes } = memory.layout;
  const count = points.length;
  return memory.scoped(() => {
    const lineBytes = 2 * blockBytes,
      stride = LINES * lineBytes;
    const lines = memory.take(count * stride),
      records = memory.take(count * recordBytes),
      scratch = memory.take(memory.layout.lineScratchBytes(count));
    const elements = memory.take(4 * count * elementBytes);
    memory.writeElements(
      elements,
      points.flatMap(({ x, y }) => [x.c0, x.c1, y.c0, y.c1]),
    );
    for (let i = 0; i < count; i += 1) {
      memory.clear(records + i * recordBytes, recordBytes);
      memory.call("fq2_gather", records + i * recordBytes, elements + 4 * i * elementBytes, 2);
    }
    const { others, end } = imagesOf(memory, elements, count);
    for (const [i, step] of STEPS.entries()) {
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

/** The points that the loop adds, and -psi^3(Q), each as affine points one after the other. */
function imagesOf(
  memory: PairingMemory,
  elements: number,
  count: number,
): { others: Record<Exclude<Step, "double">, number>; end: number } {
  const pointBytes = 2 * memory.layout.blockBytes;
  const take = (): number => memory.take(count * pointBytes);
  const others = { point: take(), negative: take(), psi: take(), minus_psi_2: take() },
    end = take();
  memory.call("fq2_gather", others.point, elements, 2 * count);
  for (let i = 0; i < count; i += 1) {
    const [point, negative] = [others.point + i * pointBytes, others.negative + i * pointBytes];
    memory.call("g2_negate", negative, point);
    memory.call("g2_psi_1", others.psi + i * pointBytes, point);
    memory.call("g2_psi_2", others.minus_psi_2 + i * pointBytes, negative);
    memory.call("g2_psi_3", end + i * pointBytes, negative);
  }
  return { others, end };
}
