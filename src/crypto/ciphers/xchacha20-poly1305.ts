/** XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03, section 2.3) by @noble/ciphers, behind the common AEAD shape. */
import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { AEAD_TAG_BYTES, assertAeadInput, AuthenticationFailure, type Aead, type AeadInput } from "./aead.js";
import { fillPublicRandom } from "../public-random.js";

const NO_PREFIX = new Uint8Array();

/** The cipher; `aead.ts` has its interface. */
export const xchacha20Poly1305: Aead = {
  writeNonce: (_key, into) => {
    fillPublicRandom(into);
  },
  seal: (input, plaintext, prefix = NO_PREFIX) =>
    withKeyBytes(input, (key) =>
      Buffer.concat([prefix, xchacha20poly1305(key, input.nonce, input.aad).encrypt(plaintext)]),
    ),
  open(input, sealed) {
    if (sealed.length < AEAD_TAG_BYTES) throw new AuthenticationFailure();
    return withKeyBytes(input, (key) => {
      try {
        return xchacha20poly1305(key, input.nonce, input.aad).decrypt(sealed);
      } catch {
        throw new AuthenticationFailure();
      }
    });
  },
};

/** Passes the key's bytes, which the library needs, to a function and overwrites them afterwards. */
function withKeyBytes<T>(input: AeadInput, use: (key: Uint8Array) => T): T {
  assertAeadInput(input);
  const key = input.key.export();
  try {
    return use(key);
  } finally {
    key.fill(0);
  }
}
