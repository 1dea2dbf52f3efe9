/**
 * Transactions to be signed: legacy with replay protection (type 0, EIP-155), access lists (1, EIP-2930), fee market
 * (2, EIP-1559) and account code (4, EIP-7702). Reads them strictly from JSON members, and computes the digest to sign
 * and the raw signed form.
 */
import { keccak256 } from "../hashes/keccak.js";
import { checksumAddress } from "./address.js";
import { arrayOf, InvalidPayload, recordOf } from "./invalid.js";
import { readAddress, readBytes, readUint } from "./quantity.js";
import { bytesOfNumber, encodeRlp, type RlpItem } from "./rlp.js";

type TransactionType = 0 | 1 | 2 | 4;

export interface Transaction {
  readonly type: TransactionType;
  readonly chainId: bigint;
  /** Checksummed; the sender, if the caller gave it. It must be the signer. */
  readonly from: string | undefined;
  /** The members in the order of their encoding, without the signature; for legacy ones without the chain id too. */
  readonly fields: readonly RlpItem[];
}

interface TransactionSignature {
  readonly r: bigint;
  readonly s: bigint;
  readonly yParity: number;
}

/** Keeps v of EIP-155 (2 * chain id + 36) a safe integer, as wallets do. */
const CHAIN_ID_MAX = 4503599627370476n;
/** Limit of Ethereum nodes' transaction pools. */
const DATA_BYTES_MAX = 128 * 1024;
const ACCESS_LIST_MAX = 1000;
const STORAGE_KEYS_MAX = 1000;
const AUTHORIZATIONS_MAX = 100;
/** EIP-2681: the nonce stays below 2^64 - 1. */
const NONCE_MAX = 2n ** 64n - 2n;
const SECP256K1_HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
const AUTHORIZATION_MAGIC = 0x05;
const EMPTY = new Uint8Array();

/** Canonical member -> other spellings, of JSON-RPC and libraries. */
const MEMBERS = {
  type: [],
  chain_id: ["chainId"],
  nonce: [],
  from: [],
  to: [],
  value: [],
  data: ["input"],
  gas: ["gas_limit", "gasLimit"],
  gas_price: ["gasPrice"],
  max_fee_per_gas: ["maxFeePerGas"],
  max_priority_fee_per_gas: ["maxPriorityFeePerGas"],
  access_list: ["accessList"],
  authorization_list: ["authorizationList"],
} as const;
type Member = keyof typeof MEMBERS;

const TYPE_NAMES: ReadonlyMap<string, number> = new Map([
  ["legacy", 0],
  ["eip2930", 1],
  ["eip1559", 2],
  ["eip4844", 3],
  ["eip7702", 4],
]);
const BLOB_TYPE = 3;
const BLOB_MEMBERS: readonly string[] = [
  "blobs",
  "sidecars",
  "blobVersionedHashes",
  "blob_versioned_hashes",
  "maxFeePerBlobGas",
  "max_fee_per_blob_gas",
];
const ONLY_FOR: Readonly<Partial<Record<Member, readonly TransactionType[]>>> = {
  gas_price: [0, 1],
  max_fee_per_gas: [2, 4],
  max_priority_fee_per_gas: [2, 4],
  access_list: [1, 2, 4],
  authorization_list: [4],
};

/**
 * Reads a transaction from its JSON members.
 * @throws InvalidPayload that names the member at fault
 * @example readTransaction({ chain_id: 1, nonce: 0, gas: 21000, max_fee_per_gas: "10", to: "0x...", value: "1" })
 */
export function readTransaction(value: unknown): Transaction {
  const members = namedMembers(recordOf(value, "transaction"));
  const type = readType(members);
  for (const [name, types] of Object.entries(ONLY_FOR)) {
    if (members.has(name as Member) && !types.includes(type))
      throw new InvalidPayload(name, `does not belong to a transaction of type ${String(type)}`);
  }
  const chainId = readChainId(required(members, "chain_id"), "chain_id");
  if (chainId === 0n) throw new InvalidPayload("chain_id", "is 0: the transaction could be replayed on every chain");
  const nonce = readUint(required(members, "nonce"), "nonce", 64);
  if (nonce > NONCE_MAX) throw new InvalidPayload("nonce", "is above 2^64 - 2");
  const gas = readUint(required(members, "gas"), "gas", 64);
  const head = [
    bytesOfNumber(gas),
    recipient(members, type),
    bytesOfNumber(readUint(members.get("value") ?? 0, "value", 256)),
    readBytes(members.get("data") ?? "0x", "data", DATA_BYTES_MAX),
  ];
  const from = members.has("from") ? checksumAddress(readAddress(members.get("from"), "from")) : undefined;
  if (type === 0) return { type, chainId, from, fields: [bytesOfNumber(nonce), gasPrice(members), ...head] };
  const accessList = readAccessList(members.get("access_list") ?? []);
  const typed = [bytesOfNumber(chainId), bytesOfNumber(nonce)];
  if (type === 1) return { type, chainId, from, fields: [...typed, gasPrice(members), ...head, accessList] };
  const fees = [...typed, ...feeMarket(members), ...head, accessList];
  return {
    type,
    chainId,
    from,
    fields: type === 2 ? fees : [...fees, readAuthorizations(required(members, "authorization_list"))],
  };
}

/** Returns the 32-byte digest that the sender signs. */
export function transactionDigest({ type, chainId, fields }: Transaction): Uint8Array {
  if (type === 0) return keccak256(encodeRlp([...fields, bytesOfNumber(chainId), EMPTY, EMPTY]));
  return keccak256(typedEnvelope(type, fields));
}

/** Returns the signed transaction in the raw form of eth_sendRawTransaction. */
export function serializeSigned(transaction: Transaction, signature: TransactionSignature): Uint8Array {
  const { type, fields } = transaction;
  const tail = [
    bytesOfNumber(BigInt(transactionV(transaction, signature))),
    bytesOfNumber(signature.r),
    bytesOfNumber(signature.s),
  ];
  return type === 0 ? encodeRlp([...fields, ...tail]) : typedEnvelope(type, [...fields, ...tail]);
}

/** Returns v of the signed transaction: EIP-155's for legacy ones, the parity for others. */
export function transactionV(
  { type, chainId }: Transaction,
  { yParity }: Pick<TransactionSignature, "yParity">,
): number {
  return type === 0 ? Number(chainId * 2n + 35n) + yParity : yParity;
}

/**
 * Returns the digest of an EIP-7702 authorization, {chain_id, address, nonce}; chain id 0 stands for every chain.
 * @throws InvalidPayload that names the member at fault
 */
export function authorizationDigest(value: unknown): Uint8Array {
  const members = recordOf(value, "authorization");
  refuseOthers(members, ["chain_id", "chainId", "address", "nonce"], "");
  return keccak256(Buffer.concat([Uint8Array.of(AUTHORIZATION_MAGIC), encodeRlp(authorizationFields(members, ""))]));
}

function typedEnvelope(type: TransactionType, fields: readonly RlpItem[]): Uint8Array {
  return Buffer.concat([Uint8Array.of(type), encodeRlp(fields)]);
}

/** Members under their canonical names; throws for unknown members and for two spellings of one. */
function namedMembers(record: Readonly<Record<string, unknown>>): ReadonlyMap<Member, unknown> {
  const names = new Map<string, Member>(
    Object.entries(MEMBERS).flatMap(([name, others]) =>
      [name, ...others].map((spelling) => [spelling, name as Member] as const),
    ),
  );
  const members = new Map<Member, unknown>();
  for (const [spelling, value] of Object.entries(record)) {
    const name = names.get(spelling);
    if (BLOB_MEMBERS.includes(spelling)) throw noBlobs(spelling);
    if (name === undefined) throw new InvalidPayload(spelling.slice(0, 64), "is not a member of a transaction to sign");
    if (members.has(name)) throw new InvalidPayload(name, "is given twice");
    if (value !== null && value !== undefined) members.set(name, value);
  }
  return members;
}

function readType(members: ReadonlyMap<Member, unknown>): TransactionType {
  const given = members.get("type");
  if (given === undefined) {
    if (members.has("authorization_list")) return 4;
    if (members.has("max_fee_per_gas")) return 2;
    return members.has("access_list") ? 1 : 0;
  }
  const named = typeof given === "string" ? TYPE_NAMES.get(given.toLowerCase()) : undefined;
  const number = named ?? Number(readUint(given, "type", 8));
  if (number === BLOB_TYPE) throw noBlobs("type");
  if (number === 0 || number === 1 || number === 2 || number === 4) return number;
  throw new InvalidPayload("type", "is none of 0, 1, 2 and 4");
}

function noBlobs(path: string): InvalidPayload {
  return new InvalidPayload(
    path,
    "is of a blob transaction (type 3, EIP-4844): those are not signed, types 0, 1, 2 and 4 are",
  );
}

function required(members: ReadonlyMap<Member, unknown>, name: Member): unknown {
  const value = members.get(name);
  if (value === undefined) throw new InvalidPayload(name, "is required");
  return value;
}

function readChainId(value: unknown, path: string): bigint {
  const chainId = readUint(value, path, 64);
  if (chainId > CHAIN_ID_MAX) throw new InvalidPayload(path, `is above ${String(CHAIN_ID_MAX)}`);
  return chainId;
}

function recipient(members: ReadonlyMap<Member, unknown>, type: TransactionType): Uint8Array {
  const to = members.get("to");
  if (to !== undefined) return readAddress(to, "to");
  if (type === 4) throw new InvalidPayload("to", "is required: a transaction of type 4 cannot create a contract");
  return EMPTY;
}

function gasPrice(members: ReadonlyMap<Member, unknown>): Uint8Array {
  return bytesOfNumber(readUint(required(members, "gas_price"), "gas_price", 256));
}

function feeMarket(members: ReadonlyMap<Member, unknown>): Uint8Array[] {
  const priority = readUint(members.get("max_priority_fee_per_gas") ?? 0, "max_priority_fee_per_gas", 256);
  const fee = readUint(required(members, "max_fee_per_gas"), "max_fee_per_gas", 256);
  if (priority > fee) throw new InvalidPayload("max_priority_fee_per_gas", "is above max_fee_per_gas");
  return [bytesOfNumber(priority), bytesOfNumber(fee)];
}

function readAccessList(value: unknown): RlpItem {
  return arrayOf(value, "access_list", ACCESS_LIST_MAX).map((entry, index) => {
    const path = `access_list[${String(index)}]`;
    const members = recordOf(entry, path);
    refuseOthers(members, ["address", "storage_keys", "storageKeys"], path);
    const keys = arrayOf(
      oneSpelling(members, ["storage_keys", "storageKeys"], path) ?? [],
      `${path}.storage_keys`,
      STORAGE_KEYS_MAX,
    );
    return [
      readAddress(members["address"], `${path}.address`),
      keys.map((key, at) => readWord(key, `${path}.storage_keys[${String(at)}]`)),
    ];
  });
}

function readAuthorizations(value: unknown): RlpItem {
  const list = arrayOf(value, "authorization_list", AUTHORIZATIONS_MAX);
  if (list.length === 0) throw new InvalidPayload("authorization_list", "is empty");
  return list.map((entry, index) => {
    const path = `authorization_list[${String(index)}]`;
    const members = recordOf(entry, path);
    refuseOthers(members, ["chain_id", "chainId", "address", "nonce", "y_parity", "yParity", "r", "s"], path);
    const yParity = readUint(oneSpelling(members, ["y_parity", "yParity"], path), `${path}.y_parity`, 8);
    if (yParity > 1n) throw new InvalidPayload(`${path}.y_parity`, "is neither 0 nor 1");
    const s = readUint(members["s"], `${path}.s`, 256);
    if (s > SECP256K1_HALF_ORDER) throw new InvalidPayload(`${path}.s`, "is above half of the curve's order");
    return [
      ...authorizationFields(members, path),
      bytesOfNumber(yParity),
      bytesOfNumber(readUint(members["r"], `${path}.r`, 256)),
      bytesOfNumber(s),
    ];
  });
}

/** @param path of the authorization, empty where it is the message itself */
function authorizationFields(members: Readonly<Record<string, unknown>>, path: string): Uint8Array[] {
  const chainId = readChainId(oneSpelling(members, ["chain_id", "chainId"], path), memberOf(path, "chain_id"));
  const nonce = readUint(members["nonce"], memberOf(path, "nonce"), 64);
  if (nonce > NONCE_MAX) throw new InvalidPayload(memberOf(path, "nonce"), "is above 2^64 - 2");
  return [bytesOfNumber(chainId), readAddress(members["address"], memberOf(path, "address")), bytesOfNumber(nonce)];
}

/** The value under whichever spelling is used. Two that differ would leave it to us which of them is signed. */
function oneSpelling(
  members: Readonly<Record<string, unknown>>,
  [name, other]: readonly [string, string],
  path: string,
): unknown {
  if (members[name] !== undefined && members[other] !== undefined)
    throw new InvalidPayload(memberOf(path, name), "is given twice");
  return members[name] ?? members[other];
}

function memberOf(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function readWord(value: unknown, path: string): Uint8Array {
  const word = readBytes(value, path, 32);
  if (word.length !== 32) throw new InvalidPayload(path, "is not 32 bytes");
  return word;
}

function refuseOthers(members: Readonly<Record<string, unknown>>, allowed: readonly string[], path: string): void {
  const other = Object.keys(members).find((name) => !allowed.includes(name));
  if (other !== undefined)
    throw new InvalidPayload(memberOf(path, other.slice(0, 64)), "is not a member of this object");
}
