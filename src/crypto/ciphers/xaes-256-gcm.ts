/**
 * XAES-256-GCM (C2SP, https://c2sp.org/XAES-256-GCM): AES-256-GCM with a 192-bit nonce. A sub-key comes from the first
 * half of the nonce by CMAC in counter mode (SP 800-108r1), three AES blocks in all; the second half is the nonce of
 * GCM under it.
 *
 * Both halves are random. Up to 128 messages of a key share the first half, which saves most of them the derivation, a
 * quarter of the time of 1 KiB. The probability of a repeated nonce then reaches 2^-32 after 2^58 messages of a key
 * (2^80 with a new first half for each).
 */
import { createCipheriv, createSecretKey, type Cipher, type KeyObject } from "node:crypto";
import {
  AEAD_NONCE_BYTES,
  AEAD_TAG_BYTES,
  assertAeadInput,
  AuthenticationFailure,
  type Aead,
  type AeadInput,
} from "./aead.js";
import { openAes256Gcm, sealAes256Gcm } from "./aes-256-gcm.js";
import { fillPublicRandom } from "../public-random.js";

const BLOCK_BYTES = 16;
const ZERO_BLOCK = new Uint8Array(BLOCK_BYTES);
/** Of the 24-byte nonce, 12 bytes select the sub-key and 12 are the nonce of GCM. */
const PREFIX_BYTES = 12;
/** Consecutive messages of a key that share the first half of the nonce; GCM allows 2^32 random nonces per sub-key. */
const MESSAGES_PER_PREFIX = 128;
/** x^128 reduction of CMAC (SP 800-38B, R_128). */
const CMAC_REDUCTION = 0x87;

/** State of a key, for as long as its key object lives; OpenSSL overwrites memory that it frees. */
interface KeyState {
  /** AES-256 of single blocks. ECB without padding has no state between blocks, so that one object serves all. */
  readonly blockCipher: Cipher;
  /** First half of new nonces. */
  readonly noncePrefix: Uint8Array;
  messagesLeft: number;
  /** The sub-key that was derived last, and the first half of its nonces. */
  readonly subKeyPrefix: Uint8Array;
  subKey: KeyObject | undefined;
}

/** Module state, because a KeyObject cannot carry it; an entry goes with its key. */
const states = new WeakMap<KeyObject, KeyState>();

/** The cipher; `aead.ts` has its interface. */
export const xaes256Gcm: Aead = {
  writeNonce(key, into) {
    const state = stateOf(key);
    if (state.messagesLeft === 0) {
      fillPublicRandom(state.noncePrefix);
      state.messagesLeft = MESSAGES_PER_PREFIX;
    }
    state.messagesLeft -= 1;
    into.set(state.noncePrefix);
    fillPublicRandom(into.subarray(PREFIX_BYTES, AEAD_NONCE_BYTES));
  },
  seal(input, plaintext, prefix) {
    return sealAes256Gcm(gcmInput(input), plaintext, prefix);
  },
  open(input, sealed) {
    if (sealed.length < AEAD_TAG_BYTES) throw new AuthenticationFailure();
    return openAes256Gcm(gcmInput(input), sealed);
  },
};

function gcmInput(input: AeadInput): { key: KeyObject; nonce: Uint8Array; aad: Uint8Array } {
  assertAeadInput(input);
  return { key: subKeyOf(input.key, input.nonce), nonce: input.nonce.subarray(PREFIX_BYTES), aad: input.aad };
}

function subKeyOf(key: KeyObject, nonce: Uint8Array): KeyObject {
  const state = stateOf(key);
  if (state.subKey !== undefined && state.subKeyPrefix.every((byte, index) => byte === nonce[index]))
    return state.subKey;
  state.subKeyPrefix.set(nonce.subarray(0, PREFIX_BYTES));
  state.subKey = deriveSubKey(state.blockCipher, state.subKeyPrefix);
  return state.subKey;
}

function stateOf(key: KeyObject): KeyState {
  const existing = states.get(key);
  if (existing !== undefined) return existing;
  const state: KeyState = {
    blockCipher: createCipheriv("aes-256-ecb", key, null).setAutoPadding(false),
    noncePrefix: new Uint8Array(PREFIX_BYTES),
    messagesLeft: 0,
    subKeyPrefix: new Uint8Array(PREFIX_BYTES),
    subKey: undefined,
  };
  states.set(key, state);
  return state;
}

/**
 * K_x = AES(M1 xor K1) || AES(M2 xor K1), with M_i = u16be(i) || 'X' || 0x00 || nonce[0..12) and K1 the CMAC sub-key.
 */
function deriveSubKey(aes: Cipher, prefix: Uint8Array): KeyObject {
  const k1 = doubled(aes.update(ZERO_BLOCK));
  const blocks = Buffer.alloc(2 * BLOCK_BYTES);
  for (let i = 0; i < 2; i += 1) {
    const block = blocks.subarray(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES);
    block.set([0, i + 1, 0x58, 0]);
    block.set(prefix, 4);
    for (let j = 0; j < BLOCK_BYTES; j += 1) block[j] = (block[j] ?? 0) ^ (k1[j] ?? 0);
  }
  const bytes = aes.update(blocks);
  const subKey = createSecretKey(bytes);
  for (const secret of [k1, blocks, bytes]) secret.fill(0);
  return subKey;
}

/** Multiplies by x in GF(2^128) (SP 800-38B, section 6.1), in place and without a branch on the secret bit. */
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
