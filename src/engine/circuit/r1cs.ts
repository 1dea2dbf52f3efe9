/**
 * Reads a rank-1 constraint system from its file into flat typed arrays, so that 60,000 constraints cost megabytes and
 * not a million objects. Trusts no length, index or coefficient of the file. Format: iden3 "R1CS binary format" version
 * 1 (r1csfile repository).
 *
 *   "r1cs" || version u32 = 1 || sections u32 || { type u32 || bytes u64 || content } ...
 *
 * All integers are little-endian.
 */

/** Sparse rows, one per constraint: terms rowOffsets[i] .. rowOffsets[i + 1] - 1 belong to constraint i. */
export interface R1csMatrix {
  readonly rowOffsets: Uint32Array;
  /** Wire of each term. */
  readonly wires: Uint32Array;
  /** Coefficient of each term: 32 bytes little-endian, below the prime, standard (not Montgomery) form. */
  readonly coefficients: Uint8Array;
}

export interface R1csHeader {
  /** Bytes of one field element; always 32 here. */
  readonly fieldBytes: number;
  readonly prime: bigint;
  readonly wireCount: number;
  readonly outputCount: number;
  readonly publicInputCount: number;
  readonly privateInputCount: number;
  readonly labelCount: number;
  readonly constraintCount: number;
}

/**
 * (A w) * (B w) = C w for the witness w, whose wire 0 is 1, followed by outputs, public inputs, private inputs and the
 * rest.
 */
export interface R1cs extends R1csHeader {
  readonly constraints: { readonly a: R1csMatrix; readonly b: R1csMatrix; readonly c: R1csMatrix };
  /** Label (line of the .sym file) that each wire stands for. */
  readonly wireLabels: Uint32Array;
}

/** The bytes are no R1CS file that this reader accepts. */
export class R1csFormatError extends Error {
  override readonly name = "R1csFormatError";
}

/** Bytes of one coefficient in `R1csMatrix.coefficients`. */
export const COEFFICIENT_BYTES = 32;

const MAGIC = 0x73633172; // "r1cs" read as a little-endian word
const SECTION = { header: 1, constraints: 2, wireLabels: 3, customGateList: 4, customGateUses: 5 } as const;
const SECTION_KINDS: ReadonlySet<number> = new Set(Object.values(SECTION));
const WORDS_PER_COEFFICIENT = COEFFICIENT_BYTES / 4;
/** field size, prime, four counts, label count (two words), constraint count. */
const HEADER_WORDS = 1 + WORDS_PER_COEFFICIENT + 4 + 2 + 1;

/**
 * Reads the counts and the prime of an R1CS file.
 * @throws R1csFormatError when the bytes are not a version 1 file over a 32-byte field
 */
export function readR1csHeader(bytes: Uint8Array): R1csHeader {
  const words = wordsOf(bytes);
  return headerOf(sectionOf(sectionsOf(words), SECTION.header));
}

/**
 * Reads a whole R1CS file. Cost: about 0.3 s per million terms; memory about the size of the file.
 * @throws R1csFormatError on a wrong length, a wire outside the system, a coefficient not below the prime, or custom
 *   gates.
 */
export function readR1cs(bytes: Uint8Array): R1cs {
  const sections = sectionsOf(wordsOf(bytes));
  const header = headerOf(sectionOf(sections, SECTION.header));
  const constraintWords = sectionOf(sections, SECTION.constraints);
  return {
    ...header,
    constraints: readConstraints(constraintWords, header),
    wireLabels: readWireLabels(sectionOf(sections, SECTION.wireLabels), header),
  };
}

/** Views the file as 32-bit words: every part of the format is a multiple of four bytes when the field has 32. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  if (bytes.byteLength % 4 !== 0) throw new R1csFormatError("length is not a multiple of four bytes");
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / 4);
}

function sectionsOf(words: Uint32Array): Map<number, Uint32Array> {
  if (words.length < 3 || words[0] !== MAGIC) throw new R1csFormatError("not an R1CS file");
  if (words[1] !== 1) throw new R1csFormatError("unknown version of the R1CS format");
  const count = word(words, 2);
  if (count > SECTION_KINDS.size) throw new R1csFormatError("too many sections");
  const sections = new Map<number, Uint32Array>();
  let at = 3;
  for (let i = 0; i < count; i += 1) {
    const kind = word(words, at);
    // Its length would be checked by nothing, and the file is kept and loaded whole.
    if (!SECTION_KINDS.has(kind)) throw new R1csFormatError("a section is of an unknown kind");
    const byteLength = readU64(words, at + 1);
    const end = at + 3 + byteLength / 4;
    if (byteLength % 4 !== 0 || end > words.length)
      throw new R1csFormatError("a section runs past the end of the file");
    if (sections.has(kind)) throw new R1csFormatError("a section appears twice");
    sections.set(kind, words.subarray(at + 3, end));
    at = end;
  }
  if (at !== words.length) throw new R1csFormatError("bytes after the last section");
  for (const kind of [SECTION.customGateList, SECTION.customGateUses]) {
    const gates = sections.get(kind);
    // Both begin with their count: an empty list is written too. Groth16 has no meaning for a custom gate.
    if (gates !== undefined && (gates.length !== 1 || gates[0] !== 0))
      throw new R1csFormatError("custom gates are not supported");
  }
  return sections;
}

function sectionOf(sections: Map<number, Uint32Array>, kind: number): Uint32Array {
  const section = sections.get(kind);
  if (section === undefined) throw new R1csFormatError(`section ${kind} is missing`);
  return section;
}

function headerOf(words: Uint32Array): R1csHeader {
  if (words[0] !== COEFFICIENT_BYTES) throw new R1csFormatError("field elements are not 32 bytes long");
  if (words.length !== HEADER_WORDS) throw new R1csFormatError("header has a wrong length");
  let prime = 0n;
  for (let i = WORDS_PER_COEFFICIENT; i >= 1; i -= 1) prime = (prime << 32n) | BigInt(word(words, i));
  const at = 1 + WORDS_PER_COEFFICIENT;
  const header: R1csHeader = {
    fieldBytes: COEFFICIENT_BYTES,
    prime,
    wireCount: word(words, at),
    outputCount: word(words, at + 1),
    publicInputCount: word(words, at + 2),
    privateInputCount: word(words, at + 3),
    labelCount: readU64(words, at + 4),
    constraintCount: word(words, at + 6),
  };
  const signalCount = header.outputCount + header.publicInputCount + header.privateInputCount;
  if (prime < 3n || prime % 2n === 0n) throw new R1csFormatError("the modulus is not an odd prime");
  // A private input that no constraint touches has a label but, after optimisation, no wire; public ones always keep
  // theirs.
  if (header.wireCount < 1 + header.outputCount + header.publicInputCount)
    throw new R1csFormatError("fewer wires than public signals");
  if (header.labelCount < 1 + signalCount || header.labelCount < header.wireCount)
    throw new R1csFormatError("fewer labels than signals");
  return header;
}

interface MatrixBuilder {
  readonly rowOffsets: Uint32Array;
  readonly wires: Uint32Array;
  readonly coefficientWords: Uint32Array;
  count: number;
}

function readConstraints(words: Uint32Array, header: R1csHeader): R1cs["constraints"] {
  const termCounts = countTerms(words, header);
  const builders = termCounts.map((terms) => newBuilder(header.constraintCount, terms));
  const primeWords = wordsOfPrime(header.prime);
  let at = 0;
  for (let row = 0; row < header.constraintCount; row += 1) {
    for (const builder of builders) {
      at = copyTerms({ words, start: at }, builder, { wireCount: header.wireCount, primeWords });
      builder.rowOffsets[row + 1] = builder.count;
    }
  }
  const [a, b, c] = builders.map(matrixOf);
  if (a === undefined || b === undefined || c === undefined) throw new R1csFormatError("a matrix is missing");
  return { a, b, c };
}

/** First pass: counts the terms of A, B and C, which also checks every length. */
function countTerms(words: Uint32Array, { constraintCount, wireCount }: R1csHeader): number[] {
  if (constraintCount * 3 > words.length) throw new R1csFormatError("constraint section is too short");
  const counts = [0, 0, 0];
  let at = 0;
  for (let i = 0; i < constraintCount * 3; i += 1) {
    const terms = word(words, at);
    if (terms > wireCount) throw new R1csFormatError("a constraint has more terms than there are wires");
    const end = at + 1 + terms * (1 + WORDS_PER_COEFFICIENT);
    if (end > words.length) throw new R1csFormatError("a constraint runs past the end of its section");
    counts[i % 3] = (counts[i % 3] ?? 0) + terms;
    at = end;
  }
  if (at !== words.length) throw new R1csFormatError("bytes after the last constraint");
  return counts;
}

function newBuilder(constraintCount: number, terms: number): MatrixBuilder {
  return {
    rowOffsets: new Uint32Array(constraintCount + 1),
    wires: new Uint32Array(terms),
    coefficientWords: new Uint32Array(terms * WORDS_PER_COEFFICIENT),
    count: 0,
  };
}

/** Copies the terms of one row of one matrix; returns the index of the word behind them. */
function copyTerms(
  { words, start }: { readonly words: Uint32Array; readonly start: number },
  into: MatrixBuilder,
  { wireCount, primeWords }: { readonly wireCount: number; readonly primeWords: Uint32Array },
): number {
  const terms = word(words, start);
  let at = start + 1;
  for (let i = 0; i < terms; i += 1) {
    const wire = word(words, at);
    if (wire >= wireCount) throw new R1csFormatError("a constraint names a wire that does not exist");
    into.wires[into.count] = wire;
    const target = into.count * WORDS_PER_COEFFICIENT;
    let order = 0; // sign of coefficient - prime, decided by the highest word that differs
    for (let k = WORDS_PER_COEFFICIENT - 1; k >= 0; k -= 1) {
      const value = word(words, at + 1 + k);
      into.coefficientWords[target + k] = value;
      if (order === 0) order = value - word(primeWords, k);
    }
    if (order >= 0) throw new R1csFormatError("a coefficient is not below the prime");
    into.count += 1;
    at += 1 + WORDS_PER_COEFFICIENT;
  }
  return at;
}

function matrixOf(builder: MatrixBuilder): R1csMatrix {
  return {
    rowOffsets: builder.rowOffsets,
    wires: builder.wires,
    coefficients: new Uint8Array(builder.coefficientWords.buffer),
  };
}

function readWireLabels(words: Uint32Array, header: R1csHeader): Uint32Array {
  if (words.length !== header.wireCount * 2) throw new R1csFormatError("wire labels have a wrong length");
  const labels = new Uint32Array(header.wireCount);
  for (let wire = 0; wire < header.wireCount; wire += 1) {
    const label = readU64(words, wire * 2);
    if (label >= header.labelCount) throw new R1csFormatError("a wire names a label that does not exist");
    labels[wire] = label;
  }
  return labels;
}

function wordsOfPrime(prime: bigint): Uint32Array {
  return Uint32Array.from({ length: WORDS_PER_COEFFICIENT }, (_, i) => Number((prime >> BigInt(32 * i)) & 0xffffffffn));
}

function readU64(words: Uint32Array, at: number): number {
  const value = word(words, at) + word(words, at + 1) * 0x1_0000_0000;
  // 32 bits are enough for every file that fits in memory.
  if (value > 0xffff_ffff) throw new R1csFormatError("a 64-bit count is out of range");
  return value;
}

function word(words: Uint32Array, at: number): number {
  const value = words[at];
  if (value === undefined) throw new R1csFormatError("the file ends too early");
  return value;
}
