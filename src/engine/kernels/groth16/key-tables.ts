/**
 * Multiples of a key's points that are kept beside them and make its sums shorter (msm/window-plan.ts): which sections
 * have some, as far as the memory reaches that they may take, and how they are written. A key has room for them from
 * the start and proves without them until they are there.
 */
import { curveNamed } from "../../curves/curves.js";
import { openKernels } from "../kernels.js";
import type { Kernels } from "../kernels.js";
import { levelScratchBytes, levelSteps, writeLevel } from "../msm/point-levels.js";
import { ONE_LEVEL, cheapestLevels } from "../msm/window-plan.js";
import type { PointLevels } from "../msm/window-plan.js";
import { Arena } from "../wasm/arena.js";
import type { ResidentKey, SectionLevels, SectionName } from "./resident-key.js";

/** The sections of points, those first whose scalars fill the field with any witness. */
const SECTIONS = ["h", "a", "c", "b1", "b2"] as const satisfies readonly SectionName[];

/** The points alone. */
export const NO_LEVELS: SectionLevels = { a: ONE_LEVEL, b1: ONE_LEVEL, b2: ONE_LEVEL, c: ONE_LEVEL, h: ONE_LEVEL };

/** Room for a key's tables. */
export interface TablesRoom {
  readonly levels: SectionLevels;
  /** Of all multiples. */
  readonly bytes: number;
  /** For whoever writes them. */
  readonly scratchBytes: number;
}

/** What the word of a key's tables is once they may be used; 0 before. */
const WRITTEN = 1;

/**
 * Returns the room of a key whose sections have so many points; undefined where no table pays, or none has room.
 * @param bytesMax of all multiples
 */
export function chooseTables(
  kernels: Kernels,
  counts: Readonly<Record<SectionName, number>>,
  bytesMax: number,
): TablesRoom | undefined {
  const levels: Record<SectionName, PointLevels> = { ...NO_LEVELS };
  let bytes = 0;
  for (const name of SECTIONS) {
    const levelBytes = counts[name] * kernels[groupOf(name)].pointBytes;
    if (levelBytes === 0) continue;
    levels[name] = cheapestLevels(kernels.curve.r, counts[name], 1 + Math.floor((bytesMax - bytes) / levelBytes));
    bytes += (levels[name].count - 1) * levelBytes;
  }
  const scratchBytes = Math.max(levelScratchBytes(kernels, "g1"), levelScratchBytes(kernels, "g2"));
  return bytes === 0 ? undefined : { levels, bytes, scratchBytes };
}

/** Whether a key's tables are written. */
export function hasTables({ memory, tables }: Pick<ResidentKey, "memory" | "tables">): boolean {
  return tables !== undefined && Atomics.load(stateOf(memory, tables.state), 0) === WRITTEN;
}

/**
 * Writes the tables that a key has room for, one thread at a time, in some five microseconds for each multiple in G1
 * and fifteen in G2. Proofs may run meanwhile; they use the tables once all are there.
 * @param from where an earlier call stopped; default the first step
 * @param withinMs after which it stops before the next step; default: never
 * @returns where to go on; undefined when all is written
 */
export function writeKeyTables(key: ResidentKey, from = 0, withinMs = Infinity): number | undefined {
  const { memory, tables, curve, kind } = key;
  if (tables === undefined || hasTables(key)) return undefined;
  // Not on four lanes: the form is for what is verified before it is used again.
  const kernels = openKernels(memory, { curve: curveNamed(curve), preferred: kind });
  const scratch = new Arena(tables.scratch.start, tables.scratch.end);
  const steps = SECTIONS.flatMap((name) => {
    const section = { ...key[name], levels: tables.levels[name] };
    return levelSteps(section).map((step) => ({ group: groupOf(name), work: { of: section, step } }));
  });
  const started = performance.now();
  for (const [i, { group, work }] of steps.entries()) {
    if (i < from) continue;
    if (performance.now() - started > withinMs) return i;
    writeLevel(kernels, group, work, scratch);
  }
  Atomics.store(stateOf(memory, tables.state), 0, WRITTEN);
  return undefined;
}

function stateOf(memory: WebAssembly.Memory, address: number): Int32Array {
  return new Int32Array(memory.buffer, address, 1);
}

function groupOf(name: SectionName): "g1" | "g2" {
  return name === "b2" ? "g2" : "g1";
}
