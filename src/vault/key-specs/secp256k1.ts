/** secp256k1 keys: ECDSA over digests as Ethereum signs, with the account's address. */
import { addressOfPublicKey } from "../../crypto/ethereum/address.js";
import { generateSecp256k1, parseSecp256k1PublicKey, secp256k1PublicKey } from "../../crypto/secp256k1.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { signEthereum, verifyEthereum } from "./ethereum-signer.js";
import type { KeySpec, SignItem, VerifyItem } from "./key-spec.js";
import { publicKeyOfHex } from "./messages.js";
import { invalidMember } from "../text.js";
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
  sign: (key, item) => {
    refuseHdOptions(item);
    return key.material.use((privateKey) => signEthereum({ keyId: key.keyId, spec: NAME, privateKey, publicKey: key.publicKey }, item));
  },
  verify: (key, item) => verify(key.publicKey, item),
  verifyDetached: verify,
  readPublicKey: (text) => {
    const bytes = publicKeyOfHex(text);
    return bytes === undefined ? undefined : parseSecp256k1PublicKey(bytes);
  },
  jwk: (publicKey) => ({ kty: "EC", crv: "secp256k1", alg: "ES256K", use: "sig", ...coordinates(publicKey) }),
};

function verify(publicKey: Uint8Array, item: VerifyItem): boolean {
  refuseHdOptions(item);
  return verifyEthereum(publicKey, item, NAME);
}

function refuseHdOptions({ options }: SignItem): void {
  if (options?.hdwallet !== undefined) throw invalidMember("options.hdwallet", "only BIP39 keys have keys to choose from", "option_unsupported");
}
