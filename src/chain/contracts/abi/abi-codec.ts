/**
 * The contract ABI's encoding of values (Solidity documentation, "Contract ABI Specification"). Decoding takes exactly
 * what the types allow: an offset or length beyond the data, and an integer, address, boolean or short bytes with other
 * bits set are refused, as Solidity's own decoder refuses them; what stands behind a text or long bytes is not looked
 * at, because some contracts leave it unclean. Offsets may point anywhere, so that a few bytes could stand for any
 * number of elements: the work is bounded by the length of the data.
 */
import type { AbiType } from "./abi-types.js";

/**
 * A value in the form of its type: integers as bigint, bytes as 0x-hex, addresses as 0x-hex in lower case, arrays and
 * tuples as lists.
 */
export type AbiValue = bigint | string | boolean | readonly AbiValue[];

/** The data does not match the types. */
export class AbiMismatch extends Error {
  override readonly name = "AbiMismatch";
}

const WORD_BYTES = 32;
const ADDRESS_BYTES = 20;
/** Encoders of contracts may let offsets share data; none shares each word more often. */
const READS_PER_WORD_MAX = 4;
/** Short data may have fixed arrays, whose elements are counted as well. */
const READS_MIN = 4_096;
const READ_TOO_OFTEN = "the offsets lead to the same data too often";
const EMPTY = new Uint8Array();

/**
 * Encodes values, as the arguments of a call without its selector.
 * @param values one for each type, already checked against it
 * @throws AbiMismatch for a value of another form than its type's
 */
export function encodeAbi(types: readonly AbiType[], values: readonly AbiValue[]): Uint8Array {
  if (types.length !== values.length) throw new AbiMismatch("the number of values is not that of the types");
  const encoded = types.map((type, index) => encodeValue(type, values[index]));
  const heads = types.map((type, index) => (isDynamic(type) ? WORD_BYTES : (encoded[index]?.length ?? 0)));
  let offset = heads.reduce((sum, bytes) => sum + bytes, 0);
  const head: Uint8Array[] = [];
  const tail: Uint8Array[] = [];
  types.forEach((type, index) => {
    const bytes = encoded[index] ?? EMPTY;
    if (!isDynamic(type)) {
      head.push(bytes);
      return;
    }
    head.push(word(BigInt(offset)));
    tail.push(bytes);
    offset += bytes.length;
  });
  return Buffer.concat([...head, ...tail]);
}

/**
 * Decodes values of the types from data without a selector.
 * @throws AbiMismatch when the data does not match the types
 */
export function decodeAbi(types: readonly AbiType[], data: Uint8Array): AbiValue[] {
  return new Decoder(data).members(types, 0);
}

/** Returns whether the encoding of a type has another length for other values, so that it lies behind an offset. */
function isDynamic(type: AbiType): boolean {
  switch (type.kind) {
    case "string":
      return true;
    case "bytes":
      return type.length === null;
    case "array":
      return type.length === null || isDynamic(type.of);
    case "tuple":
      return type.members.some((member) => isDynamic(member.type));
    case "integer":
    case "address":
    case "bool":
      return false;
    default:
      return type satisfies never;
  }
}

/** Returns the bytes that a type takes where its values stand: its encoding, or the offset of that. */
function headBytes(type: AbiType): number {
  if (isDynamic(type)) return WORD_BYTES;
  if (type.kind === "array") return (type.length ?? 0) * headBytes(type.of);
  if (type.kind === "tuple") return type.members.reduce((sum, member) => sum + headBytes(member.type), 0);
  return WORD_BYTES;
}

function encodeValue(type: AbiType, value: AbiValue | undefined): Uint8Array {
  switch (type.kind) {
    case "integer":
      if (typeof value !== "bigint") break;
      return word(BigInt.asUintN(256, value));
    case "bool":
      if (typeof value !== "boolean") break;
      return word(value ? 1n : 0n);
    case "address":
      if (typeof value !== "string") break;
      return word(BigInt(value));
    case "string":
      if (typeof value !== "string") break;
      return withLength(Buffer.from(value, "utf8"));
    case "bytes": {
      if (typeof value !== "string") break;
      const bytes = Buffer.from(value.slice(2), "hex");
      return type.length === null ? withLength(bytes) : padded(bytes);
    }
    case "array": {
      if (!Array.isArray(value) || (type.length !== null && value.length !== type.length)) break;
      const elements = value as readonly AbiValue[];
      const encoded = encodeAbi(Array<AbiType>(elements.length).fill(type.of), elements);
      return type.length === null ? Buffer.concat([word(BigInt(elements.length)), encoded]) : encoded;
    }
    case "tuple":
      if (!Array.isArray(value)) break;
      return encodeAbi(
        type.members.map((member) => member.type),
        value as readonly AbiValue[],
      );
    default:
      return type satisfies never;
  }
  throw new AbiMismatch("a value has another form than its type's");
}

function word(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(2 * WORD_BYTES, "0"), "hex");
}

function withLength(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([word(BigInt(bytes.length)), padded(bytes)]);
}

function padded(bytes: Uint8Array): Uint8Array {
  const result = new Uint8Array(Math.ceil(bytes.length / WORD_BYTES) * WORD_BYTES);
  result.set(bytes);
  return result;
}

class Decoder {
  readonly #data: Buffer;
  #readsLeft: number;

  constructor(data: Uint8Array) {
    this.#data = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    this.#readsLeft = Math.max(READS_MIN, READS_PER_WORD_MAX * Math.ceil(data.length / WORD_BYTES));
  }

  /** Decodes what stands side by side. @param base where it begins; offsets count from there */
  members(types: readonly AbiType[], base: number): AbiValue[] {
    let at = base;
    return types.map((type) => {
      const value = isDynamic(type) ? this.#behind(type, base + this.#length(at)) : this.#inPlace(type, at);
      at += headBytes(type);
      return value;
    });
  }

  /** Decodes a value of a type whose encoding has one length. */
  #inPlace(type: AbiType, at: number): AbiValue {
    switch (type.kind) {
      case "integer":
        return this.#integer(type, at);
      case "bool": {
        const value = this.#word(at);
        if (value > 1n) throw new AbiMismatch("a boolean is neither 0 nor 1");
        return value === 1n;
      }
      case "address": {
        const value = this.#word(at);
        if (value >> BigInt(8 * ADDRESS_BYTES) !== 0n) throw new AbiMismatch("an address has more than 20 bytes");
        return `0x${value.toString(16).padStart(2 * ADDRESS_BYTES, "0")}`;
      }
      case "bytes": {
        const hex = this.#word(at)
          .toString(16)
          .padStart(2 * WORD_BYTES, "0");
        const digits = 2 * (type.length ?? 0);
        if (/[^0]/.test(hex.slice(digits))) throw new AbiMismatch("padding of bytes is not zero");
        return `0x${hex.slice(0, digits)}`;
      }
      case "array":
        return this.members(Array<AbiType>(type.length ?? 0).fill(type.of), at);
      case "tuple":
        return this.members(
          type.members.map((member) => member.type),
          at,
        );
      case "string":
        throw new AbiMismatch("a text does not stand in place");
      default:
        return type satisfies never;
    }
  }

  /** Decodes a value of a type that lies behind an offset. */
  #behind(type: AbiType, at: number): AbiValue {
    switch (type.kind) {
      case "string": {
        const hex = this.#bytes(at + WORD_BYTES, this.#length(at));
        return Buffer.from(hex.slice(2), "hex").toString("utf8");
      }
      case "bytes":
        return this.#bytes(at + WORD_BYTES, this.#length(at));
      case "array": {
        if (type.length !== null) return this.members(Array<AbiType>(type.length).fill(type.of), at);
        const length = this.#length(at);
        // Checked before a list of that length is made: each element takes a word at least.
        if (length * WORD_BYTES > this.#data.length) throw new AbiMismatch("a list is longer than the data");
        if (length > this.#readsLeft) throw new AbiMismatch(READ_TOO_OFTEN);
        return this.members(Array<AbiType>(length).fill(type.of), at + WORD_BYTES);
      }
      case "tuple":
        return this.members(
          type.members.map((member) => member.type),
          at,
        );
      default:
        return this.#inPlace(type, at);
    }
  }

  #integer({ bits, isSigned }: { readonly bits: number; readonly isSigned: boolean }, at: number): bigint {
    const value = this.#word(at);
    const cut = isSigned ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
    if (BigInt.asUintN(256, cut) !== value) throw new AbiMismatch("an integer does not fit its type");
    return cut;
  }

  /** Reads an offset or a length. */
  #length(at: number): number {
    const value = this.#word(at);
    if (value > BigInt(this.#data.length)) throw new AbiMismatch("an offset or length is beyond the data");
    return Number(value);
  }

  #word(at: number): bigint {
    this.#readsLeft -= 1;
    if (this.#readsLeft < 0) throw new AbiMismatch(READ_TOO_OFTEN);
    if (at + WORD_BYTES > this.#data.length) throw new AbiMismatch("the data ends early");
    return BigInt(`0x${this.#data.toString("hex", at, at + WORD_BYTES)}`);
  }

  /** Returns bytes behind their length, as 0x-hex. */
  #bytes(at: number, length: number): string {
    const end = at + length;
    if (end > this.#data.length) throw new AbiMismatch("the data ends early");
    this.#readsLeft -= Math.ceil(length / WORD_BYTES);
    if (this.#readsLeft < 0) throw new AbiMismatch(READ_TOO_OFTEN);
    return `0x${this.#data.toString("hex", at, end)}`;
  }
}
