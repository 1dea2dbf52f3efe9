/**
 * Answers whom a bearer token stands for, whatever kind of token it is: an access token of this server, a personal
 * access token, or a token of a trusted external issuer.
 */
import type { AccessTokenVerifier, TokenStateLookup } from "../../platform/auth/access-token.js";
import type { Principal, Subject } from "../../platform/auth/principal.js";
import type { Area } from "../../platform/contract/route.js";
import type { IdentityRepository } from "../repository.js";
import type { ExternalUsers } from "../users/external-users.js";
import { isPersonalToken, type PersonalTokens } from "./personal-tokens.js";

export interface BearerAuthenticationDependencies {
  readonly repository: IdentityRepository;
  readonly verifier: AccessTokenVerifier;
  readonly personalTokens: PersonalTokens;
  readonly externalUsers: ExternalUsers;
}

/** The limits of a token that is derived from a caller's own. */
export interface TokenStanding {
  /** Epoch of the subject in which the derived token is good. */
  readonly epoch: number;
  /** When it ends at the latest, in Unix seconds. */
  readonly endsAtSec: number;
}

export class BearerAuthentication {
  readonly #dependencies: BearerAuthenticationDependencies;

  constructor(dependencies: BearerAuthenticationDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the caller that a token stands for; at once, without a promise, for tokens of this server.
   * @param token the text after `bearer `
   * @param area area that the request is for; without it the token must be good for every area
   * @throws unauthorized with the same words whatever is wrong
   */
  authenticate(token: string, area?: Area): Principal | Promise<Principal> {
    const { personalTokens, externalUsers, verifier } = this.#dependencies;
    if (isPersonalToken(token)) return personalTokens.authenticate(token);
    if (externalUsers.claims(token)) return externalUsers.authenticate(token);
    return verifier.authenticate(token, area);
  }

  /**
   * Returns the limits of a token derived from the caller's own, or undefined once the caller's session or personal
   * access token is over or revoked, or its subject is deleted or disabled.
   */
  standingOf(subject: Subject, sessionId: string): TokenStanding | undefined {
    const { repository, personalTokens } = this.#dependencies;
    const state = repository.findState(subject)?.value;
    if (state?.enabled !== true) return undefined;
    const { epoch } = state;
    const session = repository.findSession(subject, sessionId)?.value;
    if (session !== undefined)
      return session.epoch < epoch ? undefined : { epoch, endsAtSec: Math.floor(session.ends_at_ms / 1000) };
    const personal = personalTokens.find(subject, sessionId);
    return personal === undefined ? undefined : { epoch, endsAtSec: Math.floor(personal.expires_at_ms / 1000) };
  }
}

/** Lets the verifier of access tokens read the state of subjects and sessions. */
export function tokenStateOf(repository: IdentityRepository): TokenStateLookup {
  return {
    revision: () => repository.revision(),
    epochOf: (subject) => {
      const state = repository.findState(subject)?.value;
      return state?.enabled === true ? state.epoch : undefined;
    },
    isSessionLive: (subject, sessionId) => repository.findSession(subject, sessionId) !== undefined,
  };
}
