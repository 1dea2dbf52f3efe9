/**
 * Keys of a hierarchical deterministic wallet: BIP-39 entropy to seed (empty passphrase), then BIP-32 down to a key by
 * @scure/bip32. The seed phrase is made and stretched as bytes and never becomes a string.
 *
 * Seeds, and the keys of each level, are overwritten here after use. The library cannot promise as much: its HMAC, its
 * slices and its numbers (bigint) keep copies of the seed and of derived keys until the garbage collector frees them,
 * and they stay in the thread's memory until the thread ends.
 */
import { pbkdf2Sync, randomBytes } from "node:crypto";
import { HDKey } from "@scure/bip32";
import { childNumbers, formatAccountPath, type HdPath } from "./hd-path.js";
import { entropyPhrase, SEAL_ENTROPY_BYTES } from "./seal-phrase.js";
import { parseSecp256k1PublicKey } from "../secp256k1/secp256k1.js";

/** 256 bits, a phrase of 24 words. */
const HD_ENTROPY_BYTES = SEAL_ENTROPY_BYTES;
const SEED_ROUNDS = 2048;
const SEED_BYTES = 64;
/** BIP-39: "mnemonic" and the passphrase, which is empty. */
const SALT = Buffer.from("mnemonic");

/** Returns the entropy of a new wallet of 24 words, 32 random bytes. The caller wipes it. */
export function generateHdEntropy(): Uint8Array {
  return new Uint8Array(randomBytes(HD_ENTROPY_BYTES));
}

/**
 * Returns the 64-byte BIP-39 seed of 32 bytes of entropy: PBKDF2 with HMAC-SHA512 and 2048 rounds over the phrase,
 * about 1 ms. The caller wipes it.
 * @example const seed = seedOfEntropy(generateHdEntropy());
 */
export function seedOfEntropy(entropy: Uint8Array): Uint8Array {
  const phrase = entropyPhrase(entropy);
  try {
    return new Uint8Array(pbkdf2Sync(phrase, SALT, SEED_ROUNDS, SEED_BYTES, "sha512"));
  } finally {
    phrase.fill(0);
  }
}

/**
 * Lends the 32-byte private key at a path to a function and overwrites it afterwards. About 2 ms, a public key for each
 * level (our own derivation, which left those of hardened levels out, took 0.6 ms; the vault keeps the keys of paths
 * that are in use).
 * @example const address = withHdKey(seed, DEFAULT_PATH, (key) => addressOfPublicKey(secp256k1PublicKey(key)));
 */
export function withHdKey<T>(seed: Uint8Array, path: HdPath, use: (privateKey: Uint8Array) => T): T {
  let node = HDKey.fromMasterSeed(seed);
  let privateKey: Uint8Array | undefined;
  try {
    for (const number of childNumbers(path)) {
      const child = node.deriveChild(number);
      node.wipePrivateData();
      node = child;
    }
    // A copy of the node's own.
    privateKey = node.privateKey ?? undefined;
    if (privateKey === undefined) throw new Error("invariant broken: a private parent has private children");
    return use(privateKey);
  } finally {
    privateKey?.fill(0);
    node.wipePrivateData();
  }
}

/** Returns the extended public key of an account (BIP-32 serialisation, `xpub...`). */
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
 * Returns the uncompressed public keys (65 bytes) of consecutive addresses below an account: m/change/from,
 * m/change/from+1 ... About 0.5 ms each.
 * @param xpub extended public key of an account, as `accountXpub` returns it
 * @param options.from,options.count stay below 2^31: hardened children cannot be derived without the private key
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
