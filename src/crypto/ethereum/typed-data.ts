/**
 * The digest of typed structured data (EIP-712): Keccak-256 of 0x19 0x01 || domain separator || hash of the message.
 * Reads the JSON form of `eth_signTypedData_v4` strictly: every declared member must be present, and no other. Only a
 * struct that contains its own type may be absent or null there, because otherwise it would never end; its word is then
 * zero, as wallets sign it. Types have one spelling: the standard knows no alias such as `uint`, which would be another
 * type with another hash than the contract's.
 */
import { keccak256 } from "../hashes/keccak.js";
import { arrayOf, InvalidPayload, recordOf } from "./invalid.js";
import { readAddress, readBytes, readInt, readUint } from "./quantity.js";

interface Member {
  readonly name: string;
  readonly type: string;
}
type Types = ReadonlyMap<string, readonly Member[]>;

/** Limits on the work of one request; real documents have a few of each. */
const TYPES_MAX = 64;
const MEMBERS_MAX = 64;
const ARRAY_ITEMS_MAX = 1000;
const DEPTH_MAX = 16;
const VALUES_MAX = 10_000;
const BYTES_MAX = 64 * 1024;

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]{0,63}$/;
/** Numbers in types have one spelling; another spelling would be another type, which no contract has. */
const ARRAY = /^(.+)\[(|[1-9]\d{0,3})\]$/;
const ARRAY_LEVELS = /^(\[(|[1-9]\d{0,3})\])+$/;
const INTEGER = /^(u?)int([1-9]\d{0,2})$/;
const FIXED_BYTES = /^bytes([1-9]\d?)$/;
const UNSIZED_INTEGER = /^u?int$/;
/** Solidity's elementary types and what reads like one: a struct of such a name would be taken for a number. */
const RESERVED = /^(u?int\d*|bytes\d*|byte|u?fixed(\d+x\d+)?|bool|string|address|function|mapping|enum|struct)$/;
const ABSENT_STRUCT = new Uint8Array(32);
const DOMAIN = "EIP712Domain";
/**
 * In the order of the standard; the domain's type is built from those that are present when the document does not
 * declare it.
 */
const DOMAIN_MEMBERS: readonly Member[] = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" },
  { name: "salt", type: "bytes32" },
];

/**
 * Returns the 32-byte digest of `{types, primaryType, domain, message}`.
 * @throws InvalidPayload that names the member at fault
 * @example typedDataDigest({ types, primaryType: "Mail", domain: { name: "Example" }, message: { text: "hello" } })
 */
export function typedDataDigest(value: unknown): Uint8Array {
  const document = recordOf(value, "typed_data");
  const other = Object.keys(document).find((name) => !["types", "primaryType", "domain", "message"].includes(name));
  if (other !== undefined) throw new InvalidPayload(other.slice(0, 64), "is not a member of typed data");
  const domain = recordOf(document["domain"], "domain");
  const types = readTypes(recordOf(document["types"], "types"), domain);
  const primary = document["primaryType"];
  if (typeof primary !== "string" || !types.has(primary))
    throw new InvalidPayload("primaryType", "is not one of the types");
  const budget = { values: VALUES_MAX };
  const parts = [
    Uint8Array.of(0x19, 0x01),
    hashStruct({ types, budget }, DOMAIN, domain, { path: "domain", depth: 0 }),
  ];
  if (primary !== DOMAIN)
    parts.push(hashStruct({ types, budget }, primary, document["message"], { path: "message", depth: 0 }));
  return keccak256(Buffer.concat(parts));
}

/** Where a value stands in the document. */
interface Place {
  /** Dotted name. */
  readonly path: string;
  readonly depth: number;
}

interface Context {
  readonly types: Types;
  readonly budget: { values: number };
}

function readTypes(declared: Readonly<Record<string, unknown>>, domain: Readonly<Record<string, unknown>>): Types {
  const entries = Object.entries(declared);
  if (entries.length > TYPES_MAX) throw new InvalidPayload("types", `has more than ${String(TYPES_MAX)} types`);
  const types = new Map<string, readonly Member[]>();
  for (const [name, members] of entries) {
    if (!IDENTIFIER.test(name)) throw new InvalidPayload("types", "has a type whose name is not an identifier");
    if (RESERVED.test(name))
      throw new InvalidPayload("types", "has a struct named like an elementary type; give it another name");
    types.set(name, readMembers(members, `types.${name}`));
  }
  if (!types.has(DOMAIN))
    types.set(
      DOMAIN,
      DOMAIN_MEMBERS.filter((member) => domain[member.name] !== undefined),
    );
  for (const [name, members] of types) {
    for (const member of members) {
      const base = baseType(member.type);
      if (!isElementary(base) && !types.has(base))
        throw new InvalidPayload(`types.${name}.${member.name}`, unknownType(base));
    }
  }
  return types;
}

function readMembers(value: unknown, path: string): readonly Member[] {
  const names = new Set<string>();
  return arrayOf(value, path, MEMBERS_MAX).map((entry, index) => {
    const { name, type, ...others } = recordOf(entry, `${path}[${String(index)}]`);
    const [other] = Object.keys(others);
    if (other !== undefined)
      throw new InvalidPayload(
        `${path}[${String(index)}].${other.slice(0, 64)}`,
        "is not allowed: a member of a type has only a name and a type",
      );
    if (typeof name !== "string" || !IDENTIFIER.test(name) || names.has(name))
      throw new InvalidPayload(`${path}[${String(index)}].name`, "is not an identifier of its own");
    if (typeof type !== "string" || type.length > 128)
      throw new InvalidPayload(`${path}[${String(index)}].type`, "is not a type");
    names.add(name);
    return { name, type };
  });
}

/** Keccak-256 of typeHash || encoded members. */
function hashStruct(context: Context, type: string, value: unknown, { path, depth }: Place): Uint8Array {
  const members = context.types.get(type) ?? [];
  const record = recordOf(value, path);
  const other = Object.keys(record).find((name) => !members.some((member) => member.name === name));
  if (other !== undefined)
    throw new InvalidPayload(`${path}.${other.slice(0, 64)}`, `is not a member of the type ${type}`);
  const words = members.map((member) =>
    encodeValue(context, member.type, record[member.name], { path: `${path}.${member.name}`, depth: depth + 1 }),
  );
  return keccak256(Buffer.concat([keccak256(Buffer.from(encodeType(context.types, type), "utf8")), ...words]));
}

/** The 32-byte word of a value. */
function encodeValue(context: Context, type: string, value: unknown, place: Place): Uint8Array {
  const { path, depth } = place;
  if (depth > DEPTH_MAX) throw new InvalidPayload(path, `is nested more than ${String(DEPTH_MAX)} levels deep`);
  context.budget.values -= 1;
  if (context.budget.values < 0)
    throw new InvalidPayload(path, `is beyond the ${String(VALUES_MAX)} values that a document may have`);
  const array = ARRAY.exec(type);
  if (array !== null) {
    const items = arrayOf(value, path, ARRAY_ITEMS_MAX);
    if (array[2] !== "" && items.length !== Number(array[2]))
      throw new InvalidPayload(path, `does not have ${String(Number(array[2]))} items`);
    return keccak256(
      Buffer.concat(
        items.map((item, index) =>
          encodeValue(context, array[1] ?? "", item, { path: `${path}[${String(index)}]`, depth: depth + 1 }),
        ),
      ),
    );
  }
  if (!context.types.has(type)) return encodeElementary(type, value, path);
  if ((value === undefined || value === null) && referredTypes(context.types, type).has(type)) return ABSENT_STRUCT;
  return hashStruct(context, type, value, place);
}

function encodeElementary(type: string, value: unknown, path: string): Uint8Array {
  if (type === "string") {
    if (typeof value !== "string" || value.length > BYTES_MAX || !value.isWellFormed())
      throw new InvalidPayload(path, "is not a text");
    return keccak256(Buffer.from(value, "utf8"));
  }
  if (type === "bytes") return keccak256(readBytes(value, path, BYTES_MAX));
  if (type === "bool") {
    if (typeof value !== "boolean") throw new InvalidPayload(path, "is neither true nor false");
    return word(value ? 1n : 0n);
  }
  if (type === "address") return leftPadded(readAddress(value, path));
  const fixed = FIXED_BYTES.exec(type);
  if (fixed !== null) {
    const bytes = readBytes(value, path, 32);
    if (bytes.length !== Number(fixed[1])) throw new InvalidPayload(path, `is not ${String(Number(fixed[1]))} bytes`);
    return Buffer.concat([bytes, new Uint8Array(32 - bytes.length)]);
  }
  const [, sign, size] = INTEGER.exec(type) ?? [];
  const bits = Number(size);
  if (sign === "u") return word(readUint(value, path, bits));
  return word(BigInt.asUintN(256, readInt(value, path, bits)));
}

/** Name(type name,...) followed by the same of every type that it refers to, those by name. */
function encodeType(types: Types, primary: string): string {
  const referred = referredTypes(types, primary);
  referred.delete(primary);
  return [primary, ...[...referred].sort()]
    .map((name) => `${name}(${(types.get(name) ?? []).map((member) => `${member.type} ${member.name}`).join(",")})`)
    .join("");
}

/** The types that a type refers to, directly or not; the type itself is among them if it contains itself. */
function referredTypes(types: Types, primary: string): Set<string> {
  const referred = new Set<string>();
  const visit = (name: string): void => {
    for (const member of types.get(name) ?? []) {
      const base = baseType(member.type);
      if (types.has(base) && !referred.has(base)) {
        referred.add(base);
        visit(base);
      }
    }
  };
  visit(primary);
  return referred;
}

function baseType(type: string): string {
  const bracket = type.indexOf("[");
  if (bracket === -1) return type;
  return ARRAY_LEVELS.test(type.slice(bracket)) ? type.slice(0, bracket) : type;
}

/** Why a name is no type, as the end of a sentence about the member. */
function unknownType(base: string): string {
  if (UNSIZED_INTEGER.test(base)) return `has a type without a size; EIP-712 has no alias for ${base}256, write that`;
  if (base.startsWith("address ")) return "has the type address with an addition; EIP-712 has only address";
  return "has an unknown type: neither a struct of `types` nor a sized integer, bytes, bytes1 to bytes32, bool, address or string";
}

function isElementary(type: string): boolean {
  if (["string", "bytes", "bool", "address"].includes(type)) return true;
  const fixed = FIXED_BYTES.exec(type);
  if (fixed !== null) return Number(fixed[1]) >= 1 && Number(fixed[1]) <= 32;
  const integer = INTEGER.exec(type);
  if (integer === null) return false;
  const bits = Number(integer[2]);
  return bits % 8 === 0 && bits >= 8 && bits <= 256;
}

function word(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, "0"), "hex");
}

function leftPadded(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([new Uint8Array(32 - bytes.length), bytes]);
}
