/** The userinfo route (OpenID Connect Core section 5.3), and the claims about a user that it shares with id tokens. */
import type { Principal } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import { OPENID, hasScope } from "../tokens/scope.js";
import type { UserInfoJson } from "./oauth-schemas.js";

export class UserInfo {
  readonly #repository: IdentityRepository;

  constructor(dependencies: { readonly repository: IdentityRepository }) {
    this.#repository = dependencies.repository;
  }

  /**
   * Returns the claims that the scope of the caller's token allows; all of them for the token of a login.
   * @throws forbidden unless the caller is a user; insufficient_scope for a client's token without `openid`
   */
  claims(principal: Principal): UserInfoJson {
    const { subject } = principal;
    const user = subject.kind === "user" ? this.#repository.findUser(subject.id)?.value : undefined;
    const session = this.#repository.findSession(subject, principal.sessionId)?.value;
    if (user === undefined) throw new AppError("forbidden", { message: "this needs the token of a user" });
    if (session?.client_id !== undefined && !hasScope(session.scope, OPENID))
      throw new AppError("insufficient_scope", { message: "this needs a token with the scope openid" });
    const isOwnLogin = session !== undefined && session.client_id === undefined;
    const scope = isOwnLogin ? "profile email" : (session?.scope ?? "");
    return { sub: `user:${user.id}`, ...userClaims(user, scope) };
  }
}

/** Returns the claims about a user that a scope lets a client know (OpenID Connect Core section 5.4). */
export function userClaims(user: UserRecord, scope: string): Omit<UserInfoJson, "sub"> {
  return {
    ...(hasScope(scope, "profile")
      ? { name: `${user.first_name} ${user.last_name}`, given_name: user.first_name, family_name: user.last_name }
      : {}),
    ...(hasScope(scope, "email") ? { email: user.email, email_verified: user.email_verified === true } : {}),
  };
}
