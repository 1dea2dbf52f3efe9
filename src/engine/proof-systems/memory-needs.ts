/**
 * What keys and proofs of a circuit will take of memory, told from its counts before anything starts. All numbers are
 * upper bounds of what the code allocates, in plain arithmetic that the main thread can do; a test compares them with
 * the layouts of the kernels. What is only reserved, and touched by rare witnesses, counts as well.
 */
import { availableParallelism } from "node:os";
import type { CircuitInterface } from "../circuit/interface.js";
import type { R1csHeader } from "../circuit/r1cs.js";
import type { CurveName } from "../curves/curve-parameters.js";
import { PROOF_SYSTEMS } from "./names.js";
import type { ProofSystemName } from "./names.js";
import type { OpenKeyRoom } from "../protocol.js";

/** What the memory follows from. */
export interface CircuitCounts {
  readonly constraintCount: number;
  readonly wireCount: number;
  readonly publicCount: number;
  /** Terms of all three matrices. */
  readonly termCount: number;
  readonly r1csBytes: number;
}

/** Bytes, of which each is an upper bound. */
export interface MemoryNeeds {
  /** Rows of the domain, as a power of two. */
  readonly domainPower: number;
  /** The process that makes the key. */
  readonly setup: number;
  /** The process that runs the gates on the stored key. */
  readonly gates: number;
  /** The file of the proving key. */
  readonly keyFile: number;
  /** An open key without its workspaces: in the memory of the kernels, and what may lie beside it in sections. */
  readonly key: number;
  readonly sections: number;
  /** One thread's workspace of an open key, and what a thread takes that only helps. */
  readonly workspace: number;
  readonly helper: number;
  /** What tables of multiples of its points take. */
  readonly tables: TableNeeds;
}

/** Bytes, all 0 where a scheme has no tables. */
interface TableNeeds {
  /** All that pay. */
  readonly multiples: number;
  /** For the thread that writes them. */
  readonly scratch: number;
  /** What each workspace, and each thread that only helps, takes more with them. */
  readonly place: number;
}

/** Bytes by curve: points and elements as the kernels keep them, and coordinates as files do. */
interface CurveBytes {
  readonly g1: number;
  readonly g2: number;
  readonly element: number;
  readonly fq: number;
  /** Scratch of a multi-scalar multiplication beside that for each point: the buckets of the widest windows. */
  readonly buckets: number;
}

const MIB = 1024 ** 2;
const SCALAR = 32;
const CURVE_BYTES: Readonly<Record<CurveName, CurveBytes>> = {
  BN254: { g1: 80, g2: 160, element: 40, fq: 32, buckets: 52 * MIB },
  BLS12_381: { g1: 128, g2: 256, element: 48, fq: 48, buckets: 76 * MIB },
};
/** Lists of a multi-scalar multiplication for each point: 17 windows of 16 bits, half as many again, and indices. */
const SUM_LISTS = 66;
/** Scratch of it for each point: its word, and a share in the slices of large buckets. */
const SUM_SCRATCH = 5;
/** Tables: multiples of each point, at most, and the points of a sum that has some (kernels/msm/window-plan.ts). */
const LEVELS = 8;
const LEVELLED_POINTS = 16_384;
const LEVELLED_WIRE_SECTIONS_G1 = 3;
const EXTRA_POINTS = 2;
const NO_TABLES: TableNeeds = { multiples: 0, scratch: 0, place: 0 };
const TABLE_SCRATCH = 2 * 1024 ** 2;
/** Single values and alignment. */
const SPARE = 4 * MIB;
/** A Node process with the code and ffjavascript's program; and a thread of a setup with the generators' tables. */
const PROCESS = 384 * MIB;
const SETUP_THREAD = 96 * MIB;
/** More than the points, in both groups and by three lists, and the terms of a row with a few of them. */
const PHASE1_ROW = 4096;
/** Threads of a setup's process at most. */
export const SETUP_THREADS_MAX = 8;
/** Terms of the constraint system as a file: wire and coefficient. */
const TERM = 36;
const ZKEY_TERM = 44;
/** Bytes for each row of an FFLONK domain: its polynomials are opened together, as one of nine times the length. */
const FFLONK_KEY_ROW = 2_740;
const FFLONK_WORKSPACE_ROW = 3_250;
/** A file's bytes for each row beside the coefficients and values of its polynomials, and with maps and additions. */
const FFLONK_FILE_ROW = 832;
const FFLONK_FILE_MAPS = 90;
const FFLONK_FILE_POLYNOMIALS = 8;
const FFLONK_VALUES = 5;
const FFLONK_POWERS = 9;
/** The least powers of two that circuits have rows for. */
const DOMAIN_POWER_MIN = 1;
/** Vectors of a PLONK key: circuit, permutation and domain; then those of its four cosets. */
const PLONK_TABLES = 12;
const PLONK_COSETS = 44;
const PLONK_PROOF_VECTORS = 13;
const PLONK_SCRATCH_VECTORS = 6;

/** Polynomials of snarkjs' file beside those of the public signals, each with its coefficients and four values. */
const PLONK_FILE_POLYNOMIALS = 8;
const PLONK_VALUES = 5;
/** One that is written, and those before it that are not collected yet. */
const PLONK_PIECES = 3;
/** Bytes of the process that reads an import, for each byte of its files. */
const IMPORT_TIMES = 5;

/** Returns the counts of a constraint system from its header and the length of its file. */
export function circuitCounts(
  header: Pick<R1csHeader, "constraintCount" | "wireCount" | "outputCount" | "publicInputCount">,
  r1csBytes: number,
): CircuitCounts {
  const { constraintCount, wireCount, outputCount, publicInputCount } = header;
  const terms = Math.ceil((r1csBytes - 12 * constraintCount - 8 * wireCount) / TERM);
  return {
    constraintCount,
    wireCount,
    publicCount: outputCount + publicInputCount,
    termCount: Math.max(0, terms),
    r1csBytes,
  };
}

/**
 * Returns what a circuit takes.
 * @param domainPower of the universal systems, whose gates are counted only while the key is made; by default the
 *   least that the constraints can have
 */
export function memoryNeeds(
  name: ProofSystemName,
  counts: CircuitCounts,
  domainPower: number = leastDomainPower(name, counts),
): MemoryNeeds {
  const { scheme, curve } = PROOF_SYSTEMS[name];
  const of = { counts, bytes: CURVE_BYTES[curve], rows: 2 ** domainPower };
  const needs = { groth16: groth16Needs, plonk: plonkNeeds, fflonk: fflonkNeeds }[scheme](of);
  return { domainPower, ...needs };
}

/**
 * Returns what a key takes whose file is there, and proofs with it.
 * @param files.keyBytes length of the key's file, from which the terms or the domain are told
 */
export function storedKeyNeeds(
  name: ProofSystemName,
  circuit: Pick<CircuitInterface, "constraintCount" | "wireCount" | "outputCount" | "publicInputCount">,
  { keyBytes, r1csBytes }: { readonly keyBytes: number; readonly r1csBytes?: number },
): MemoryNeeds {
  const { scheme, curve } = PROOF_SYSTEMS[name];
  const { fq } = CURVE_BYTES[curve];
  const { constraintCount, wireCount } = circuit;
  const publicCount = circuit.outputCount + circuit.publicInputCount;
  const counts = { constraintCount, wireCount, publicCount, termCount: 0, r1csBytes: 0 };
  const least = leastDomainPower(name, counts);
  if (scheme === "groth16") {
    const terms = (keyBytes - wireCount * 10 * fq - 2 ** least * 2 * fq) / ZKEY_TERM;
    const termCount = Math.max(0, Math.ceil(terms));
    return memoryNeeds(name, { ...counts, termCount, r1csBytes: r1csBytes ?? TERM * termCount });
  }
  const row = scheme === "plonk" ? 4 * fq : fflonkFileRow(publicCount);
  const power = Math.max(least, Math.floor(Math.log2(Math.max(1, keyBytes / row))));
  return memoryNeeds(name, { ...counts, termCount: 5 * 2 ** power, r1csBytes: r1csBytes ?? 0 }, power);
}

/**
 * Returns what the process of a Groth16 setup or its gates takes beside the rest where phase 1 comes from a string: the
 * points of four lists, twice while they are transformed, and the terms of the rows.
 */
export function phase1Bytes(domainPower: number): number {
  return PHASE1_ROW * 2 ** domainPower;
}

/**
 * Returns what the process takes that reads files from outside: each as it is, parsed, and what is made of it again.
 * Measured with Groth16 a key of 2^18 constraints takes 1 GB, of 0.17 GB in files.
 * @param fileBytes of all files together
 */
export function importBytes(fileBytes: number): number {
  return PROCESS + IMPORT_TIMES * fileBytes;
}

/**
 * Returns what the process takes that writes a stored PLONK key as snarkjs' file, and the length of the file at most:
 * what opens the key, and the longest pieces, which are one polynomial with its values, and the additions.
 */
export function exportNeeds(
  name: ProofSystemName,
  circuit: Parameters<typeof storedKeyNeeds>[1],
  { keyBytes }: { readonly keyBytes: number },
): { readonly bytes: number; readonly file: number; readonly domainPower: number } {
  const { fq } = CURVE_BYTES[PROOF_SYSTEMS[name].curve];
  const needs = storedKeyNeeds(name, circuit, { keyBytes });
  const polynomials = PLONK_FILE_POLYNOMIALS + Math.max(1, circuit.outputCount + circuit.publicInputCount);
  const row = PLONK_VALUES * polynomials * SCALAR + 2 * fq;
  // Additions and maps are not longer than the key that they are read from.
  const file = 2 ** needs.domainPower * row + 2 * keyBytes;
  const pieces = PLONK_PIECES * (2 ** needs.domainPower * PLONK_VALUES * SCALAR + keyBytes);
  return { bytes: needs.gates + pieces, file, domainPower: needs.domainPower };
}

/** Returns what the process takes that makes a reference string for development. */
export function referenceStringNeeds(
  curve: CurveName,
  power: number,
): { readonly bytes: number; readonly file: number } {
  const points = 2 ** (power + 2);
  const pointBytes = 2 * CURVE_BYTES[curve].fq;
  const file = points * pointBytes + MIB;
  // Scalars, points, both bases apart, the file; then sums over one basis with weights.
  const sums = (points / 2) * (CURVE_BYTES[curve].g1 + SUM_LISTS + SUM_SCRATCH + 2 * SCALAR);
  return { bytes: PROCESS + setupThreads() + points * SCALAR + 3 * file + sums, file };
}

/** Returns the bytes of an open key with some workspaces, threads that only help, and tables. */
export function openKeyBytes(
  { key, sections, workspace, helper, tables }: MemoryNeeds,
  { workspaces, helpers = 0, tableBytesMax = 0 }: OpenKeyRoom,
): number {
  const { multiples, scratch, place } = tableBytesMax === 0 ? NO_TABLES : tables;
  const tableBytes = Math.min(multiples, tableBytesMax) + scratch;
  return key + sections + tableBytes + workspaces * (workspace + place) + helpers * (helper + place);
}

interface Sized {
  readonly counts: CircuitCounts;
  readonly bytes: CurveBytes;
  readonly rows: number;
}

type Needs = Omit<MemoryNeeds, "domainPower">;

/** One row for each constraint and public signal, and in Groth16 one for the constant. */
function leastDomainPower(name: ProofSystemName, { constraintCount, publicCount }: CircuitCounts): number {
  const rows = constraintCount + publicCount + (PROOF_SYSTEMS[name].scheme === "groth16" ? 1 : 0);
  return Math.max(DOMAIN_POWER_MIN, Math.ceil(Math.log2(Math.max(1, rows))));
}

function groth16Needs({ counts, bytes, rows }: Sized): Needs {
  const { wireCount: wires, termCount: terms, r1csBytes } = counts;
  const { g1, g2, element, fq, buckets } = bytes;
  const keyFile = wires * 10 * fq + rows * 2 * fq + (terms + counts.publicCount) * ZKEY_TERM + MIB;
  const points = (3 * wires + rows) * (g1 + 4) + wires * (g2 + 4);
  const key = points + (terms + counts.publicCount) * (8 + element) + rows * (24 + 2 * element) + SPARE;
  const shared = Math.max(element * (wires + 3 * rows), SUM_LISTS * rows) + 4 * SUM_LISTS * wires;
  const helper = SUM_SCRATCH * Math.max(wires, rows) + buckets;
  const workspace = SCALAR * (wires + rows) + shared + helper;
  // The polynomials at the secret point, and the reference's copies of what it adds up.
  const scalars = 10 * SCALAR * (wires + rows);
  const read = PROCESS + 2 * r1csBytes + keyFile + terms * ZKEY_TERM + scalars;
  return {
    setup: read + setupThreads() + key + workspace,
    gates: read + scalars,
    keyFile,
    key,
    sections: 0,
    workspace,
    helper,
    tables: tableNeeds(wires, rows, bytes),
  };
}

/** Of each sum that is short enough, with what the header adds to the wires. */
function tableNeeds(wires: number, rows: number, { g1, g2 }: CurveBytes): TableNeeds {
  const [wirePoints, rowPoints] = [wires, rows].map((count) =>
    count > LEVELLED_POINTS ? 0 : count + EXTRA_POINTS,
  ) as [number, number];
  if (wirePoints + rowPoints === 0) return NO_TABLES;
  const multiples = (LEVELS - 1) * (wirePoints * (LEVELLED_WIRE_SECTIONS_G1 * g1 + g2) + rowPoints * g1);
  const sources = 4 * (wirePoints * (LEVELLED_WIRE_SECTIONS_G1 + 1) + rowPoints);
  const place = LEVELS * (sources + SUM_SCRATCH * Math.max(wirePoints, rowPoints));
  return { multiples, scratch: TABLE_SCRATCH, place };
}

function plonkNeeds({ counts, bytes, rows }: Sized): Needs {
  const { wireCount: wires, termCount: terms, r1csBytes } = counts;
  const { g1, element, fq, buckets } = bytes;
  const vector = rows * element;
  const points = 4 * fq * rows;
  const gates = 48 * rows + SCALAR * Math.min(terms, 5 * rows);
  const keyFile = points + gates + MIB;
  const key = PLONK_TABLES * vector + rows * (2 * g1 + 32) + (element / SCALAR) * gates + SPARE;
  const sections = PLONK_COSETS * vector + SPARE;
  // Wires may be twice as many as in the constraint system: sums of many terms are cut.
  const allWires = Math.max(wires, rows);
  const helper = Math.max(PLONK_SCRATCH_VECTORS * vector, SUM_SCRATCH * rows) + buckets;
  const shared = 3 * (SUM_LISTS + SCALAR) * rows + (SCALAR + element) * allWires + PLONK_PROOF_VECTORS * vector;
  const workspace = shared + helper;
  // Gates as arrays, and once more as JavaScript's integers while they are counted.
  const read = PROCESS + 2 * r1csBytes + 2 * points + keyFile + 4 * gates;
  const commit = key + (SUM_LISTS + SCALAR + SUM_SCRATCH) * rows + 5 * vector;
  return {
    setup: read + commit,
    gates: read + key + sections + workspace,
    ...{ keyFile, key, sections, workspace, helper, tables: NO_TABLES },
  };
}

function fflonkFileRow(publicCount: number): number {
  return FFLONK_FILE_ROW + FFLONK_VALUES * SCALAR * (FFLONK_FILE_POLYNOMIALS + Math.max(1, publicCount));
}

/** Threads of a setup, each with tables of its own. */
function setupThreads(): number {
  return Math.min(availableParallelism(), SETUP_THREADS_MAX) * SETUP_THREAD;
}

function fflonkNeeds({ counts, rows }: Sized): Needs {
  const key = rows * FFLONK_KEY_ROW + SPARE;
  const workspace = rows * FFLONK_WORKSPACE_ROW + CURVE_BYTES.BN254.buckets;
  const keyFile = rows * (fflonkFileRow(counts.publicCount) + FFLONK_FILE_MAPS) + MIB;
  const points = 2 * FFLONK_POWERS * CURVE_BYTES.BN254.fq * rows;
  const read = PROCESS + 2 * counts.r1csBytes + points + 2 * keyFile + 200 * rows;
  const setup = read + key + workspace;
  return { setup, gates: setup, keyFile, key, sections: 0, workspace, helper: workspace, tables: NO_TABLES };
}
