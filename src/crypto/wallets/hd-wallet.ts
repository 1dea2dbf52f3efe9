/**
 * Keys of a hierarchical deterministic wallet: BIP-39 entropy to seed (empty passphrase), BIP-32 down to a key. The
 * seed phrase is made and stretched as bytes and never becomes a string.
 */
import { pbkdf2Sync, randomBytes } from "node:crypto";
import { HDKey } from "@scure/bip32";
import { withBip32Key } from "./bip32.js";
import { childNumbers, formatAccountPath, type HdPath } from "./hd-path.js";
import { entropyPhrase, SEAL_ENTROPY_BYTES } from "./seal-phrase.js";
import { parseSecp256k1PublicKey } from "../secp256k1/secp256k1.js";

export const HD_ENTROPY_BYTES = SEAL_ENTROPY_BYTES;
const SEED_ROUNDS = 2048;
const SEED_BYTES = 64;
/** BIP-39: "mnemonic" and the passphrase, which is empty. */
const SALT = Buffer.from("mnemonic");

/** Entropy of a wallet of 24 words; the caller wipes it. */
export function generateHdEntropy(): Uint8Array {
  return new Uint8Array(randomBytes(HD_ENTROPY_BYTES));
}

/** The 64-byte BIP-39 seed of 32 bytes of entropy; about 1 ms. The caller wipes it. */
export function seedOfEntropy(entropy: Uint8Array): Uint8Array {
  const phrase = entropyPhrase(entropy);
  try {
    return new Uint8Array(pbkdf2Sync(phrase, SALT, SEED_ROUNDS, SEED_BYTES, "sha512"));
  } finally {
    phrase.fill(0);
  }
}

/** Lends the private key at a path to a function and overwrites it afterwards; about 1.5 ms. */
export function withHdKey<T>(seed: Uint8Array, path: HdPath, use: (privateKey: Uint8Array) => T): T {
  return withBip32Key(seed, childNumbers(path), use);
}

/** The extended public key of an account (BIP-32 serialisation, `xpub...`). */
export function accountXpub(seed: Uint8Array, account: Omit<HdPath, "change" | "index">): string {
  const master = HDKey.fromMasterSeed(seed);
  const child = master.derive(formatAccountPath(account));
  try {
    return child.publicExtendedKey;
  } finally {
    child.wipePrivateData();
    master.wipePrivateData();
  }
}

/**
 * Uncompressed public keys (65 bytes) of consecutive addresses below an account: m/change/from, m/change/from+1 ...
 * About 0.5 ms each.
 * @param options.from,options.count stay below 2^31: hardened children cannot be had without the private key (BIP-32)
 */
export function addressPublicKeys(
  xpub: string,
  options: { readonly change: number; readonly from: number; readonly count: number },
): Uint8Array[] {
  const branch = HDKey.fromExtendedKey(xpub).deriveChild(options.change);
  return Array.from({ length: options.count }, (_, at) => {
    const { publicKey } = branch.deriveChild(options.from + at);
    const point = publicKey === null ? undefined : parseSecp256k1PublicKey(publicKey);
    if (point === undefined) throw new Error("invariant broken: a public parent has public children");
    return point;
  });
}
