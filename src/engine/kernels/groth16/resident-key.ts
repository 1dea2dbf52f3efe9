/**
 * A Groth16 proving key in the form of the kernels, in one shared memory: points in the kernels' own form without the
 * infinite ones, the rows of A and B with their few distinct coefficients stored once, the tables of the domain, and a
 * workspace for each thread that proves or helps at the same time. It is built once per machine
 * (build-resident-key.ts) and opened by any number of threads (resident-prover.ts), which write to workspaces only.
 *
 * This file says where everything lies.
 */
import type { CurveName } from "../../curves/curve-parameters.js";
import type { PointLevels } from "../msm/window-plan.js";
import type { SharedKey } from "../threads/shared-key.js";

export type SectionName = "a" | "b1" | "b2" | "c" | "h";

/** The levels of each section's points. */
export type SectionLevels = Readonly<Record<SectionName, PointLevels>>;

/** Points of one multi-scalar multiplication. */
export interface PointSection {
  /** Address of `count` affine points, with room for their multiples behind them where the key has tables. */
  readonly points: number;
  /** Address of the number of each point's scalar, 32 bits each, or 0 when point i belongs to scalar i. */
  readonly indices: number;
  readonly count: number;
}

/** The rows of A or B, as `fr_sum_rows` takes them (ntt/quotient.ts). */
export interface RowSection {
  /** Address of 2^domainPower + 1 numbers of terms, 32 bits each: where each row begins, and the end. */
  readonly rows: number;
  /** Address of the terms. */
  readonly terms: number;
}

/** What a thread needs to open the key; it may be posted to one. Numbers are addresses, but for the counts. */
export interface ResidentKey extends SharedKey {
  readonly curve: CurveName;
  readonly wireCount: number;
  readonly publicCount: number;
  readonly a: PointSection;
  readonly b1: PointSection;
  readonly b2: PointSection;
  readonly c: PointSection;
  readonly h: PointSection;
  readonly deltaG1: number;
  readonly rowsA: RowSection;
  readonly rowsB: RowSection;
  readonly coefficients: number;
  readonly domainTables: number;
  readonly cosetScale: number;
  readonly tables?: ResidentTables;
}

/** Room for multiples of the points, which proofs use once they are there (key-tables.ts). */
interface ResidentTables extends NonNullable<SharedKey["tables"]> {
  readonly levels: SectionLevels;
  /** For the thread that writes them. */
  readonly scratch: { readonly start: number; readonly end: number };
}

/**
 * Scalars that follow the witness in a workspace, by their number after the last wire; the sections of a key refer to
 * them.
 */
export const EXTRA_SCALARS = { one: 0, r: 1, s: 2 } as const;
export const EXTRA_SCALAR_COUNT = 3;
