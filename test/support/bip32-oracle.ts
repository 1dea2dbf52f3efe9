/** BIP-32's private derivation by node:crypto alone, as an oracle for what the library derives. */
import { createECDH, createHmac } from "node:crypto";
import { secp256k1 } from "@noble/curves/secp256k1.js";

const HARDENED = 2 ** 31;
const { ORDER } = secp256k1.Point.Fn;

/**
 * The private key at the end of a path.
 * @param indexes one child number a level, from 2^31 on hardened
 */
export function bip32PrivateKey(seed: Uint8Array, indexes: readonly number[]): Buffer {
  let node = hmac(Buffer.from("Bitcoin seed"), seed);
  for (const index of indexes) {
    const key = node.subarray(0, 32);
    const number = Buffer.alloc(4);
    number.writeUInt32BE(index);
    const parent = index >= HARDENED ? Buffer.concat([Buffer.alloc(1), key]) : compressedPublicKey(key);
    const child = hmac(node.subarray(32), Buffer.concat([parent, number]));
    const sum = (valueOf(child.subarray(0, 32)) + valueOf(key)) % ORDER;
    child.set(Buffer.from(sum.toString(16).padStart(64, "0"), "hex"));
    node = child;
  }
  return node.subarray(0, 32);
}

function compressedPublicKey(privateKey: Uint8Array): Buffer {
  const curve = createECDH("secp256k1");
  curve.setPrivateKey(privateKey);
  return curve.getPublicKey(null, "compressed");
}

function valueOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}

function hmac(key: Uint8Array, data: Uint8Array): Buffer {
  return createHmac("sha512", key).update(data).digest();
}
