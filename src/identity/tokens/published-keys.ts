/** The public signing keys as clients fetch them: as a JWK set (RFC 7517 section 5), and as a list with PEM. */
import { publicKeyPem, type PublicJwk, type SigningKeys } from "../../platform/auth/signing-keys.js";

/** A public key with its PEM form and its thumbprint (RFC 7638) under a second name. */
export type PublishedKey = PublicJwk & { readonly fingerprint: string; readonly public_key: string };

/** Returns the key set of /.well-known/jwks.json. */
export function jwkSet(keys: SigningKeys): { keys: PublicJwk[] } {
  return { keys: keys.publicKeys() };
}

/** Returns the keys of /.well-known/keys. */
export function publishedKeys(keys: SigningKeys): PublishedKey[] {
  return keys.publicKeys().map((jwk) => ({ ...jwk, fingerprint: jwk.kid, public_key: publicKeyPem(jwk) }));
}
