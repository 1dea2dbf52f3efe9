/**
 * Private keys of BIP-32, from a seed down to a key: HMAC-SHA512 at each level, and the parent's public key only where
 * a child is not hardened, by OpenSSL. A library that makes every level's public key takes five times as long, and
 * leaves copies of each. All bytes on the way are overwritten; numbers of JavaScript cannot be, and go with the
 * thread's heap.
 */
import { createHmac } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { HARDENED } from "./hd-path.js";
import { PRIVATE_KEY_BYTES, readScalar, secp256k1PublicKey, writeScalar } from "../secp256k1/secp256k1.js";

const { ORDER } = secp256k1.Point.Fn;
const MASTER_KEY = Buffer.from("Bitcoin seed");
const INDEX_BYTES = 4;
const COMPRESSED_BYTES = 33;

/** key(32) || chain code(32). */
type Node = Buffer;

/**
 * Lends the private key at the end of a path to a function and overwrites it afterwards.
 * @param indexes one child number a level, from 2^31 on hardened
 */
export function withBip32Key<T>(seed: Uint8Array, indexes: readonly number[], use: (privateKey: Uint8Array) => T): T {
  let node = hmac(MASTER_KEY, seed);
  try {
    assertKey(readScalar(node));
    for (const index of indexes) {
      const child = childOf(node, index);
      node.fill(0);
      node = child;
    }
    return use(node.subarray(0, PRIVATE_KEY_BYTES));
  } finally {
    node.fill(0);
  }
}

/**
 * CKDpriv: I = HMAC(chain code, 0x00 || key || index) or HMAC(chain code, public key || index); the child's key is key
 * + I's left half.
 */
function childOf(parent: Node, index: number): Node {
  const key = parent.subarray(0, PRIVATE_KEY_BYTES);
  const data = Buffer.alloc(COMPRESSED_BYTES + INDEX_BYTES);
  data.writeUInt32BE(index, COMPRESSED_BYTES);
  if (index >= HARDENED) data.set(key, 1);
  else data.set(compressed(secp256k1PublicKey(key)));
  const child = hmac(parent.subarray(PRIVATE_KEY_BYTES), data);
  data.fill(0);
  const tweak = readScalar(child);
  const sum = (tweak + readScalar(key)) % ORDER;
  assertKey(tweak);
  assertKey(sum);
  writeScalar(child, sum);
  return child;
}

/** BIP-32 leaves out numbers without a key; there is one in 2^127. */
function assertKey(scalar: bigint): void {
  if (scalar === 0n || scalar >= ORDER) throw new Error("this child number has no key");
}

function compressed(publicKey: Uint8Array): Uint8Array {
  return Uint8Array.of(2 + ((publicKey[publicKey.length - 1] ?? 0) & 1), ...publicKey.subarray(1, COMPRESSED_BYTES));
}

function hmac(key: Uint8Array, data: Uint8Array): Buffer {
  return createHmac("sha512", key).update(data).digest();
}
