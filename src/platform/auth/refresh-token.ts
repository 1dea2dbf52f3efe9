/**
 * The text form of refresh tokens: `prt_` + base64url(32 bytes) + 6 characters of checksum. Opaque to clients; only its
 * SHA-256 is stored. Bytes: `handle(16) || secret(16)`. The handle is random, the same for all tokens of a family, and
 * leads to the family's record, so that every replaced token is recognised without a record per token. The secret is
 * new at each rotation.
 */
import { createHash, randomBytes } from "node:crypto";
import { checksum } from "./opaque-token.js";

const PREFIX = "prt_";
const HANDLE_BYTES = 16;
const SECRET_BYTES = 16;
/** Prefix, 43 characters of base64url, checksum. */
const FORM = /^prt_([A-Za-z0-9_-]{43})([0-9A-Za-z]{6})$/;

export interface RefreshToken {
  readonly text: string;
  /** 16 bytes shared by the tokens of one family; to be passed to `createRefreshToken` for the next one. */
  readonly handle: Uint8Array;
  /** Lower-case hex SHA-256 of the handle: the key of the family's index record. */
  readonly handleHash: string;
  /** Lower-case hex SHA-256 of all 32 bytes: what the family's record keeps. */
  readonly tokenHash: string;
}

/** Makes the first token of a new family, or with the handle of a family its next token. */
export function createRefreshToken(handle: Uint8Array = randomBytes(HANDLE_BYTES)): RefreshToken {
  if (handle.length !== HANDLE_BYTES) throw new RangeError("a refresh token's handle has 16 bytes");
  return describe(Buffer.concat([handle, randomBytes(SECRET_BYTES)]));
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
