/**
 * Reads signed transactions of the types 0 (EIP-155, and the form before it), 1 (EIP-2930) and 2 (EIP-1559) from their
 * raw form, and recovers the signer (SEC 1 v2, 4.1.6). As strict as nodes are: one encoding of each transaction.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak256 } from "../hashes/keccak.js";
import { addressOfPublicKey, checksumAddress } from "./address.js";
import { bytesOfNumber, decodeRlp, encodeRlp, InvalidRlp, type RlpItem } from "./rlp.js";

/** What a signed transaction says. Amounts are in wei. */
export interface SignedTransaction {
  readonly type: 0 | 1 | 2;
  /** Undefined for one of type 0 without replay protection. */
  readonly chainId: bigint | undefined;
  readonly nonce: bigint;
  readonly gas: bigint;
  /** Checksummed; null for the creation of a contract. */
  readonly to: string | null;
  readonly value: bigint;
  readonly data: Uint8Array;
  /** Type 0 and 1. */
  readonly gasPrice?: bigint;
  /** Type 2. */
  readonly maxFeePerGas?: bigint;
  readonly maxPriorityFeePerGas?: bigint;
  readonly accessList: readonly { readonly address: string; readonly storageKeys: readonly Uint8Array[] }[];
  /** The signer's address, checksummed. */
  readonly from: string;
}

/** Bytes are no signed transaction of type 0, 1 or 2. */
export class InvalidSignedTransaction extends Error {
  override readonly name = "InvalidSignedTransaction";
}

const ADDRESS_BYTES = 20;
const WORD_BYTES = 32;
const LEGACY_FIELDS = 9;
const EIP2930_FIELDS = 11;
const EIP1559_FIELDS = 12;
/** EIP-155: v is twice the chain id and 35 or 36; before it, 27 or 28. */
const V_OFFSET = 35n;
const V_OFFSET_UNPROTECTED = 27n;
const UINT64_BITS = 64;
const UINT256_BITS = 256;
const EMPTY = new Uint8Array();

/**
 * Reads a signed transaction and recovers its signer.
 * @param raw the form of eth_sendRawTransaction
 * @throws InvalidSignedTransaction for any other bytes, a signature with a high s (EIP-2) among them
 */
export function readSignedTransaction(raw: Uint8Array): SignedTransaction {
  try {
    const type = raw[0];
    if (type === 1 || type === 2) return readTyped(type, listOf(decodeRlp(raw.subarray(1))));
    return readLegacy(listOf(decodeRlp(raw)));
  } catch (error) {
    if (error instanceof InvalidRlp) throw new InvalidSignedTransaction(error.message, { cause: error });
    throw error;
  }
}

function readLegacy(fields: readonly RlpItem[]): SignedTransaction {
  if (fields.length !== LEGACY_FIELDS) throw new InvalidSignedTransaction("it has not 9 members");
  const v = uint(fields[6], UINT256_BITS);
  const isProtected = v >= V_OFFSET;
  if (!isProtected && v !== V_OFFSET_UNPROTECTED && v !== V_OFFSET_UNPROTECTED + 1n)
    throw new InvalidSignedTransaction("v is none of a transaction");
  const chainId = isProtected ? (v - V_OFFSET) / 2n : undefined;
  const yParity = Number((v - (isProtected ? V_OFFSET : V_OFFSET_UNPROTECTED)) % 2n);
  const body = fields.slice(0, 6);
  const digest = keccak256(encodeRlp(isProtected ? [...body, bytesOfNumber(chainId ?? 0n), EMPTY, EMPTY] : body));
  return {
    ...{ type: 0, chainId, nonce: uint(fields[0], UINT64_BITS), gasPrice: uint(fields[1], UINT256_BITS) },
    ...payment(fields.slice(2, 6)),
    accessList: [],
    from: signerOf(digest, yParity, fields.slice(7)),
  };
}

function readTyped(type: 1 | 2, fields: readonly RlpItem[]): SignedTransaction {
  const length = type === 1 ? EIP2930_FIELDS : EIP1559_FIELDS;
  if (fields.length !== length) throw new InvalidSignedTransaction(`it has not ${String(length)} members`);
  const feesEnd = type === 1 ? 3 : 4;
  const listAt = length - 4;
  const yParity = uint(fields[listAt + 1], 8);
  if (yParity > 1n) throw new InvalidSignedTransaction("its parity is neither 0 nor 1");
  const digest = keccak256(Buffer.concat([Uint8Array.of(type), encodeRlp(fields.slice(0, listAt + 1))]));
  const last = uint(fields[feesEnd - 1], UINT256_BITS);
  const fees =
    type === 1 ? { gasPrice: last } : { maxPriorityFeePerGas: uint(fields[2], UINT256_BITS), maxFeePerGas: last };
  if (fees.maxPriorityFeePerGas !== undefined && fees.maxPriorityFeePerGas > last)
    throw new InvalidSignedTransaction("its priority fee is above its maximum fee");
  return {
    ...{ type, chainId: uint(fields[0], UINT64_BITS), nonce: uint(fields[1], UINT64_BITS) },
    ...fees,
    ...payment(fields.slice(feesEnd, listAt)),
    accessList: accessListOf(fields[listAt]),
    from: signerOf(digest, Number(yParity), fields.slice(listAt + 2)),
  };
}

/** @param fields gas, recipient, value and data */
function payment([gas, to, value, data]: readonly RlpItem[]): Pick<SignedTransaction, "gas" | "to" | "value" | "data"> {
  const recipient = bytesIn(to);
  return {
    gas: uint(gas, UINT64_BITS),
    to: recipient.length === 0 ? null : addressIn(recipient),
    value: uint(value, UINT256_BITS),
    data: bytesIn(data),
  };
}

function accessListOf(item: RlpItem | undefined): SignedTransaction["accessList"] {
  return listOf(item).map((entry) => {
    const [address, keys, ...more] = listOf(entry);
    if (more.length > 0) throw new InvalidSignedTransaction("an entry of its access list has more than 2 members");
    return {
      address: addressIn(bytesIn(address)),
      storageKeys: listOf(keys).map((key) => {
        const bytes = bytesIn(key);
        if (bytes.length !== WORD_BYTES) throw new InvalidSignedTransaction("a storage key is not 32 bytes");
        return bytes;
      }),
    };
  });
}

function signerOf(digest: Uint8Array, yParity: number, [r, s]: readonly RlpItem[]): string {
  const [rValue, sValue] = [uint(r, UINT256_BITS), uint(s, UINT256_BITS)];
  try {
    const signature = new secp256k1.Signature(rValue, sValue).addRecoveryBit(yParity);
    if (signature.hasHighS()) throw new InvalidSignedTransaction("its signature has a high s");
    return addressOfPublicKey(signature.recoverPublicKey(digest).toBytes(false));
  } catch (error) {
    if (error instanceof InvalidSignedTransaction) throw error;
    throw new InvalidSignedTransaction("its signature is none of any key", { cause: error });
  }
}

function uint(item: RlpItem | undefined, bits: number): bigint {
  const bytes = bytesIn(item);
  if (bytes[0] === 0) throw new InvalidSignedTransaction("a number has leading zeros");
  if (bytes.length * 8 > bits) throw new InvalidSignedTransaction("a number is too large");
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}

function addressIn(bytes: Uint8Array): string {
  if (bytes.length !== ADDRESS_BYTES) throw new InvalidSignedTransaction("an address is not 20 bytes");
  return checksumAddress(bytes);
}

function bytesIn(item: RlpItem | undefined): Uint8Array {
  if (!(item instanceof Uint8Array)) throw new InvalidSignedTransaction("a list stands where bytes belong");
  return item;
}

function listOf(item: RlpItem | undefined): readonly RlpItem[] {
  if (item === undefined || item instanceof Uint8Array)
    throw new InvalidSignedTransaction("bytes stand where a list belongs");
  return item;
}
