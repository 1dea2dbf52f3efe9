/** Id tokens (OpenID Connect Core section 2). */
import type { SigningKeys } from "../../platform/auth/signing-keys.js";
import type { Clock } from "../../platform/clock.js";
import type { IdentityRepository } from "../repository.js";
import type { RedeemedCode } from "./authorization-codes.js";
import { userClaims } from "./user-info.js";

export interface IdTokensDependencies {
  readonly repository: IdentityRepository;
  readonly keys: SigningKeys;
  readonly clock: Clock;
}

const LIFE_SEC = 5 * 60;
const TYPE = "JWT";

export class IdTokens {
  readonly #issuer: string;
  readonly #dependencies: IdTokensDependencies;

  /** @param options.issuer `iss` of the tokens */
  constructor(options: { readonly issuer: string }, dependencies: IdTokensDependencies) {
    this.#issuer = options.issuer;
    this.#dependencies = dependencies;
  }

  /** Signs the id token of a redeemed authorization code for its client. */
  async sign(redeemed: RedeemedCode, clientId: string): Promise<string> {
    const { repository, keys, clock } = this.#dependencies;
    const nowSec = Math.floor(clock.nowMs() / 1000);
    const user = repository.findUser(redeemed.userId)?.value;
    return keys.sign(
      {
        iss: this.#issuer,
        sub: `user:${redeemed.userId}`,
        aud: clientId,
        iat: nowSec,
        exp: nowSec + LIFE_SEC,
        ...(redeemed.passwordAtMs === undefined ? {} : { auth_time: Math.floor(redeemed.passwordAtMs / 1000) }),
        ...(redeemed.nonce === undefined ? {} : { nonce: redeemed.nonce }),
        ...(user === undefined ? {} : userClaims(user, redeemed.scope)),
      },
      TYPE,
    );
  }
}
