/** The public signing keys as clients fetch them: as a JWK set (RFC 7517 section 5), and as a list with PEM. */
import { publicKeyPem, type PublicJwk, type SigningKeys } from "../../platform/auth/signing-keys.js";

/** A public key with its PEM form and its thumbprint (RFC 7638) under a second name. */
export type PublishedKey = PublicJwk & { readonly fingerprint: string; readonly public_key: string };

/** Returns the public keys of several sets, those of the first one first; a set that is given twice counts once. */
export function allPublicKeys(...sets: readonly SigningKeys[]): PublicJwk[] {
  return [...new Set(sets)].flatMap((keys) => keys.publicKeys());
}

/** Returns the key set of /.well-known/jwks.json. */
export function jwkSet(...sets: readonly SigningKeys[]): { keys: PublicJwk[] } {
  return { keys: allPublicKeys(...sets) };
}

/** Returns the keys of /.well-known/keys. */
export function publishedKeys(...sets: readonly SigningKeys[]): PublishedKey[] {
  return allPublicKeys(...sets).map((jwk) => ({ ...jwk, fingerprint: jwk.kid, public_key: publicKeyPem(jwk) }));
}
