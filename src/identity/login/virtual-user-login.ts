/**
 * Login of virtual users without a password: their application vouches for them. Ordinary users, and virtual users with
 * a password, cannot be logged in this way.
 */
import { PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import type { IdentityRepository } from "../repository.js";
import type { AuthenticateInput, TokenJson, UserJson } from "../schemas.js";
import { grantedScope } from "../tokens/scope.js";
import type { Sessions } from "../tokens/sessions.js";
import { normalizeEmail } from "../users/email.js";
import { userJson } from "../users/users.js";

export interface VirtualUserLoginDependencies {
  readonly repository: IdentityRepository;
  readonly sessions: Sessions;
}

export class VirtualUserLogin {
  readonly #dependencies: VirtualUserLoginDependencies;

  constructor(dependencies: VirtualUserLoginDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Opens a session of a virtual user of the calling application. Its token carries no more than the application's
   * token does, apart from the bit `authenticate`, which only users hold.
   * @throws forbidden unless the caller is an application that may create; invalid_credentials for any other user
   */
  async logIn(
    application: Principal,
    input: Pick<AuthenticateInput, "email" | "scope">,
  ): Promise<{ user: UserJson; token: TokenJson }> {
    const { repository, sessions } = this.#dependencies;
    const { subject: caller, permissions } = application;
    if (caller.kind !== "application" || !holdsAll(permissions, PERMISSIONS.create))
      throw new AppError("forbidden", { message: "this needs a token of an application that may create" });
    const user = repository.findUserByEmail(normalizeEmail(input.email) ?? "", caller.id)?.value;
    const subject: Subject | undefined = user === undefined ? undefined : { kind: "user", id: user.id };
    const state = subject === undefined ? undefined : repository.findState(subject)?.value;
    if (
      user === undefined ||
      subject === undefined ||
      state?.enabled !== true ||
      !holdsAll(user.permissions, PERMISSIONS.authenticate) ||
      repository.findCredentialOf(user.id) !== undefined
    ) {
      throw new AppError("invalid_credentials", { message: "authentication failed with given credentials" });
    }
    const limit = permissions | PERMISSIONS.authenticate;
    const attributes = holdsAll(limit, user.permissions) ? {} : { permissions_max: limit };
    const prepared = sessions.prepare({ subject, epoch: state.epoch, scope: grantedScope(input.scope), attributes });
    return { user: userJson(user), token: await sessions.open(prepared, user.permissions) };
  }
}
