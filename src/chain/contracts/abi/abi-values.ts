/**
 * Converts values between JSON and the contract ABI. From JSON, each member is checked, and each bad one is reported;
 * nothing is rounded, cut or guessed. To JSON, integers of up to 48 bits become numbers and wider ones decimal texts,
 * by their type and not by their value; bytes become 0x-hex; addresses have their checksum; tuples become objects where
 * all members have names of their own, else lists.
 */
import { checksumAddress, isChecksummed } from "../../../crypto/ethereum/address.js";
import { AppError, invalidMember, type ErrorDetail } from "../../../platform/errors.js";
import type { StoreValue } from "../../../platform/store/store.js";
import type { Hex } from "../../hex.js";
import { AbiMismatch, decodeAbi, encodeAbi, type AbiValue } from "./abi-codec.js";
import type { AbiMember, AbiType } from "./abi-types.js";

/** A double holds such integers exactly, and every JSON parser reads them as integers. */
const NUMBER_BITS_MAX = 48;
const FINDINGS_MAX = 20;
const DECIMAL = /^-?(0|[1-9][0-9]{0,77})$/;
const HEX_INTEGER = /^-?0x[0-9a-fA-F]{1,64}$/;
const HEX_BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Encodes arguments as 0x-hex. Throws `argument_invalid` with a detail for each bad one, up to 20.
 * @param path the member of the request that has the list
 */
export function encodeArguments(parameters: readonly AbiMember[], given: readonly unknown[], path: string): Hex {
  const findings: ErrorDetail[] = [];
  if (given.length !== parameters.length) {
    const names = parameters.map(({ name }, index) => name || `#${String(index)}`).join(", ");
    const message = `${String(parameters.length)} argument${parameters.length === 1 ? "" : "s"} needed${names === "" ? "" : ` (${names})`}, ${String(given.length)} given`;
    throw invalidMember(path, message, "argument_invalid");
  }
  const values = parameters.map(({ type }, index) =>
    readValue(type, given[index], `${path}[${String(index)}]`, findings),
  );
  if (findings.length > 0)
    throw new AppError("argument_invalid", { message: findings[0]?.message ?? "", details: findings });
  const encoded = encodeAbi(
    parameters.map(({ type }) => type),
    values,
  );
  return `0x${Buffer.from(encoded).toString("hex")}`;
}

/**
 * Decodes return data: no outputs give null, one gives its value, several give an object or a list. Returns undefined
 * when the data does not match the types.
 */
export function decodeOutputs(outputs: readonly AbiMember[], data: Hex): StoreValue | undefined {
  const values = decodeMembers(outputs, data);
  if (values === undefined) return undefined;
  if (outputs.length <= 1) return values[0] ?? null;
  return named(outputs, values);
}

/** Decodes data into the values of its members. Returns undefined when it does not match the types. */
export function decodeMembers(members: readonly AbiMember[], data: Hex): StoreValue[] | undefined {
  if (members.length === 0) return [];
  let decoded: readonly AbiValue[];
  try {
    decoded = decodeAbi(
      members.map(({ type }) => type),
      Buffer.from(data.slice(2), "hex"),
    );
  } catch (error) {
    if (error instanceof AbiMismatch) return undefined;
    throw error;
  }
  return members.map(({ type }, index) => valueToJson(type, decoded[index]));
}

/** Returns an object where every member has a name of its own, else a list. */
export function named(members: readonly AbiMember[], values: readonly StoreValue[]): StoreValue {
  const names = new Set(members.map(({ name }) => name));
  if (names.size !== members.length || names.has("") || names.has("__proto__")) return values;
  return Object.fromEntries(members.map(({ name }, index) => [name, values[index]]));
}

/** Returns one decoded value as JSON. */
function valueToJson(type: AbiType, value: AbiValue | undefined): StoreValue {
  switch (type.kind) {
    case "integer":
      return type.bits <= NUMBER_BITS_MAX ? Number(value) : String(value);
    case "bool":
      return value === true;
    case "address":
      return checksumAddress(Buffer.from(String(value).slice(2), "hex"));
    case "bytes":
    case "string":
      return String(value);
    case "array":
      return (value as readonly AbiValue[]).map((element) => valueToJson(type.of, element));
    case "tuple":
      return named(
        type.members,
        type.members.map((member, index) => valueToJson(member.type, (value as readonly AbiValue[])[index])),
      );
    default:
      return type satisfies never;
  }
}

function readValue(type: AbiType, given: unknown, path: string, findings: ErrorDetail[]): AbiValue {
  if (findings.length >= FINDINGS_MAX) return 0n;
  switch (type.kind) {
    case "integer":
      return (
        readInteger(type, given) ??
        bad(
          findings,
          path,
          `an integer that fits ${type.text}: a safe integer (to 2^53 - 1), or its decimal or 0x-hex text`,
        )
      );
    case "bool":
      return typeof given === "boolean" ? given : bad(findings, path, "true or false");
    case "address":
      return (
        readAddress(given) ??
        bad(findings, path, "an address: 0x and 40 hex digits, in mixed case with the right checksum (EIP-55)")
      );
    case "bytes":
      return (
        readBytes(type.length, given) ??
        bad(findings, path, type.length === null ? "0x-hex of whole bytes" : `0x-hex of ${String(type.length)} bytes`)
      );
    case "string":
      return typeof given === "string" && !LONE_SURROGATE.test(given)
        ? given
        : bad(findings, path, "a text of well-formed Unicode");
    case "array":
      if (!Array.isArray(given) || (type.length !== null && given.length !== type.length))
        return bad(findings, path, type.length === null ? "a list" : `a list of ${String(type.length)}`);
      return given.map((element: unknown, index) => readValue(type.of, element, `${path}[${String(index)}]`, findings));
    case "tuple":
      return readTuple(type.members, given, path, findings);
    default:
      return type satisfies never;
  }
}

/** Reads a tuple given as a list in order or as an object by names. */
function readTuple(members: readonly AbiMember[], given: unknown, path: string, findings: ErrorDetail[]): AbiValue {
  if (Array.isArray(given)) {
    if (given.length !== members.length) return bad(findings, path, `a list of ${String(members.length)}`);
    return members.map(({ type }, index) =>
      readValue(type, (given as unknown[])[index], `${path}[${String(index)}]`, findings),
    );
  }
  const names = members.map(({ name }) => name);
  if (typeof given !== "object" || given === null || names.includes("") || new Set(names).size !== names.length)
    return bad(findings, path, `a list of ${String(members.length)}`);
  const object = given as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(object))
    if (!names.includes(name))
      bad(findings, `${path}.${name.slice(0, 64)}`, `no such member; there are ${names.join(", ")}`);
  return members.map(({ name, type }) =>
    readValue(type, Object.hasOwn(object, name) ? object[name] : undefined, `${path}.${name}`, findings),
  );
}

function readAddress(given: unknown): string | undefined {
  return typeof given === "string" && ADDRESS.test(given) && isChecksummed(given) ? given.toLowerCase() : undefined;
}

function readInteger(
  { bits, isSigned }: { readonly bits: number; readonly isSigned: boolean },
  given: unknown,
): bigint | undefined {
  const value = integerOf(given);
  if (value === undefined) return undefined;
  const [from, to] = isSigned
    ? [-(1n << BigInt(bits - 1)), (1n << BigInt(bits - 1)) - 1n]
    : [0n, (1n << BigInt(bits)) - 1n];
  return value < from || value > to ? undefined : value;
}

function integerOf(given: unknown): bigint | undefined {
  if (typeof given === "number") return Number.isSafeInteger(given) ? BigInt(given) : undefined;
  if (typeof given !== "string") return undefined;
  if (DECIMAL.test(given)) return BigInt(given);
  if (!HEX_INTEGER.test(given)) return undefined;
  return given.startsWith("-") ? -BigInt(given.slice(1)) : BigInt(given);
}

function readBytes(length: number | null, given: unknown): string | undefined {
  if (typeof given !== "string" || !HEX_BYTES.test(given)) return undefined;
  return length !== null && given.length !== 2 + 2 * length ? undefined : given.toLowerCase();
}

function bad(findings: ErrorDetail[], path: string, expected: string): AbiValue {
  if (findings.length < FINDINGS_MAX)
    findings.push({ message: `${path}: expected ${expected}`, code: "argument_invalid", path });
  return 0n;
}
