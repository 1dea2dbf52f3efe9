/**
 * BIP39 keys: hierarchical deterministic wallets of 24 words, whose entropy is stored. They sign with the secp256k1 key
 * at a path. The next unused index is chosen on the main thread, before this code runs.
 */
import { assert, invalidMember } from "../../platform/errors.js";
import { createSecretKey, type KeyObject } from "node:crypto";
import { addressOfPublicKey } from "../../crypto/ethereum/address.js";
import { formatHdPath, parseHdPath, type HdPath } from "../../crypto/wallets/hd-path.js";
import { accountXpub, generateHdEntropy, seedOfEntropy, withHdKey } from "../../crypto/wallets/hd-wallet.js";
import { PRIVATE_KEY_BYTES, secp256k1PublicKey } from "../../crypto/secp256k1/secp256k1.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { signEthereum, verifyEthereum } from "./ethereum-signer.js";
import type { KeySpec, UnwrappedKey, VerifyItem } from "./key-spec.js";
import { readHdWallet } from "./hd-options.js";

export const BIP39 = "BIP39";

export const bip39: KeySpec = {
  name: BIP39,
  type: "asymmetric",
  usage: "sign/verify",
  materialKind: "bip39_entropy",
  operationUs: 5_000,
  generate: () => ({ material: SecretBytes.take(generateHdEntropy()) }),
  sign: (key, item) => {
    const path = pathOf(item.options?.hdwallet);
    return withChild(key, path, (privateKey, publicKey) => ({
      ...signEthereum({ keyId: key.keyId, spec: BIP39, privateKey, publicKey }, item),
      address: addressOfPublicKey(publicKey),
      hd_derivation_path: formatHdPath(path),
    }));
  },
  verify: (key, item: VerifyItem) =>
    withChild(key, pathOf(item.options?.hdwallet), (_privateKey, publicKey) => verifyEthereum(publicKey, item, BIP39)),
};

/** Returns the checksummed account address at a path of the wallet. */
export function hdAddress(key: UnwrappedKey, path: string): string {
  const parsed = parseHdPath(path);
  assert(parsed !== undefined, "a path was read before");
  return withChild(key, parsed, (_privateKey, publicKey) => addressOfPublicKey(publicKey));
}

/** Returns the extended public key (BIP-32) of an account of the wallet. */
export function hdXpub(key: UnwrappedKey, account: Omit<HdPath, "change" | "index">): string {
  return withSeed(key, (seed) => accountXpub(seed, account));
}

function pathOf(options: Parameters<typeof readHdWallet>[0]): HdPath {
  const { path, isNext } = readHdWallet(options);
  // For signing and deriving, the main thread has put the index in its place.
  if (isNext)
    throw invalidMember("options.hdwallet.next", "`next` is for signing and deriving", "derivation_path_invalid");
  return path;
}

function withChild<T>(key: UnwrappedKey, path: HdPath, use: (privateKey: Uint8Array, publicKey: Uint8Array) => T): T {
  const child = key.toKeyObject(`child ${formatHdPath(path)}`, (entropy) =>
    withSeedOf(entropy, (seed) => withHdKey(seed, path, childKeyObject)),
  );
  const bytes = child.export();
  try {
    return use(bytes.subarray(0, PRIVATE_KEY_BYTES), bytes.subarray(PRIVATE_KEY_BYTES));
  } finally {
    bytes.fill(0);
  }
}

/**
 * Returns private key(32) || public key(65), to be kept: deriving a key from the wallet's entropy takes several times
 * as long as a signature.
 */
function childKeyObject(privateKey: Uint8Array): KeyObject {
  const bytes = Buffer.concat([privateKey, secp256k1PublicKey(privateKey)]);
  try {
    return createSecretKey(bytes);
  } finally {
    bytes.fill(0);
  }
}

function withSeed<T>(key: UnwrappedKey, use: (seed: Uint8Array) => T): T {
  return key.material.use((entropy) => withSeedOf(entropy, use));
}

function withSeedOf<T>(entropy: Uint8Array, use: (seed: Uint8Array) => T): T {
  const seed = seedOfEntropy(entropy);
  try {
    return use(seed);
  } finally {
    seed.fill(0);
  }
}
