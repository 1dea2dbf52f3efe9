/** What the identity area can do, by subject: the parts that its handlers and the composition root call. */
import type { Outbox } from "../platform/mail/outbox.js";
import type { Login } from "./login/login.js";
import type { PasswordReset } from "./login/password-reset.js";
import type { Authorization } from "./oauth/authorization.js";
import type { Clients } from "./oauth/clients.js";
import type { TokenInspection } from "./oauth/token-inspection.js";
import type { UserInfo } from "./oauth/user-info.js";
import type { Applications } from "./tenants/applications.js";
import type { Invitations } from "./tenants/invitations.js";
import type { Memberships } from "./tenants/memberships.js";
import type { Organizations } from "./tenants/organizations.js";
import type { TenantAccess } from "./tenants/tenant-access.js";
import type { BearerAuthentication } from "./tokens/bearer-authentication.js";
import type { PersonalTokens } from "./tokens/personal-tokens.js";
import type { TokenGrants } from "./tokens/token-grants.js";
import type { Tokens } from "./tokens/tokens.js";
import type { EmailConfirmation } from "./users/email-confirmation.js";
import type { Bootstrap } from "./users/bootstrap.js";
import type { SignUp } from "./users/sign-up.js";
import type { UserChanges } from "./users/user-changes.js";
import type { Users } from "./users/users.js";

export interface IdentityServices {
  readonly users: Users;
  readonly signUp: SignUp;
  readonly userChanges: UserChanges;
  readonly bootstrap: Bootstrap;
  readonly login: Login;
  readonly passwordReset: PasswordReset;
  readonly emailConfirmation: EmailConfirmation;
  readonly tokens: Tokens;
  readonly personalTokens: PersonalTokens;
  readonly tokenGrants: TokenGrants;
  readonly bearers: BearerAuthentication;
  readonly applications: Applications;
  readonly organizations: Organizations;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly access: TenantAccess;
  readonly clients: Clients;
  readonly authorization: Authorization;
  readonly tokenInspection: TokenInspection;
  readonly userInfo: UserInfo;
  readonly outbox: Outbox;
}
