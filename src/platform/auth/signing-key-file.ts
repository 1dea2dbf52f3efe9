/**
 * The file that holds the private signing keys of access tokens. It lies outside the vault's barrier, because tokens
 * must be verified while the vault is sealed. It is protected by the file system alone, and a file that other users can
 * read is rejected.
 */
import Type, { type Static } from "typebox";
import { Compile } from "typebox/compile";
import { PrivateFileError } from "../files/private-file.js";
import type { SecretFile } from "../files/secret-file.js";

const Base64Url32 = Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" });
const Base64Url = Type.String({ pattern: "^[A-Za-z0-9_-]+$", maxLength: 700 });
const COMMON_MEMBERS = {
  kid: Base64Url32,
  /** When the public part was first published. */
  published_at_ms: Type.Integer({ minimum: 0 }),
  /** Only of a previous key: until when it verifies tokens. */
  verifies_until_ms: Type.Optional(Type.Integer({ minimum: 0 })),
};
/** Private keys in the members of their JWK, base64url (RFC 8037, RFC 7518 section 6). */
const StoredKey = Type.Union([
  Type.Object(
    { ...COMMON_MEMBERS, alg: Type.Optional(Type.Literal("EdDSA")), d: Base64Url32, x: Base64Url32 },
    { additionalProperties: false },
  ),
  Type.Object(
    { ...COMMON_MEMBERS, alg: Type.Literal("ES256"), d: Base64Url32, x: Base64Url32, y: Base64Url32 },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      ...COMMON_MEMBERS,
      alg: Type.Literal("RS256"),
      n: Base64Url,
      e: Base64Url,
      d: Base64Url,
      p: Base64Url,
      q: Base64Url,
      dp: Base64Url,
      dq: Base64Url,
      qi: Base64Url,
    },
    { additionalProperties: false },
  ),
]);
const KeyFile = Type.Object(
  {
    version: Type.Literal(1),
    current: StoredKey,
    next: StoredKey,
    previous: Type.Array(StoredKey, { maxItems: 16 }),
  },
  { additionalProperties: false },
);
const keyFile = Compile(KeyFile);

export type StoredSigningKey = Static<typeof StoredKey>;
export type SigningKeyFile = Static<typeof KeyFile>;

/**
 * Reads the file. Returns undefined when there is none.
 * @throws PrivateFileError for a file that other users can read, or that is damaged
 */
export async function readSigningKeyFile(file: SecretFile): Promise<SigningKeyFile | undefined> {
  const text = (await file.read())?.toString("utf8");
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, and with it key bytes.
    throw new PrivateFileError(`signing key file ${file.where} is not JSON`);
  }
  if (!keyFile.Check(value))
    throw new PrivateFileError(`signing key file ${file.where} does not have the expected form`);
  return value;
}

/**
 * Creates the file: its bytes are on disk before its name exists, and an existing file is never replaced.
 * @returns false when the file exists already, such as when another process created it first
 */
export async function createSigningKeyFile(file: SecretFile, content: SigningKeyFile): Promise<boolean> {
  return await file.create(encode(content));
}

/** Replaces the file atomically: after a crash it holds the old content or the new one, never a mixture. */
export async function replaceSigningKeyFile(file: SecretFile, content: SigningKeyFile): Promise<void> {
  await file.replace(encode(content));
}

function encode(content: SigningKeyFile): Uint8Array {
  return Buffer.from(`${JSON.stringify(content, undefined, 2)}\n`, "utf8");
}
