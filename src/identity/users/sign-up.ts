/**
 * POST /users: decides by the bearer of the request on whose behalf a user is created. Anybody may sign up; an
 * application creates virtual users; an administrator may choose permissions; a bootstrap token creates the first
 * administrator.
 */
import { OPAQUE_PREFIXES } from "../../platform/auth/opaque-token.js";
import { ADMINISTRATOR_PERMISSIONS, PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import type { Principal } from "../../platform/auth/principal.js";
import type { CreateUserInput, UserJson } from "../schemas.js";
import type { Bootstrap } from "./bootstrap.js";
import type { Users } from "./users.js";

export interface SignUpDependencies {
  readonly users: Users;
  readonly bootstrap: Bootstrap;
  /** Verifies the bearer of a request. Throws `unauthorized`. */
  readonly authenticate: (token: string) => Principal | Promise<Principal>;
}

export class SignUp {
  readonly #dependencies: SignUpDependencies;

  constructor(dependencies: SignUpDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Creates a user; throws as `Users.create` does, and `unauthorized` for a bearer that is not good.
   * @param bearer the token of the request; undefined for anybody
   * @param address network address of the caller, for the hourly limit
   */
  async create(input: CreateUserInput, bearer: string | undefined, address: string): Promise<UserJson> {
    const { users, bootstrap, authenticate } = this.#dependencies;
    if (bearer === undefined) return users.create(input, address);
    if (bearer.startsWith(OPAQUE_PREFIXES.bootstrap)) {
      return users.create(input, address, {
        permissions: ADMINISTRATOR_PERMISSIONS,
        extraCommit: bootstrap.useCommit(bearer),
        skipsHourlyLimit: true,
      });
    }
    const principal = await authenticate(bearer);
    const isAdministrator =
      holdsAll(principal.permissions, PERMISSIONS.user_create) || holdsAll(principal.permissions, PERMISSIONS.sudo);
    return users.create(input, address, { principal, skipsHourlyLimit: isAdministrator });
  }
}
