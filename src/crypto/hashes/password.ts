/**
 * Password hashing: Argon2id (RFC 9106) in PHC string form. Runs on the addon's own threads, never on the caller's. The
 * only importer of @node-rs/argon2.
 */
import { randomBytes } from "node:crypto";
import { hash, verify } from "@node-rs/argon2";

/** The cost parameters m, t and p of RFC 9106. */
export interface PasswordHashCost {
  readonly memoryKiB: number;
  readonly passes: number;
  /** The RFC's degree of parallelism. */
  readonly lanes: number;
}

/** OWASP's minimum for Argon2id: about 9 ms and 19 MiB each, so that two at once do not starve the machine. */
export const PASSWORD_HASH_COST: PasswordHashCost = { memoryKiB: 19 * 1024, passes: 2, lanes: 1 };

const SALT_BYTES = 16;
const DIGEST_BYTES = 32;
const PHC = /^\$argon2id\$v=19\$m=(\d{1,10}),t=(\d{1,10}),p=(\d{1,3})\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/;

/**
 * Hashes a password with a fresh salt.
 * @param password text after NFKC; hashed whole, as UTF-8
 * @returns `$argon2id$v=19$m=..,t=..,p=..$salt$digest`
 * @example const phc = await hashPassword(text.normalize("NFKC"), PASSWORD_HASH_COST);
 */
export async function hashPassword(password: string, cost: PasswordHashCost): Promise<string> {
  return hash(password, {
    // The algorithm is the addon's default, Argon2id: its constant is a const enum, which isolated modules cannot read.
    memoryCost: cost.memoryKiB,
    timeCost: cost.passes,
    parallelism: cost.lanes,
    outputLen: DIGEST_BYTES,
    salt: randomBytes(SALT_BYTES),
  });
}

/**
 * Returns whether the hash was made from the password, at the cost of the hash's own parameters. Rejects when the text
 * is no PHC string.
 */
export async function verifyPassword(phc: string, password: string): Promise<boolean> {
  return verify(phc, password);
}

/**
 * Returns a random hash, made from no password: verifying it costs the same as a real one, so that a login to an
 * unknown account takes as long.
 */
export function decoyPasswordHash(cost: PasswordHashCost): string {
  const text = (bytes: number) => randomBytes(bytes).toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${cost.memoryKiB},t=${cost.passes},p=${cost.lanes}$${text(SALT_BYTES)}$${text(DIGEST_BYTES)}`;
}

/** Returns whether the hash was made with other parameters, so that the next login should replace it. */
export function isPasswordHashStale(phc: string, cost: PasswordHashCost): boolean {
  const parts = PHC.exec(phc);
  if (parts === null) return true;
  return Number(parts[1]) !== cost.memoryKiB || Number(parts[2]) !== cost.passes || Number(parts[3]) !== cost.lanes;
}
