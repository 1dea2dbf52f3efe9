/**
 * Sets the upper limit of a WebAssembly module's own memory by rewriting its memory section. Thread and heap limits of
 * Node don't bound WebAssembly memory; a module without a declared maximum may take 4 GiB. WebAssembly Core
 * Specification 2.0, sections 5.5.8 and 5.3.7.
 */

/** Bytes of one WebAssembly page. */
export const WASM_PAGE_BYTES = 65_536;

/** The module is malformed, imports its memory, or needs more than the allowed pages from its start. */
export class WasmMemoryError extends Error {
  override readonly name = "WasmMemoryError";
  readonly reason: "malformed" | "too_large";

  constructor(reason: "malformed" | "too_large", message: string) {
    super(message);
    this.reason = reason;
  }
}

const PREAMBLE_BYTES = 8;
const TABLE_SECTION = 4;
const MEMORY_SECTION = 5;
/** circom's has an entry for each template; larger circuits have thousands. */
const TABLE_ENTRIES_MAX = 1_000_000;
/**
 * Limits flags: bit 0 says that a maximum follows; these modules have no shared (2) and no 64-bit (4) memories.
 */
const WITH_MAXIMUM = 1;

/**
 * Returns a copy of the module whose memory cannot grow over `pagesMax`. A lower maximum already there stays.
 * @throws WasmMemoryError "too_large" when its initial memory is over the limit, "malformed" when it does not define
 *   exactly one plain memory
 */
export function withMemoryMaximum(wasm: Uint8Array, pagesMax: number): Uint8Array {
  const section = findMemorySection(wasm);
  const count = readUint(wasm, section.contentStart);
  const flags = wasm[count.end];
  if (count.value !== 1 || flags === undefined || flags > WITH_MAXIMUM)
    throw new WasmMemoryError("malformed", "not one plain memory");
  const initial = readUint(wasm, count.end + 1);
  const declared = flags === WITH_MAXIMUM ? readUint(wasm, initial.end) : { value: pagesMax, end: initial.end };
  if (declared.end !== section.end) throw new WasmMemoryError("malformed", "memory section has a wrong length");
  if (initial.value > pagesMax)
    throw new WasmMemoryError("too_large", `needs ${initial.value} pages of memory, ${pagesMax} allowed`);
  const content = [1, WITH_MAXIMUM, ...writeUint(initial.value), ...writeUint(Math.min(declared.value, pagesMax))];
  return Buffer.concat([
    wasm.subarray(0, section.start),
    Uint8Array.from([MEMORY_SECTION, ...writeUint(content.length), ...content]),
    wasm.subarray(section.end),
  ]);
}

/**
 * Requires that the module defines at most one table, of a size that circom's have: tables take memory, too, which no
 * memory's maximum limits.
 * @throws WasmMemoryError
 */
export function requireOneTable(wasm: Uint8Array): void {
  const section = findSection(wasm, TABLE_SECTION);
  if (section === undefined) return;
  const count = readUint(wasm, section.contentStart);
  // One byte for the type of its entries and one for the flags of its limits.
  const initial = readUint(wasm, count.end + 2);
  if (count.value > 1 || initial.value > TABLE_ENTRIES_MAX)
    throw new WasmMemoryError("too_large", `more than one table, or one of more than ${TABLE_ENTRIES_MAX} entries`);
}

interface Section {
  readonly start: number;
  readonly contentStart: number;
  readonly end: number;
}

function findMemorySection(wasm: Uint8Array): Section {
  const found = findSection(wasm, MEMORY_SECTION);
  if (found === undefined) throw new WasmMemoryError("malformed", "module defines no memory");
  return found;
}

function findSection(wasm: Uint8Array, kind: number): Section | undefined {
  let at = PREAMBLE_BYTES;
  while (at < wasm.length) {
    const length = readUint(wasm, at + 1);
    const end = length.end + length.value;
    if (end > wasm.length) break;
    if (wasm[at] === kind) return { start: at, contentStart: length.end, end };
    at = end;
  }
  return undefined;
}

/** LEB128, at most 32 bits. */
function readUint(bytes: Uint8Array, start: number): { value: number; end: number } {
  let value = 0;
  for (let i = 0; i < 5; i += 1) {
    const byte = bytes[start + i];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return { value, end: start + i + 1 };
  }
  throw new WasmMemoryError("malformed", "bad length in the module");
}

function writeUint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80);
    rest = Math.floor(rest / 128);
  }
  return [...bytes, rest];
}
