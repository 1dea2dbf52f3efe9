/**
 * The text form of refresh tokens: `prt_` + base64url(32 bytes) + 6 characters of checksum. Opaque to clients; only its
 * SHA-256 is stored. Bytes: `handle(16) || secret(16)`. The handle is random, the same for all tokens of a family, and
 * leads to the family's record, so that every replaced token is recognised without a record per token. The secret is
 * new at each rotation, and is derived from the replaced token, so that whoever presents that one again can be given
 * the same successor although the server keeps neither.
 */
import { createHash, hkdfSync, randomBytes } from "node:crypto";
import { checksum } from "./opaque-token.js";

const PREFIX = "prt_";
const HANDLE_BYTES = 16;
const SECRET_BYTES = 16;
const SALT_BYTES = 16;
const SUCCESSOR_INFO = "proofwright refresh token successor v1";
/** Prefix, 43 characters of base64url, checksum. */
const FORM = /^prt_([A-Za-z0-9_-]{43})([0-9A-Za-z]{6})$/;

export interface RefreshToken {
  readonly text: string;
  /** 16 bytes shared by the tokens of one family. */
  readonly handle: Uint8Array;
  /** Lower-case hex SHA-256 of the handle: the key of the family's index record. */
  readonly handleHash: string;
  /** Lower-case hex SHA-256 of all 32 bytes: what the family's record keeps. */
  readonly tokenHash: string;
}

/** Makes the first token of a new family. */
export function createRefreshToken(): RefreshToken {
  return describe(randomBytes(HANDLE_BYTES + SECRET_BYTES));
}

/** Makes the salt of one rotation; it is kept with the family's record and is no secret. */
export function createSuccessorSalt(): string {
  return randomBytes(SALT_BYTES).toString("base64url");
}

/**
 * Returns the token that replaces another one: the same for the same salt, on every node and after a restart. Its
 * secret is HKDF-SHA-256 (RFC 5869) of the replaced token. The salt alone says nothing about it, since the replaced
 * token is kept as a hash only, and an old token alone does not either, since each rotation draws its salt anew.
 * @param salt of the rotation (`createSuccessorSalt`)
 */
export function succeedingToken(replaced: RefreshToken, salt: string): RefreshToken {
  const secret = hkdfSync("sha256", replaced.text, Buffer.from(salt, "base64url"), SUCCESSOR_INFO, SECRET_BYTES);
  return describe(Buffer.concat([replaced.handle, Buffer.from(secret)]));
}

/**
 * Parses a token without looking it up. Returns undefined for other text, a wrong checksum or a second spelling
 * of the same bytes.
 */
export function parseRefreshToken(text: string): RefreshToken | undefined {
  const parts = FORM.exec(text);
  if (parts?.[1] === undefined) return undefined;
  const token = describe(Buffer.from(parts[1], "base64url"));
  return token.text === text ? token : undefined;
}

function describe(bytes: Buffer): RefreshToken {
  const body = PREFIX + bytes.toString("base64url");
  const handle = bytes.subarray(0, HANDLE_BYTES);
  return { text: body + checksum(body), handle, handleHash: sha256(handle), tokenHash: sha256(bytes) };
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
