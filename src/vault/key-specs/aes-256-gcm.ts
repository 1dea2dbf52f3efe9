/**
 * AES-256-GCM keys: encrypt and decrypt with XAES-256-GCM (C2SP), so that random nonces are safe for any number of
 * messages.
 */
import { randomBytes } from "node:crypto";
import { SecretBytes } from "../../crypto/secret-bytes.js";
import { decryptForApi, encryptForApi } from "../worker/api-ciphertexts.js";
import type { KeySpec } from "./key-spec.js";

const KEY_BYTES = 32;
const ALGORITHM = "xaes-256-gcm";

export const aes256Gcm: KeySpec = {
  name: "AES-256-GCM",
  type: "symmetric",
  usage: "encrypt/decrypt",
  materialKind: "raw32",
  operationUs: 30,
  generate: () => ({ material: SecretBytes.take(randomBytes(KEY_BYTES)) }),
  encrypt: (key, plaintext, context) => encryptForApi(ALGORITHM, key, plaintext, context),
  decrypt: (key, frame, context) => decryptForApi(ALGORITHM, key, frame, context),
};
