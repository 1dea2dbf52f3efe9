/**
 * Checks a powers-of-tau file in full, so that it may be used without trust in whoever handed it over: every point is
 * canonical, finite, on its curve and in the subgroup; the powers are those of one tau in both groups; Lagrange points
 * belong to the powers; and the contributions lead from the generators to the powers.
 *
 * Equations over many points are tested as one over sums with random weights of 128 bits (check-weights.ts). A point
 * outside the subgroup of the twist shows in the sums of the weights' windows: each is an independent random sum, and
 * one window misses such a point with probability 2^-13 at most, as no prime factor of the cofactor is below 10,069;
 * narrower windows of small files miss more each, and there are as many more of them.
 */
import { randomBytes } from "node:crypto";
import type { PairingKernels } from "../curves/curve-kernels.js";
import { decodeG1, decodeG2, equalG1, equalG2 } from "../curves/points.js";
import type { G1Point, G2Point } from "../curves/points.js";
import { FINDING, SLOT, SLOT_BYTES, SUM, cutSection, runCheckJobs } from "./check-jobs.js";
import type { CheckExecutor, CheckJob, CheckWork, SumJob } from "./check-jobs.js";
import { firstChallenge } from "./ceremony-challenge.js";
import { SEED_BYTES, firstWeight } from "./check-weights.js";
import { checkContributions } from "./contribution-checks.js";
import type { CurveName } from "../curves/curve-parameters.js";
import { readContributions } from "./contributions.js";
import type { Contribution } from "./contributions.js";
import { readLayout, sectionOf } from "./file-layout.js";
import type { PointSection, PowersOfTauLayout, RangeFile, SectionName } from "./file-layout.js";
import { PowersOfTauError } from "./powers-of-tau-error.js";
import type { PowersOfTauFault } from "./powers-of-tau-error.js";

/** What a file is that passed. */
export interface CheckedPowers {
  readonly curve: CurveName;
  readonly power: number;
  readonly ceremonyPower: number;
  readonly isPrepared: boolean;
  readonly contributions: readonly CheckedContribution[];
  /** The chain of contributions was verified from the first on; a file where that is impossible is refused. */
  readonly areContributionsChecked: true;
}

export interface CheckedContribution {
  readonly name: string | undefined;
  readonly isBeacon: boolean;
  /** 64 bytes in hex. */
  readonly responseHash: string;
}

export type CheckPowersResult =
  | { readonly ok: true; readonly value: CheckedPowers }
  | { readonly ok: false; readonly fault: PowersOfTauFault; readonly message: string };

interface CheckOptions {
  /** How the bulk is computed; on the calling thread by default. */
  readonly execute?: CheckExecutor;
  /** Called with the share that is done, 0 to 1, never decreasing. */
  readonly onProgress?: (share: number) => void;
}

/** The transforms of a larger file's weights do not fit the 4 GiB that a WebAssembly memory can have. */
export const CHECKED_POWER_MAX = 23;
/**
 * Checks a file; one that must not be used is a result, not an error. About 2 s for a prepared 2^16 on two threads.
 */
export async function checkPowersOfTau(
  file: RangeFile,
  pairing: PairingKernels,
  options: CheckOptions = {},
): Promise<CheckPowersResult> {
  try {
    return { ok: true, value: await check(file, pairing, options) };
  } catch (error) {
    if (error instanceof PowersOfTauError) return { ok: false, fault: error.fault, message: error.message };
    throw error;
  }
}

async function check(file: RangeFile, pairing: PairingKernels, options: CheckOptions): Promise<CheckedPowers> {
  const layout = readLayout(file);
  const { curve, power, ceremonyPower } = layout;
  if (power > CHECKED_POWER_MAX)
    throw new PowersOfTauError("power_unsupported", `files are taken up to 2^${CHECKED_POWER_MAX}`);
  const bytes = new Uint8Array(layout.contributions.size);
  file.read(bytes, layout.contributions.offset);
  const contributions = readContributions(bytes, curve);
  const heads = readHeads(file, layout);
  checkHeads(pairing, heads, contributions);
  const challenge = firstChallenge(curve, ceremonyPower);
  // Otherwise a file could name a larger ceremony than its own, and its contributions would pass unseen.
  if (challenge === undefined)
    throw new PowersOfTauError("power_unsupported", `the start of a ceremony of 2^${ceremonyPower} is not known`);
  checkContributions(pairing, contributions, challenge);

  const work = planWork(layout, contributions);
  let done = 0;
  const execute: CheckExecutor = options.execute ?? runInline(file);
  await execute(work, () => {
    done += 1;
    options.onProgress?.(done / work.jobs.length);
  });
  new Verdict(pairing, layout, work).check(heads, contributions);
  return {
    curve: curve.name,
    power,
    ceremonyPower,
    isPrepared: layout.isPrepared,
    contributions: contributions.map(({ name, beacon, responseHash }) => ({
      name,
      isBeacon: beacon !== undefined,
      responseHash: Buffer.from(responseHash).toString("hex"),
    })),
    areContributionsChecked: true,
  };
}

function runInline(file: RangeFile): CheckExecutor {
  return (work, onJob) => {
    runCheckJobs(file, work, onJob);
    return Promise.resolve();
  };
}

/** The points on which everything else stands, read by themselves. */
interface Heads {
  readonly tauG1: G1Point;
  readonly tauG2: G2Point;
  readonly alphaG1: G1Point;
  readonly betaG1: G1Point;
  readonly betaG2: G2Point;
  /** tau^n in G1. */
  readonly tauToN: G1Point;
  /** tau^(n - 1) in G2; undefined where it is no point, which the check of all points names. */
  readonly lastG2: G2Point | undefined;
}

function readHeads(file: RangeFile, layout: PowersOfTauLayout): Heads {
  const { curve } = layout;
  const read = (name: SectionName, index: number): Uint8Array => {
    const section = required(layout, name);
    const bytes = new Uint8Array(section.pointBytes);
    file.read(bytes, section.offset + index * section.pointBytes);
    return bytes;
  };
  const g1 = (name: SectionName, index: number): G1Point => {
    const point = decodeG1(read(name, index), 0, curve);
    if (point === undefined) throw notOnCurve(name, index);
    return point;
  };
  const g2 = (name: SectionName, index: number): G2Point => {
    const point = decodeG2(read(name, index), 0, curve);
    if (point === undefined) throw notOnCurve(name, index);
    return point;
  };
  if (!equalG1(g1("tauG1", 0), curve.generatorG1) || !equalG2(g2("tauG2", 0), curve.generatorG2))
    throw new PowersOfTauError("generator_missing", "the powers do not begin with the generator");
  return {
    tauG1: g1("tauG1", 1),
    tauG2: g2("tauG2", 1),
    alphaG1: g1("alphaTauG1", 0),
    betaG1: g1("betaTauG1", 0),
    betaG2: g2("betaG2", 0),
    tauToN: g1("tauG1", 2 ** layout.power),
    lastG2: decodeG2(read("tauG2", 2 ** layout.power - 1), 0, curve),
  };
}

/** That no secret is 1, which everyone knows, that tau is no root of unity, and that the contributions end here. */
function checkHeads(pairing: PairingKernels, heads: Heads, contributions: readonly Contribution[]): void {
  const { generatorG1 } = pairing.curve;
  for (const [name, point] of [
    ["tau", heads.tauG1],
    ["alpha", heads.alphaG1],
    ["beta", heads.betaG1],
  ] as const) {
    if (equalG1(point, generatorG1)) throw new PowersOfTauError("secret_trivial", `${name} is 1, which everyone knows`);
  }
  if (equalG1(heads.tauToN, generatorG1))
    throw new PowersOfTauError("secret_trivial", "tau is a point of the domain, where Lagrange polynomials vanish");
  if (!pairing.areInSubgroupG2([heads.tauG2, heads.betaG2]).every((isInside) => isInside))
    throw new PowersOfTauError("point_outside_subgroup", "tau or beta is outside the subgroup G2");
  const last = contributions.at(-1)?.points;
  const areSame =
    last !== undefined &&
    equalG1(last.tauG1, heads.tauG1) &&
    equalG2(last.tauG2, heads.tauG2) &&
    equalG1(last.alphaG1, heads.alphaG1) &&
    equalG1(last.betaG1, heads.betaG1) &&
    equalG2(last.betaG2, heads.betaG2);
  if (!areSame)
    throw new PowersOfTauError("contribution_invalid", "the last contribution does not lead to the powers of the file");
}

/**
 * The challenge first, because one thread hashes it all, and what others wait for; then G2, whose jobs are the longest.
 */
function planWork(layout: PowersOfTauLayout, contributions: readonly Contribution[]): CheckWork {
  const seed = Uint8Array.from(randomBytes(SEED_BYTES));
  const last = contributions.at(-1);
  const challenge: CheckJob[] =
    layout.power === layout.ceremonyPower && last !== undefined
      ? [{ kind: "challenge", responseHash: last.responseHash, sections: plainSections(layout) }]
      : [];
  const sums = layout.points
    .toSorted((a, b) => b.group.localeCompare(a.group))
    .flatMap((section) => (section.name === "betaG2" ? [] : cutIntoJobs(section, layout)));
  const coefficients: CheckJob[] = layout.isPrepared ? [{ kind: "coefficients", power: layout.power }] : [];
  const jobs = [...challenge, ...coefficients, ...sums];
  return {
    curve: layout.curve,
    jobs,
    seed,
    coefficients: layout.isPrepared
      ? {
          scalars: new SharedArrayBuffer(2 ** (layout.power + 1) * layout.curve.frBytes),
          flag: new SharedArrayBuffer(4),
        }
      : undefined,
    results: new SharedArrayBuffer(jobs.length * SLOT_BYTES),
    next: new SharedArrayBuffer(4),
  };
}

/** The first points of a section of G1 that are compared with all those of one of G2 have jobs of their own. */
function cutIntoJobs(section: PointSection, layout: PowersOfTauLayout): CheckJob[] {
  const plain = { isShifted: false, isCombined: false };
  const { count: end, name } = section;
  const size = 2 ** layout.power;
  switch (name) {
    case "tauG1":
      return [
        ...cutSection(section, { begin: 0, end: size, isShifted: true, isCombined: true }),
        // Weighed as the powers by which tau^(n - 1) must be multiplied to give them.
        ...cutSection(section, { begin: size, end, firstWeight: 1, isShifted: false, isCombined: true }),
      ];
    case "lagrangeTauG1": {
      const begin = required(layout, "lagrangeTauG2").count;
      return [
        ...cutSection(section, { begin: 0, end: begin, ...plain }),
        ...cutSection(section, { begin, end, ...plain }),
      ];
    }
    default:
      return cutSection(section, { begin: 0, end, ...plain });
  }
}

function plainSections(layout: PowersOfTauLayout): PointSection[] {
  return layout.points.filter(({ name }) => !name.startsWith("lagrange"));
}

/** Reads the jobs' results and decides. */
class Verdict {
  readonly #pairing: PairingKernels;
  readonly #layout: PowersOfTauLayout;
  readonly #work: CheckWork;

  constructor(pairing: PairingKernels, layout: PowersOfTauLayout, work: CheckWork) {
    this.#pairing = pairing;
    this.#layout = layout;
    this.#work = work;
  }

  check(heads: Heads, contributions: readonly Contribution[]): void {
    this.#checkPoints();
    const areAllDone = this.#work.jobs.every((_, i) => this.#headOf(i).finding === FINDING.sound);
    if (!areAllDone) throw new Error("a part of the check did not run");
    this.#checkPowers(heads);
    this.#checkLagrange(heads);
    for (const [i, job] of this.#work.jobs.entries()) {
      const challenge = contributions.at(-1)?.nextChallenge;
      if (job.kind !== "challenge" || challenge === undefined) continue;
      const hash = new Uint8Array(this.#work.results, i * SLOT_BYTES + SLOT.points, challenge.length);
      if (Buffer.compare(hash, challenge) !== 0)
        throw new PowersOfTauError(
          "challenge_inconsistent",
          "the last contribution names the hash of other powers than those of the file",
        );
    }
  }

  #checkPoints(): void {
    for (const [i, job] of this.#work.jobs.entries()) {
      if (job.kind !== "sums") continue;
      const { finding, index, windows } = this.#headOf(i);
      const { name, group } = job.section;
      if (finding === FINDING.not_canonical)
        throw new PowersOfTauError("point_not_canonical", `point ${index} of ${name} is not below the curve's prime`);
      if (finding === FINDING.infinity)
        throw new PowersOfTauError("point_at_infinity", `point ${index} of ${name} is infinity`);
      if (finding === FINDING.not_on_curve) throw notOnCurve(name, index);
      if (group === "g1" || windows === 0) continue;
      const sums = Array.from({ length: windows }, (_, w) => this.#sumG2(i, SUM.windows + w)).flatMap((sum) =>
        sum === undefined ? [] : [sum],
      );
      if (!this.#pairing.areInSubgroupG2(sums).every((isInside) => isInside))
        throw new PowersOfTauError("point_outside_subgroup", `a point of ${name} is outside the subgroup G2`);
    }
  }

  /**
   * The lower half of the powers of G1 by their shifted sums, and all others by those: the same weights give sums that
   * differ by a power of tau, by alpha, by beta or by the group alone.
   */
  #checkPowers(heads: Heads): void {
    const { generatorG1, generatorG2 } = this.#pairing.curve;
    const size = required(this.#layout, "tauG2").count;
    const lower = this.#totalG1("tauG1", SUM.weighted, { until: size });
    const shifted = this.#totalG1("tauG1", SUM.shifted, { until: size });
    const upper = this.#totalG1("tauG1", SUM.weighted, { from: size });
    const withoutFirst = this.#pairing.combineG1([
      { point: lower, scalar: 1n },
      { point: generatorG1, scalar: this.#pairing.curve.r - firstWeight(this.#work.seed) },
    ]);
    if (!this.#equalProducts([{ g1: lower, g2: heads.tauG2 }], [{ g1: shifted, g2: generatorG2 }]))
      throw new PowersOfTauError("powers_inconsistent", "the points of tauG1 are not powers of one tau");
    if (!this.#isTimes({ factor: generatorG1, of: "tauG2", is: "tauG1" }))
      throw new PowersOfTauError("powers_inconsistent", "the points of tauG2 are not powers of the tau of tauG1");
    if (heads.lastG2 === undefined) throw notOnCurve("tauG2", size - 1);
    if (!this.#equalProducts([{ g1: withoutFirst, g2: heads.lastG2 }], [{ g1: upper, g2: generatorG2 }]))
      throw new PowersOfTauError("powers_inconsistent", "the points of tauG1 are not powers of one tau");
    for (const [name, factor] of [
      ["alphaTauG1", heads.alphaG1],
      ["betaTauG1", heads.betaG1],
    ] as const)
      if (!this.#isTimes({ factor, of: "tauG2", is: name }))
        throw new PowersOfTauError("powers_inconsistent", `the points of ${name} are not powers of one tau`);
    if (!this.#equalProducts([{ g1: heads.betaG1, g2: generatorG2 }], [{ g1: generatorG1, g2: heads.betaG2 }]))
      throw new PowersOfTauError("beta_inconsistent", "beta differs between G1 and G2");
  }

  /** The Lagrange points of G1 by the powers' coefficients, and all others by those. */
  #checkLagrange(heads: Heads): void {
    if (!this.#layout.isPrepared) return;
    const [own, expected] = [this.#totalG1("lagrangeTauG1", SUM.weighted), this.#totalG1("tauG1", SUM.combined)];
    const isSound = own === undefined || expected === undefined ? own === expected : equalG1(own, expected);
    if (!isSound) throw notLagrangeOf("lagrangeTauG1", "tauG1");
    const of = "lagrangeTauG2";
    for (const [is, powers, factor] of [
      ["lagrangeTauG1", "tauG2", this.#pairing.curve.generatorG1],
      ["lagrangeAlphaTauG1", "alphaTauG1", heads.alphaG1],
      ["lagrangeBetaTauG1", "betaTauG1", heads.betaG1],
    ] as const)
      if (!this.#isTimes({ factor, of, is })) throw notLagrangeOf(is === "lagrangeTauG1" ? of : is, powers);
  }

  /** Tells whether the points of a section of G1 are a factor, given as a point of G1, times those of one of G2. */
  #isTimes({
    factor,
    of,
    is,
  }: {
    readonly factor: G1Point;
    readonly of: SectionName;
    readonly is: SectionName;
  }): boolean {
    const until = required(this.#layout, of).count;
    return this.#equalProducts(
      this.#sumsG2(of, SUM.weighted).map((g2) => ({ g1: factor, g2 })),
      [{ g1: this.#totalG1(is, SUM.weighted, { until }), g2: this.#pairing.curve.generatorG2 }],
    );
  }

  /** Tells whether two products of pairings are equal; a pairing with infinity is one. */
  #equalProducts(left: readonly Term[], right: readonly Term[]): boolean {
    const product = (terms: readonly Term[]) => {
      const { generatorG1, generatorG2, q } = this.#pairing.curve;
      const one = [
        { g1: generatorG1, g2: generatorG2 },
        { g1: { x: generatorG1.x, y: q - generatorG1.y }, g2: generatorG2 },
      ];
      const finite = terms.flatMap(({ g1, g2 }) => (g1 === undefined ? [] : [{ g1, g2 }]));
      return this.#pairing.pairingProduct(finite.length === 0 ? one : finite);
    };
    return this.#pairing.equalPairingValues(product(left), product(right));
  }

  /** Returns the sum over the points of a section, or over some of them; jobs begin with `from` and with `until`. */
  #totalG1(
    name: SectionName,
    sum: number,
    { from = 0, until = Infinity }: { readonly from?: number; readonly until?: number } = {},
  ): G1Point | undefined {
    const jobs = this.#jobsOf(name).filter(({ job: { first } }) => first >= from && first < until);
    return this.#pairing.combineG1(jobs.map(({ i }) => ({ point: this.#sumG1(i, sum), scalar: 1n })));
  }

  #sumsG2(name: SectionName, sum: number): G2Point[] {
    return this.#jobsOf(name).flatMap(({ i }) => {
      const point = this.#sumG2(i, sum);
      return point === undefined ? [] : [point];
    });
  }

  #jobsOf(name: SectionName): { readonly i: number; readonly job: SumJob }[] {
    return this.#work.jobs.flatMap((job, i) => (job.kind === "sums" && job.section.name === name ? [{ i, job }] : []));
  }

  #headOf(job: number): { readonly finding: number; readonly index: number; readonly windows: number } {
    const [finding = 0, index = 0, windows = 0] = new Uint32Array(this.#work.results, job * SLOT_BYTES, 3);
    return { finding, index, windows };
  }

  #sumG1(job: number, sum: number): G1Point | undefined {
    return decodeG1(this.#bytesOf(job, sum), 0, this.#pairing.curve);
  }

  #sumG2(job: number, sum: number): G2Point | undefined {
    return decodeG2(this.#bytesOf(job, sum), 0, this.#pairing.curve);
  }

  #bytesOf(job: number, sum: number): Uint8Array {
    const pointBytes = 4 * this.#pairing.curve.fqBytes;
    return new Uint8Array(this.#work.results, job * SLOT_BYTES + SLOT.points + sum * pointBytes, pointBytes);
  }
}

interface Term {
  readonly g1: G1Point | undefined;
  readonly g2: G2Point;
}

function required(layout: PowersOfTauLayout, name: SectionName): PointSection {
  const section = sectionOf(layout, name);
  if (section === undefined) throw new RangeError(`the layout has no section ${name}`);
  return section;
}

function notLagrangeOf(lagrange: SectionName, powers: SectionName): PowersOfTauError {
  return new PowersOfTauError("lagrange_inconsistent", `the points of ${lagrange} do not belong to ${powers}`);
}

function notOnCurve(name: SectionName, index: number): PowersOfTauError {
  return new PowersOfTauError("point_not_on_curve", `point ${index} of ${name} is not on its curve`);
}
