/** secp256k1 keys: ECDSA over digests as Ethereum signs, with the account's address. */
import { invalidMember } from "../../platform/errors.js";
import { addressOfPublicKey } from "../../crypto/ethereum/address.js";
import { generateSecp256k1, parseSecp256k1PublicKey, secp256k1PublicKey } from "../../crypto/secp256k1/secp256k1.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import {
  signEthereum,
  signEthereumItems,
  verifyEthereum,
  verifyEthereumItems,
  type EthereumKey,
} from "./ethereum-signer.js";
import type { KeySpec, SignItem, UnwrappedKey, VerifyItem } from "./key-spec.js";
import { publicKeyOfHex } from "./messages.js";
import { runBatch } from "../threads/batch.js";
import { coordinates } from "./p256.js";

const NAME = "secp256k1";

export const secp256k1: KeySpec = {
  name: NAME,
  type: "asymmetric",
  usage: "sign/verify",
  materialKind: "raw32",
  operationUs: 700,
  generate: () => {
    const privateKey = generateSecp256k1();
    const publicKey = secp256k1PublicKey(privateKey);
    return { material: SecretBytes.take(privateKey), publicKey, address: addressOfPublicKey(publicKey) };
  },
  sign: (key, item) => useKey(key, (signer) => signEthereum(signer, withoutHdOptions(item))),
  signMany: (key, items) =>
    runBatch(items, withoutHdOptions, (all) => useKey(key, (signer) => signEthereumItems(signer, all))),
  verify: (key, item) => verify(key.publicKey, item),
  verifyMany: (key, items) => runBatch(items, withoutHdOptions, (all) => verifyEthereumItems(key.publicKey, all, NAME)),
  detached: {
    verify,
    readPublicKey: (text) => {
      const bytes = publicKeyOfHex(text);
      return bytes === undefined ? undefined : parseSecp256k1PublicKey(bytes);
    },
  },
  jwk: (publicKey) => ({ kty: "EC", crv: "secp256k1", alg: "ES256K", use: "sig", ...coordinates(publicKey) }),
};

function useKey<T>({ keyId, material, publicKey }: UnwrappedKey, use: (key: EthereumKey) => T): T {
  return material.use((privateKey) => use({ keyId, spec: NAME, privateKey, publicKey }));
}

function verify(publicKey: Uint8Array, item: VerifyItem): boolean {
  return verifyEthereum(publicKey, withoutHdOptions(item), NAME);
}

/** Returns the item; refuses options that only wallets have. */
function withoutHdOptions<Item extends SignItem>(item: Item): Item {
  if (item.options?.hdwallet !== undefined)
    throw invalidMember("options.hdwallet", "only BIP39 keys have child keys to choose from", "option_unsupported");
  return item;
}
