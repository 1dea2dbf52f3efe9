/**
 * The steps of a Groth16 proof, whose tasks several threads can share (thread-team.ts), and the layout of the workspace
 * that they share. Everything but a thread's own scratch lies in the leader's workspace; every thread computes the
 * layout from the key's counts.
 */
import { Arena, align } from "../wasm/arena.js";
import { Domain, vectorBytes } from "../ntt/domain.js";
import { Msm } from "../msm/msm.js";
import { msmListBytes, msmScratchBytes, takeMsmLists } from "../msm/msm-lists.js";
import type { Kernels } from "../kernels.js";
import type { MsmLists } from "../msm/msm-lists.js";
import { NO_LEVELS, hasTables } from "./key-tables.js";
import { EXTRA_SCALAR_COUNT } from "./resident-key.js";
import type { PointSection, ResidentKey, SectionLevels } from "./resident-key.js";
import type { TeamStep } from "../threads/thread-team.js";

interface Counts {
  readonly wireCount: number;
  readonly domainPower: number;
  readonly tables?: { readonly levels: SectionLevels } | undefined;
}

/** Addresses in the leader's workspace. */
export interface ProofLayout {
  /** The witness, then the extra scalars: secret, and wiped after use. */
  readonly scalars: number;
  /** Scalars of the H points. */
  readonly quotient: number;
  /** The witness as field elements, and A, B and C on the domain. The lists of H take their place later. */
  readonly elements: number;
  readonly vectors: readonly [number, number, number];
  readonly lists: {
    readonly a: MsmLists;
    readonly b1: MsmLists;
    readonly b2: MsmLists;
    readonly c: MsmLists;
    readonly h: MsmLists;
  };
  /** The rest of the workspace: scratch of the thread that owns it. */
  readonly scratch: number;
}

/** Elements of one task of `import`: about a millisecond of work. */
const CHUNK = 8192;

/** Returns the bytes of a workspace, what the threads of a proof share and scratch, and of a helper's scratch alone. */
export function proveWorkspaceBytes(
  kernels: Kernels,
  counts: Counts,
): { readonly workspace: number; readonly helper: number } {
  const [wires, size] = [counts.wireCount + EXTRA_SCALAR_COUNT, 2 ** counts.domainPower];
  const { a, b1, b2, c, h } = counts.tables?.levels ?? NO_LEVELS;
  const scratch = Math.max(
    msmScratchBytes(kernels, "g1", size, h),
    ...[a, b1, c].map((levels) => msmScratchBytes(kernels, "g1", wires, levels)),
    msmScratchBytes(kernels, "g2", wires, b2),
  );
  return { workspace: layOut(kernels, counts, 0).scratch + scratch, helper: scratch };
}

/** Returns the addresses in a workspace that begins at `start`, a multiple of 64. */
export function layOut(kernels: Kernels, counts: Counts, start: number): ProofLayout {
  const { fr } = kernels;
  const [wires, size] = [counts.wireCount + EXTRA_SCALAR_COUNT, 2 ** counts.domainPower];
  const arena = new Arena(start, Number.MAX_SAFE_INTEGER);
  const scalars = arena.take(wires * fr.bytes);
  const quotient = arena.take(size * fr.bytes);
  const vector = vectorBytes(kernels, counts.domainPower);
  const quotientBytes = align(counts.wireCount * fr.elementBytes) + 3 * align(vector);
  const levels = counts.tables?.levels ?? NO_LEVELS;
  const shared = arena.take(Math.max(quotientBytes, msmListBytes(kernels, "g1", size, levels.h)));
  const inner = new Arena(shared, Number.MAX_SAFE_INTEGER);
  const elements = inner.take(counts.wireCount * fr.elementBytes);
  const vectors = [inner.take(vector), inner.take(vector), inner.take(vector)] as const;
  const lists = {
    a: takeMsmLists(kernels, "g1", arena, { count: wires, levels: levels.a }),
    b1: takeMsmLists(kernels, "g1", arena, { count: wires, levels: levels.b1 }),
    b2: takeMsmLists(kernels, "g2", arena, { count: wires, levels: levels.b2 }),
    c: takeMsmLists(kernels, "g1", arena, { count: wires, levels: levels.c }),
    h: takeMsmLists(kernels, "g1", new Arena(shared, Number.MAX_SAFE_INTEGER), { count: size, levels: levels.h }),
  };
  return { scalars, quotient, elements, vectors, lists, scratch: arena.take(0) };
}

/**
 * Returns the steps of a proof, most urgent first: those that lead to H, then H, then the sums that depend on nothing
 * and fill the gaps.
 * @param scratch the calling thread's own part of a workspace.
 */
export function proofSteps(kernels: Kernels, key: ResidentKey, layout: ProofLayout, scratch: Arena): TeamStep[] {
  const g1 = new Msm(kernels, "g1", scratch),
    g2 = new Msm(kernels, "g2", scratch);
  const steps: TeamStep[] = quotientSteps(kernels, key, layout);
  const addSum = (
    name: string,
    after: readonly number[],
    sum: { msm: Msm; section: PointSection; scalars: number; lists: MsmLists },
  ): void => {
    const { msm, section, scalars, lists } = sum;
    steps.push({
      name,
      after,
      count: () => 1,
      run: () => {
        msm.prepare({ ...section, scalars, hasLevels: hasTables(key) }, lists);
      },
    });
    steps.push({
      name,
      after: [steps.length - 1],
      count: () => msm.partCount(lists),
      run: (part) => {
        msm.runPart(lists, part);
      },
    });
  };
  const { scalars, quotient, lists } = layout;
  addSum("h", [steps.length - 1], { msm: g1, section: key.h, scalars: quotient, lists: lists.h });
  addSum("b2", [], { msm: g2, section: key.b2, scalars, lists: lists.b2 });
  addSum("a", [], { msm: g1, section: key.a, scalars, lists: lists.a });
  addSum("c", [], { msm: g1, section: key.c, scalars, lists: lists.c });
  addSum("b1", [], { msm: g1, section: key.b1, scalars, lists: lists.b1 });
  return steps;
}

/**
 * Scalars of the H points: A * B - C on the coset, in the order in which the key keeps those points. The last step
 * completes them.
 */
function quotientSteps(kernels: Kernels, key: ResidentKey, layout: ProofLayout): TeamStep[] {
  const { lanes, elementBytes, bytes } = kernels.fr;
  const { scalars, quotient, elements, vectors } = layout;
  const [a, b, c] = vectors;
  const size = 2 ** key.domainPower;
  const domain = new Domain(kernels, key.domainPower, key.domainTables);
  const step = (name: string, after: readonly number[], count: number, run: (task: number) => void): TeamStep => ({
    name,
    after,
    count: () => count,
    run,
  });
  const chunks = (total: number): number => Math.ceil(total / CHUNK);
  const imports = step("import", [], chunks(key.wireCount), (task) => {
    const from = task * CHUNK;
    kernels.call(
      "fr_import_raw",
      elements + from * elementBytes,
      scalars + from * bytes,
      Math.min(CHUNK, key.wireCount - from),
    );
  });
  // Rows are summed slice by slice, so that the outer layers of the transform find the slice in the cache.
  const forEachRun = (slice: number, visit: (row: number) => void): void => {
    for (let row = slice * domain.sliceRun; row < size; row += domain.blockSize) visit(row);
  };
  const count = domain.sliceRun;
  const rows = step("rows", [0], domain.slices, (slice) => {
    forEachRun(slice, (row) => {
      const at = row * elementBytes;
      kernels.call("fr_sum_rows", a + at, key.rowsA.rows + 4 * row, count, key.rowsA.terms, key.coefficients, elements);
      kernels.call("fr_sum_rows", b + at, key.rowsB.rows + 4 * row, count, key.rowsB.terms, key.coefficients, elements);
      kernels.call("fr_mul_blocks", c + at, a + at, b + at, count / lanes);
    });
    for (const vector of vectors) domain.forwardSlice(vector, slice);
  });
  const transforms = step("transforms", [1], vectors.length * domain.blocks, (task) => {
    const vector = vectors[task % vectors.length] ?? 0,
      block = Math.floor(task / vectors.length);
    const at = block * domain.blockSize * elementBytes;
    domain.forwardBlock(vector, block);
    kernels.call("fr_mul_blocks", vector + at, vector + at, key.cosetScale + at, domain.blockSize / lanes);
    domain.backwardBlock(vector, block);
  });
  const join = step("join", [2], domain.slices, (slice) => {
    for (const vector of vectors) domain.backwardSlice(vector, slice);
    forEachRun(slice, (row) => {
      const at = row * elementBytes;
      kernels.call("fr_join", quotient + row * bytes, a + at, b + at, c + at, count / lanes);
    });
  });
  return [imports, rows, transforms, join];
}
