/**
 * Id tokens (OpenID Connect Core section 2), and what one says that a client brings back as a hint. RS256, which every
 * client can verify, unless the client registered the algorithm of the access tokens.
 */
import { createHash } from "node:crypto";
import { createLocalJWKSet, jwtVerify, type JWTPayload } from "jose";
import type { SigningKeys } from "../../platform/auth/signing-keys.js";
import type { SigningAlgorithm } from "../../platform/auth/verification-key.js";
import type { Clock } from "../../platform/clock.js";
import { isUuid } from "../../platform/ids.js";
import type { IdentityRepository } from "../repository.js";
import { allPublicKeys } from "../tokens/published-keys.js";
import type { ClientRecord } from "./clients.js";
import { userClaims } from "./user-info.js";

export interface IdTokensDependencies {
  readonly repository: IdentityRepository;
  readonly keys: SigningKeys;
  /** Opens the keys of RS256, which are made with the first call. */
  readonly idTokenKeys: () => Promise<SigningKeys>;
  readonly clock: Clock;
}

/** The login that an id token tells of. */
export interface IdTokenLogin {
  readonly userId: string;
  readonly sessionId: string;
  readonly scope: string;
  readonly nonce: string | undefined;
  readonly passwordAtMs: number | undefined;
}

/** What an id token says of its login. */
export interface IdTokenHint {
  readonly userId: string;
  readonly clientId: string;
  /** Absent in tokens of older versions. */
  readonly sessionId: string | undefined;
}

const LIFE_SEC = 5 * 60;
const TYPE = "JWT";
const SUBJECT_PREFIX = "user:";

export class IdTokens {
  readonly #issuer: string;
  readonly #dependencies: IdTokensDependencies;

  /** @param options.issuer `iss` of the tokens */
  constructor(options: { readonly issuer: string }, dependencies: IdTokensDependencies) {
    this.#issuer = options.issuer;
    this.#dependencies = dependencies;
  }

  /** Signs the id token that a client gets together with an access token. */
  async sign(login: IdTokenLogin, client: ClientRecord, accessToken: string): Promise<string> {
    const { repository, clock } = this.#dependencies;
    const nowSec = Math.floor(clock.nowMs() / 1000);
    const keys = await this.#keysFor(client);
    const user = repository.findUser(login.userId)?.value;
    return keys.sign(
      {
        iss: this.#issuer,
        sub: SUBJECT_PREFIX + login.userId,
        aud: client.id,
        iat: nowSec,
        exp: nowSec + LIFE_SEC,
        sid: login.sessionId,
        at_hash: accessTokenHash(accessToken, keys.algorithm),
        ...(login.passwordAtMs === undefined ? {} : { auth_time: Math.floor(login.passwordAtMs / 1000) }),
        ...(login.nonce === undefined ? {} : { nonce: login.nonce }),
        ...(user === undefined ? {} : userClaims(user, login.scope)),
      },
      TYPE,
    );
  }

  /**
   * Reads an id token of this server, expired or not: a client may bring it long after (OpenID Connect Core section
   * 3.1.2.1). Returns undefined for any other text.
   */
  async read(text: string): Promise<IdTokenHint | undefined> {
    const { keys, idTokenKeys } = this.#dependencies;
    const keySet = createLocalJWKSet({ keys: allPublicKeys(keys, await idTokenKeys()) });
    let payload: JWTPayload;
    try {
      // At the start of all time nothing has expired.
      const options = { issuer: this.#issuer, typ: TYPE, currentDate: new Date(0), requiredClaims: ["exp"] };
      ({ payload } = await jwtVerify(text, keySet, options));
    } catch {
      // It is not ours, or no longer: which of the two makes no difference.
      return undefined;
    }
    const { sub, aud, sid } = payload;
    const userId = sub?.startsWith(SUBJECT_PREFIX) === true ? sub.slice(SUBJECT_PREFIX.length) : "";
    if (!isUuid(userId) || typeof aud !== "string") return undefined;
    return { userId, clientId: aud, sessionId: typeof sid === "string" && isUuid(sid) ? sid : undefined };
  }

  async #keysFor(client: ClientRecord): Promise<SigningKeys> {
    const { keys, idTokenKeys } = this.#dependencies;
    return client.id_token_signed_response_alg === keys.algorithm ? keys : await idTokenKeys();
  }
}

/**
 * `at_hash` (OpenID Connect Core section 3.1.3.6): the left half of the hash of the algorithm, which for Ed25519 is
 * SHA-512.
 */
function accessTokenHash(accessToken: string, algorithm: SigningAlgorithm): string {
  const digest = createHash(algorithm === "EdDSA" ? "sha512" : "sha256")
    .update(accessToken, "ascii")
    .digest();
  return digest.subarray(0, digest.length / 2).toString("base64url");
}
