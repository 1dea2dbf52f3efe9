/** ChaCha20 keys: encrypt and decrypt with XChaCha20-Poly1305, never the bare stream; derive child keys with HKDF. */
import { randomBytes } from "node:crypto";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { decryptForApi, encryptForApi } from "../worker/api-ciphertexts.js";
import { deriveChildKey } from "../worker/key-hierarchy.js";
import type { KeySpec } from "./key-spec.js";

const KEY_BYTES = 32;
const ALGORITHM = "xchacha20-poly1305";

export const chaCha20: KeySpec = {
  name: "ChaCha20",
  type: "symmetric",
  usage: "encrypt/decrypt",
  materialKind: "raw32",
  operationUs: 120,
  generate: () => ({ material: SecretBytes.take(randomBytes(KEY_BYTES)) }),
  encrypt: (key, plaintext, context) => encryptForApi(ALGORITHM, key, plaintext, context),
  decrypt: (key, frame, context) => decryptForApi(ALGORITHM, key, frame, context),
  derive: (key, input) => key.material.use((parent) => deriveChildKey(parent, input)),
};
