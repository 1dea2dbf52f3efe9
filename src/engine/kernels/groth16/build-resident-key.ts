/**
 * Builds a resident key (resident-key.ts) from the sections of a zkey. Runs once for each key; the memory is then only
 * read, but for its workspaces.
 */
import type { Arena } from "../wasm/arena.js";
import { vectorBytes, writeCosetScale, writeDomainTables } from "../ntt/domain.js";
import type { CurveParameters } from "../../curves/curve-parameters.js";
import { rootOfUnity } from "../../curves/curve-parameters.js";
import { inverse } from "../../field/prime-field.js";
import { LEVELLED_POINTS_MAX, ONE_LEVEL } from "../msm/window-plan.js";
import { CoefficientDictionary } from "./coefficient-dictionary.js";
import { NO_LEVELS, chooseTables } from "./key-tables.js";
import type { TablesRoom } from "./key-tables.js";
import { proveWorkspaceBytes } from "./proof-steps.js";
import { EXTRA_SCALARS } from "./resident-key.js";
import type { PointSection, ResidentKey, RowSection, SectionName } from "./resident-key.js";
import { TERM_BYTES } from "../ntt/quotient.js";
import { makeKeyMemory, sizingKernels } from "../threads/key-memory.js";
import type { KeyBytes, KeyMemoryOptions } from "../threads/key-memory.js";
import type { Kernels } from "../kernels.js";

/**
 * What a key is made from: counts and sections of a zkey, which its reader has checked. Points are in the form of zkey
 * files: affine, Montgomery form, little-endian, infinity as zeros.
 */
interface KeySource {
  readonly curve: CurveParameters;
  readonly wireCount: number;
  readonly publicCount: number;
  readonly domainPower: number;
  /** Entries of 44 bytes: matrix u32 (0 A, 1 B) || row u32 || wire u32 || coefficient * 2^512 mod r (32). */
  readonly coefficients: Uint8Array;
  readonly aPoints: Uint8Array;
  readonly b1Points: Uint8Array;
  readonly b2Points: Uint8Array;
  readonly cPoints: Uint8Array;
  readonly hPoints: Uint8Array;
  /** alpha, beta, delta in G1 and beta, delta in G2, in the same form. */
  readonly alphaG1: Uint8Array;
  readonly betaG1: Uint8Array;
  readonly deltaG1: Uint8Array;
  readonly betaG2: Uint8Array;
  readonly deltaG2: Uint8Array;
}

/** The header's points, flags and alignment. */
const SPARE_BYTES = 65_536;
const COEFFICIENT_ENTRY_BYTES = 44;
/** Points converted at a time: the raw bytes pass through a workspace. */
const CHUNK_POINTS = 4096;

/**
 * Builds the key in a new memory; the source is not needed afterwards. Takes about a second per million points.
 * @throws RangeError when the key does not fit into the 4 GiB that a WebAssembly memory can have, or its sections
 *   contradict each other.
 */
export function buildResidentKey(source: KeySource, options: Omit<KeyMemoryOptions, "curve">): ResidentKey {
  const { curve } = source;
  const numbered = numberCoefficients(source.coefficients);
  const sizing = sizingKernels({ ...options, curve });
  const tables = chooseTables(sizing, pointCounts(sizing, source), options.tableBytesMax ?? 0);
  const { kernels, arenas, ...places } = makeKeyMemory({ ...options, curve }, () =>
    groth16KeyBytes(sizing, { ...countsOf(source), distinctCount: numbered.dictionary.size, tables }),
  );
  const built = new KeyBuilder(kernels, arenas.key, arenas.scratch).build(
    { ...source, numbered, tables },
    places.workspaces.length + places.helperPlaces.length,
  );
  return { memory: kernels.memory, kind: kernels.kind, curve: curve.name, ...places, ...built };
}

/** What the bytes of a key follow from. */
interface KeyCounts {
  readonly wireCount: number;
  readonly domainPower: number;
  readonly termCount: number;
  /** Different coefficients of the terms; any number unless given. */
  readonly distinctCount?: number;
  /** Of the points in a zkey, in each group. */
  readonly g1Bytes: number;
  readonly g2Bytes: number;
  /** Multiples of the points; none unless given. */
  readonly tables?: TablesRoom | undefined;
}

/** Returns the bytes of a key, and of each of its places: all memory that proofs take. */
export function groth16KeyBytes(kernels: Kernels, counts: KeyCounts): KeyBytes {
  const { fq, fr, g1, g2 } = kernels;
  const { termCount, distinctCount = termCount, g1Bytes, g2Bytes, tables: multiples } = counts;
  const points = (g1Bytes / (2 * fq.bytes)) * (g1.pointBytes + 4) + (g2Bytes / (4 * fq.bytes)) * (g2.pointBytes + 4);
  const rows = 2 ** counts.domainPower;
  // Rows may be padded by one term each.
  const matrices = (termCount + 2 * rows) * TERM_BYTES + 2 * (rows + 1) * 4 + (distinctCount + 1) * fr.elementBytes;
  const tables = 2 * vectorBytes(kernels, counts.domainPower);
  const tableBytes = multiples === undefined ? 0 : multiples.bytes + multiples.scratchBytes;
  return {
    key: Math.ceil(points + tableBytes + matrices + tables) + SPARE_BYTES,
    ...proveWorkspaceBytes(kernels, counts),
  };
}

/** The coefficients as numbers, so that there is room for the different ones alone. */
interface NumberedSource extends KeySource {
  readonly numbered: { readonly dictionary: CoefficientDictionary; readonly numbers: Uint32Array };
  readonly tables: TablesRoom | undefined;
}

function numberCoefficients(entries: Uint8Array): NumberedSource["numbered"] {
  const dictionary = new CoefficientDictionary(entries);
  const numbers = new Uint32Array(entries.length / COEFFICIENT_ENTRY_BYTES);
  for (let i = 0; i < numbers.length; i += 1) numbers[i] = dictionary.numberOf(i * COEFFICIENT_ENTRY_BYTES + 12);
  return { dictionary, numbers };
}

function countsOf(source: KeySource): KeyCounts {
  const { wireCount, domainPower } = source;
  const sections = [source.aPoints, source.b1Points, source.cPoints, source.hPoints];
  return {
    wireCount,
    domainPower,
    termCount: source.coefficients.length / COEFFICIENT_ENTRY_BYTES,
    g1Bytes: sections.reduce((sum, each) => sum + each.length, 0),
    g2Bytes: source.b2Points.length,
  };
}

/**
 * Returns how many points each section will have, those that the header adds among them; none where it has too many
 * scalars for tables, whose lists would be long for a few points.
 */
function pointCounts({ fq }: Kernels, source: KeySource): Record<SectionName, number> {
  const [g1, g2] = [2 * fq.bytes, 4 * fq.bytes];
  const finite = (bytes: number, ...parts: readonly Uint8Array[]): number => {
    const scalarCount = parts.reduce((sum, part) => sum + part.length / bytes, 0);
    if (scalarCount > LEVELLED_POINTS_MAX) return 0;
    return parts.reduce((sum, part) => sum + countFinite(part, bytes), 0);
  };
  return {
    a: finite(g1, source.aPoints, source.alphaG1, source.deltaG1),
    b1: finite(g1, source.b1Points, source.betaG1, source.deltaG1),
    b2: finite(g2, source.b2Points, source.betaG2, source.deltaG2),
    c: finite(g1, source.cPoints),
    h: finite(g1, source.hPoints),
  };
}

type Built = Omit<ResidentKey, "memory" | "kind" | "curve" | "workspaces" | "helperPlaces" | "keyBytes">;

class KeyBuilder {
  readonly #kernels: Kernels;
  readonly #arena: Arena;
  readonly #scratch: Arena;

  constructor(kernels: Kernels, arena: Arena, scratch: Arena) {
    this.#kernels = kernels;
    this.#arena = arena;
    this.#scratch = scratch;
  }

  build(source: NumberedSource, placeCount: number): Built {
    const { wireCount, publicCount, domainPower } = source;
    const sections = this.#pointSections(source);
    const deltaG1 = this.#pointSection("g1", [source.deltaG1], [0]).points;
    const { rowsA, rowsB, coefficients } = this.#rowSections(source);
    const domainTables = this.#arena.take(vectorBytes(this.#kernels, domainPower));
    const cosetScale = this.#arena.take(vectorBytes(this.#kernels, domainPower));
    this.#scratch.scoped(() => {
      const scratch = this.#scratch.take(256);
      const root = rootOfUnity(this.#kernels.curve, domainPower + 1);
      writeDomainTables(this.#kernels, domainPower, { target: domainTables, scratch });
      writeCosetScale(this.#kernels, { log: domainPower, shift: root }, { target: cosetScale, scratch });
    });
    const workspaceFlags = this.#arena.take(4 * placeCount);
    this.#kernels.words(workspaceFlags, placeCount).fill(0);
    return {
      wireCount,
      publicCount,
      domainPower,
      ...sections,
      deltaG1,
      rowsA,
      rowsB,
      coefficients,
      domainTables,
      cosetScale,
      workspaceFlags,
      ...this.#takeTables(source.tables),
    };
  }

  /** Converts all points, with room for their multiples. */
  #pointSections(source: NumberedSource): Pick<ResidentKey, SectionName> {
    const { wireCount, publicCount, domainPower } = source;
    const { levels } = source.tables ?? { levels: NO_LEVELS };
    const extra = (name: keyof typeof EXTRA_SCALARS): number => wireCount + EXTRA_SCALARS[name];
    const wires = (count: number, first = 0): number[] => Array.from({ length: count }, (_, i) => first + i);
    const domainSize = 2 ** domainPower;
    const a = this.#pointSection(
      "g1",
      [source.aPoints, source.alphaG1, source.deltaG1],
      [...wires(wireCount), extra("one"), extra("r")],
      levels.a,
    );
    const b1 = this.#pointSection(
      "g1",
      [source.b1Points, source.betaG1, source.deltaG1],
      [...wires(wireCount), extra("one"), extra("s")],
      levels.b1,
    );
    const b2 = this.#pointSection(
      "g2",
      [source.b2Points, source.betaG2, source.deltaG2],
      [...wires(wireCount), extra("one"), extra("s")],
      levels.b2,
    );
    const c = this.#pointSection("g1", [source.cPoints], wires(wireCount - publicCount - 1, publicCount + 1), levels.c);
    // The inverse transform gives value i at place n - i.
    const h = this.#pointSection(
      "g1",
      [source.hPoints],
      wires(domainSize).map((i) => (domainSize - i) % domainSize),
      levels.h,
    );
    return { a, b1, b2, c, h };
  }

  /** Takes what the tables need beside the room behind the points. */
  #takeTables(room: TablesRoom | undefined): Pick<ResidentKey, "tables"> {
    if (room === undefined) return {};
    const state = this.#arena.take(4);
    this.#kernels.words(state, 1).fill(0);
    const start = this.#arena.take(room.scratchBytes);
    return { tables: { state, levels: room.levels, scratch: { start, end: start + room.scratchBytes } } };
  }

  /** Converts the finite points of the parts, one after the other; `indices` names the scalar of each. */
  #pointSection(
    group: "g1" | "g2",
    parts: readonly Uint8Array[],
    indices: readonly number[],
    levels = ONE_LEVEL,
  ): PointSection {
    const rawBytes = (group === "g1" ? 2 : 4) * this.#kernels.fq.bytes;
    const total = parts.reduce((sum, part) => sum + part.length / rawBytes, 0);
    if (total !== indices.length) throw new RangeError("a section of the key has a wrong length");
    const { pointBytes } = this.#kernels[group];
    const count = parts.reduce((sum, part) => sum + countFinite(part, rawBytes), 0);
    const points = this.#arena.take(Math.max(1, count * levels.count) * pointBytes);
    const used = new Uint32Array(count);
    this.#convertPoints(group, parts, indices, { points, used });
    if (used.every((index, i) => index === i)) return { points, indices: 0, count };
    const address = this.#arena.take(4 * count);
    this.#kernels.words(address, count).set(used);
    return { points, indices: address, count };
  }

  /** Writes the finite points of the parts to an address, and the number of each one's scalar to `used`. */
  #convertPoints(
    group: "g1" | "g2",
    parts: readonly Uint8Array[],
    indices: readonly number[],
    { points, used }: { readonly points: number; readonly used: Uint32Array },
  ): void {
    const rawBytes = (group === "g1" ? 2 : 4) * this.#kernels.fq.bytes;
    const { pointBytes } = this.#kernels[group];
    this.#scratch.scoped(() => {
      const raw = this.#scratch.take(CHUNK_POINTS * rawBytes);
      const bytes = this.#kernels.bytes(raw, CHUNK_POINTS * rawBytes);
      let converted = 0,
        held = 0,
        next = 0;
      const convert = (): void => {
        if (held > 0)
          this.#kernels.call(
            "fq_import_foreign",
            points + converted * pointBytes,
            raw,
            (held * rawBytes) / this.#kernels.fq.bytes,
          );
        converted += held;
        held = 0;
      };
      for (const part of parts) {
        for (let at = 0; at < part.length; at += rawBytes, next += 1) {
          if (isZero(part, at, rawBytes)) continue;
          bytes.set(part.subarray(at, at + rawBytes), held * rawBytes);
          used[converted + held] = indices[next] ?? 0;
          held += 1;
          if (held === CHUNK_POINTS) convert();
        }
      }
      convert();
    });
  }

  #rowSections(source: NumberedSource): { rowsA: RowSection; rowsB: RowSection; coefficients: number } {
    const { coefficients, numbered } = source;
    const { dictionary, numbers } = numbered;
    const view = new DataView(coefficients.buffer, coefficients.byteOffset, coefficients.byteLength);
    const address = this.#arena.take(dictionary.size * this.#kernels.fr.elementBytes);
    const rowsOf = (matrix: number): RowSection => this.#rowSection(view, numbers, matrix, 2 ** source.domainPower);
    const result = { rowsA: rowsOf(0), rowsB: rowsOf(1), coefficients: address };
    this.#writeCoefficients(address, dictionary.values());
    return result;
  }

  /** Counting sort of one matrix' entries by row; odd rows get a term with coefficient 0 when lanes go in pairs. */
  #rowSection(view: DataView, numbers: Uint32Array, matrix: number, rowCount: number): RowSection {
    const { lanes } = this.#kernels.fr;
    const lengths = new Uint32Array(rowCount);
    for (let i = 0; i < numbers.length; i += 1) {
      const at = i * COEFFICIENT_ENTRY_BYTES;
      if (view.getUint32(at, true) !== matrix) continue;
      const row = view.getUint32(at + 4, true);
      if (row >= rowCount) throw new RangeError("a coefficient lies outside the domain");
      lengths[row] = (lengths[row] ?? 0) + 1;
    }
    const starts = new Uint32Array(rowCount + 1);
    for (let row = 0; row < rowCount; row += 1)
      starts[row + 1] = (starts[row] ?? 0) + Math.ceil((lengths[row] ?? 0) / lanes) * lanes;
    const total = starts[rowCount] ?? 0;
    const rows = this.#arena.take(4 * (rowCount + 1));
    this.#kernels.words(rows, rowCount + 1).set(starts);
    const terms = this.#arena.take(total * TERM_BYTES);
    const words = this.#kernels.words(terms, 2 * total);
    // Padding is coefficient 0 (the dictionary's first) times wire 0.
    words.fill(0);
    for (let i = 0; i < numbers.length; i += 1) {
      const at = i * COEFFICIENT_ENTRY_BYTES;
      if (view.getUint32(at, true) !== matrix) continue;
      const row = view.getUint32(at + 4, true);
      const place = starts[row] ?? 0;
      starts[row] = place + 1;
      words.set([numbers[i] ?? 0, view.getUint32(at + 8, true)], 2 * place);
    }
    return { rows, terms };
  }

  /** Converts coefficients from the file's form, times 2^512, to the kernels' Montgomery form, times their radix. */
  #writeCoefficients(target: number, values: Uint8Array): void {
    const kernels = this.#kernels;
    const scratch = this.#scratch;
    const { fr } = kernels;
    const count = values.length / fr.bytes;
    const factor = inverse(2n ** 512n, kernels.curve.r);
    scratch.scoped(() => {
      const raw = scratch.take(CHUNK_POINTS * fr.bytes);
      const scale = scratch.take(256);
      kernels.writeInteger(scale, factor, fr.bytes);
      kernels.call("fr_import_plain", scale + 128, scale, 1);
      for (let from = 0; from < count; from += CHUNK_POINTS) {
        const chunk = values.subarray(from * fr.bytes, Math.min(count, from + CHUNK_POINTS) * fr.bytes);
        kernels.bytes(raw, chunk.length).set(chunk);
        kernels.call("fr_import_plain", target + from * fr.elementBytes, raw, chunk.length / fr.bytes);
      }
      kernels.call("fr_scale_elements", target, target, count, scale + 128);
    });
  }
}

function countFinite(points: Uint8Array, pointBytes: number): number {
  let count = 0;
  for (let at = 0; at < points.length; at += pointBytes) if (!isZero(points, at, pointBytes)) count += 1;
  return count;
}

/** Whether all bytes are 0, which a point at infinity is; most finite points differ in the first byte. */
function isZero(bytes: Uint8Array, from: number, count: number): boolean {
  for (let at = from; at < from + count; at += 1) if (bytes[at] !== 0) return false;
  return true;
}
