/**
 * XAES-256-GCM (C2SP, https://c2sp.org/XAES-256-GCM): AES-256-GCM with a 192-bit nonce that may be random for 2^80 messages per
 * key. A sub-key comes from the first half of the nonce by CMAC in counter mode (SP 800-108r1), three AES blocks in all.
 */
import { createCipheriv, type Cipher, type KeyObject } from "node:crypto";
import { AEAD_TAG_BYTES, assertAeadInput, AuthenticationFailure, type Aead, type AeadInput } from "./aead.js";
import { openAes256Gcm, sealAes256Gcm } from "./aes-256-gcm.js";

const BLOCK_BYTES = 16;
const ZERO_BLOCK = new Uint8Array(BLOCK_BYTES);
/** Of the 24-byte nonce, 12 bytes select the sub-key and 12 are the nonce of GCM. */
const SUBKEY_NONCE_BYTES = 12;
/** x^128 reduction of CMAC (SP 800-38B, R_128). */
const CMAC_REDUCTION = 0x87;

export const xaes256Gcm: Aead = {
  seal: (input, plaintext, prefix) => withSubKey(input, (key, nonce) => sealAes256Gcm({ key, nonce, aad: input.aad }, plaintext, prefix)),
  open(input, sealed) {
    if (sealed.length < AEAD_TAG_BYTES) throw new AuthenticationFailure();
    return withSubKey(input, (key, nonce) => openAes256Gcm({ key, nonce, aad: input.aad }, sealed));
  },
};

function withSubKey<T>(input: AeadInput, use: (subKey: Uint8Array, gcmNonce: Uint8Array) => T): T {
  assertAeadInput(input);
  const subKey = deriveSubKey(input.key, input.nonce.subarray(0, SUBKEY_NONCE_BYTES));
  try {
    return use(subKey, input.nonce.subarray(SUBKEY_NONCE_BYTES));
  } finally {
    subKey.fill(0);
  }
}

/** K_x = AES(M1 xor K1) || AES(M2 xor K1), with M_i = u16be(i) || 'X' || 0x00 || nonce[0..12) and K1 the CMAC sub-key. */
function deriveSubKey(key: KeyObject, prefix: Uint8Array): Uint8Array {
  const aes = blockCipherOf(key);
  const k1 = doubled(aes.update(ZERO_BLOCK));
  const blocks = Buffer.alloc(2 * BLOCK_BYTES);
  for (let i = 0; i < 2; i += 1) {
    const block = blocks.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES);
    block.set([0, i + 1, 0x58, 0]);
    block.set(prefix, 4);
    for (let j = 0; j < BLOCK_BYTES; j += 1) block[j] = (block[j] ?? 0) ^ (k1[j] ?? 0);
  }
  const subKey = aes.update(blocks);
  k1.fill(0);
  blocks.fill(0);
  return subKey;
}

/** Without padding or chaining a block cipher keeps nothing between blocks, so that one serves a key for good: making it costs as much as using it. */
const blockCiphers = new WeakMap<KeyObject, Cipher>();

function blockCipherOf(key: KeyObject): Cipher {
  const known = blockCiphers.get(key);
  if (known !== undefined) return known;
  const made = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false);
  blockCiphers.set(key, made);
  return made;
}

/** Multiplies by x in GF(2^128), in place and without a branch on the secret bit. */
function doubled(block: Buffer): Buffer {
  let carry = 0;
  for (let i = BLOCK_BYTES - 1; i >= 0; i -= 1) {
    const byte = block[i] ?? 0;
    block[i] = ((byte << 1) | carry) & 0xff;
    carry = byte >> 7;
  }
  block[BLOCK_BYTES - 1] = (block[BLOCK_BYTES - 1] ?? 0) ^ (CMAC_REDUCTION & -carry);
  return block;
}
