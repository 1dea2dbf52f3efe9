/**
 * Checks the signature of a token of the server offline, under a published key set. Imports no server code, so that it
 * also runs in browsers.
 */
import { compactVerify, decodeProtectedHeader, importJWK, type JWK } from "jose";

/** A JWK set with the public keys, and those that are no longer to be trusted. */
export interface TokenKeys {
  readonly keys: readonly JWK[];
  readonly revoked_keys?: readonly { readonly kid: string; readonly revoked_at: string }[];
}

/** What tokens of one kind are like. */
export interface TokenKind {
  /** For messages, such as `receipt`. */
  readonly name: string;
  /** The header's `typ`. */
  readonly type: string;
  readonly charactersMax: number;
}

export type TokenFault = "malformed" | "key_unknown" | "key_revoked" | "signature_invalid";

/** Why the signature of a token is not accepted. */
export class TokenError extends Error {
  override readonly name = "TokenError";
  readonly fault: TokenFault;

  constructor(fault: TokenFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

const ALGORITHM = "EdDSA";

/**
 * Returns the payload of a token whose signature is good; the header decides nothing but which key is looked for.
 * @param token compact JWS
 * @throws TokenError
 */
export async function verifySignedToken(
  token: string,
  { keys, revoked_keys: revoked = [] }: TokenKeys,
  { name, type, charactersMax }: TokenKind,
): Promise<Uint8Array> {
  if (token.length > charactersMax) throw new TokenError("malformed", `the ${name} is too long`);
  const { typ, alg, kid } = headerOf(token, name);
  if (typ !== type) throw new TokenError("malformed", `the header's typ is not ${type}`);
  if (alg !== ALGORITHM) throw new TokenError("malformed", `the header's alg is not ${ALGORITHM}`);
  if (typeof kid !== "string") throw new TokenError("malformed", "the header names no key");
  const end = revoked.find((key) => key.kid === kid);
  if (end !== undefined)
    throw new TokenError("key_revoked", `the key that signed the ${name} was revoked on ${end.revoked_at}`);
  const named = keys.filter((key) => key.kid === kid && key.kty === "OKP" && key.crv === "Ed25519");
  const [key] = named;
  if (key === undefined || named.length > 1)
    throw new TokenError("key_unknown", `the key set does not have the key that signed the ${name}`);
  try {
    const publicKey = await importJWK({ kty: "OKP", crv: "Ed25519", x: key.x ?? "" }, ALGORITHM);
    return (await compactVerify(token, publicKey, { algorithms: [ALGORITHM] })).payload;
  } catch {
    throw new TokenError("signature_invalid", `the ${name}'s signature is not that of its key`);
  }
}

function headerOf(token: string, name: string): ReturnType<typeof decodeProtectedHeader> {
  try {
    return decodeProtectedHeader(token);
  } catch {
    throw new TokenError("malformed", `the ${name} is no compact JWS`);
  }
}
