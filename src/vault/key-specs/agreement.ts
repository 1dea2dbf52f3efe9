/**
 * What keys for key agreement can do, over the secret that their curve gives. The secret never leaves; callers get HKDF
 * of it, bound to both public keys and the caller's context, so that it can serve as a key. Content keys of JSON Web
 * Encryptions come from it by another hash, and go to proving threads only.
 */
import { contentKeyOf } from "../../crypto/jwe/content-key.js";
import { deriveAgreedKey } from "../worker/key-hierarchy.js";
import type { KeySpec, UnwrappedKey } from "./key-spec.js";

/** Returns the secret shared with a peer's public key; undefined for one that is none of the curve. */
type SharedSecret = (key: UnwrappedKey, peer: Uint8Array) => Uint8Array | undefined;

/** Returns the abilities of a spec whose keys agree. */
export function agreement(sharedSecret: SharedSecret): Required<Pick<KeySpec, "agree" | "contentKey">> {
  const withSecret = <T>(
    key: UnwrappedKey,
    peer: Uint8Array,
    use: (secret: Uint8Array) => T | undefined,
  ): T | undefined => {
    const secret = sharedSecret(key, peer);
    if (secret === undefined) return undefined;
    try {
      return use(secret);
    } finally {
      secret.fill(0);
    }
  };
  return {
    agree: (key, peer, context) =>
      withSecret(key, peer, (secret) => deriveAgreedKey(secret, key.publicKey, peer, context)),
    contentKey: (key, header) => withSecret(key, header.ephemeralKey, (secret) => contentKeyOf(secret, header)),
  };
}
