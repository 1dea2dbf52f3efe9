/** BLS12-381 keys: BLS signatures as Ethereum's consensus layer uses them; 48-byte public keys, 96-byte signatures. */
import {
  BLS_SIGNATURE_BYTES,
  blsPublicKey,
  generateBls,
  isBlsPublicKey,
  proveBlsPossession,
  signBls,
  verifyBls,
  verifyBlsPossession,
} from "../../crypto/signatures/bls.js";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { byteSigner } from "./byte-signer.js";
import { selfCheckFailed } from "./jws.js";
import type { KeySpec } from "./key-spec.js";
import { publicKeyOfHex } from "./messages.js";

export const bls12381: KeySpec = {
  name: "BLS12-381",
  type: "asymmetric",
  usage: "sign/verify",
  materialKind: "raw32",
  operationUs: 60_000,
  generate: () => {
    const privateKey = generateBls();
    return { material: SecretBytes.take(privateKey), publicKey: blsPublicKey(privateKey) };
  },
  provePossession: (key) => {
    const proof = key.material.use(proveBlsPossession);
    if (!verifyBlsPossession(key.publicKey, proof)) throw selfCheckFailed();
    return proof;
  },
  ...byteSigner({
    spec: "BLS12-381",
    algorithms: ["BLS12-381"],
    jwsAlgorithms: [],
    signatureBytes: BLS_SIGNATURE_BYTES,
    sign: (key, _algorithm, message) => key.material.use((privateKey) => signBls(privateKey, message)),
    verify: (publicKey, _algorithm, message, signature) => verifyBls(publicKey, message, signature),
    readPublicKey: (text) => {
      const bytes = publicKeyOfHex(text);
      return bytes !== undefined && isBlsPublicKey(bytes) ? bytes : undefined;
    },
  }),
};
