/**
 * Password hashing: Argon2id (RFC 9106) in PHC string form. Runs on the addon's own threads, never on the caller's. The
 * only importer of @node-rs/argon2. Knows nothing of accounts or policy.
 */
import { randomBytes } from "node:crypto";
import { hash, verify } from "@node-rs/argon2";

export interface PasswordHashCost {
  readonly memoryKiB: number;
  readonly passes: number;
  readonly lanes: number;
}

/**
 * OWASP's minimum for Argon2id: about 9 ms and 19 MiB each, so that two at once cannot starve the machine (security
 * 3.6).
 */
export const PASSWORD_HASH_COST: PasswordHashCost = { memoryKiB: 19 * 1024, passes: 2, lanes: 1 };

const SALT_BYTES = 16;
const DIGEST_BYTES = 32;
/** Argon2id in the addon's numbering; its own constant is a const enum, which isolated modules cannot read. */
const ARGON2ID = 2;
const PHC = /^\$argon2id\$v=19\$m=(\d{1,10}),t=(\d{1,10}),p=(\d{1,3})\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/;

/**
 * Hashes a password with a fresh salt.
 * @param password text after NFKC; hashed whole, as UTF-8
 * @returns `$argon2id$v=19$m=..,t=..,p=..$salt$digest`
 */
export async function hashPassword(password: string, cost: PasswordHashCost): Promise<string> {
  return hash(password, {
    algorithm: ARGON2ID,
    memoryCost: cost.memoryKiB,
    timeCost: cost.passes,
    parallelism: cost.lanes,
    outputLen: DIGEST_BYTES,
    salt: randomBytes(SALT_BYTES),
  });
}

/**
 * True when the password made this hash. Costs what the hash's own parameters say. Rejects on text that is no PHC
 * string.
 */
export async function verifyPassword(phc: string, password: string): Promise<boolean> {
  return verify(phc, password);
}

/**
 * A hash that no password made: verifying against it costs what a real one costs, so that unknown accounts take as
 * long.
 */
export function decoyPasswordHash(cost: PasswordHashCost): string {
  const text = (bytes: number) => randomBytes(bytes).toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${cost.memoryKiB},t=${cost.passes},p=${cost.lanes}$${text(SALT_BYTES)}$${text(DIGEST_BYTES)}`;
}

/** True when the hash was made with other parameters than today's and should be made anew at the next login. */
export function isPasswordHashStale(phc: string, cost: PasswordHashCost): boolean {
  const parts = PHC.exec(phc);
  if (parts === null) return true;
  return Number(parts[1]) !== cost.memoryKiB || Number(parts[2]) !== cost.passes || Number(parts[3]) !== cost.lanes;
}
