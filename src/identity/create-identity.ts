/**
 * Puts the identity area together for the composition root: each part gets the parts before it as values. Reads no
 * settings and knows no HTTP.
 */
import { PASSWORD_HASH_COST, type PasswordHashCost } from "../crypto/hashes/password.js";
import { AccessTokenVerifier } from "../platform/auth/access-token.js";
import { ExternalIssuers, type TrustedIssuer } from "../platform/auth/external-issuers.js";
import { PasswordHashLimiter, type PasswordHashLimiterOptions } from "../platform/auth/password-hash-limiter.js";
import type { Principal } from "../platform/auth/principal.js";
import type { PublicJwk, SigningKeys } from "../platform/auth/signing-keys.js";
import type { Clock } from "../platform/clock.js";
import type { Area, HandlersFor } from "../platform/contract/route.js";
import type { Events } from "../platform/events/events.js";
import type { Log } from "../platform/log.js";
import type { MailDriver } from "../platform/mail/mail.js";
import { Outbox, type OutboxOptions } from "../platform/mail/outbox.js";
import type { References } from "../platform/references.js";
import type { Store } from "../platform/store/store.js";
import { identityHandlers } from "./handlers.js";
import { createHourlyLimits } from "./login/hourly-limit.js";
import { Login } from "./login/login.js";
import { LoginThrottle, type LoginThrottleOptions } from "./login/login-throttle.js";
import { PasswordReset } from "./login/password-reset.js";
import { ThrottleCounters } from "./login/throttle-counters.js";
import { VirtualUserLogin } from "./login/virtual-user-login.js";
import { Authorization } from "./oauth/authorization.js";
import { AuthorizationCodes } from "./oauth/authorization-codes.js";
import { ClientAuthentication } from "./oauth/client-authentication.js";
import { Clients } from "./oauth/clients.js";
import { DeviceAuthorization } from "./oauth/device/device-authorization.js";
import { DeviceCodes } from "./oauth/device/device-codes.js";
import { EndSession } from "./oauth/end-session.js";
import { IdTokens } from "./oauth/id-tokens.js";
import type { LegalLinks } from "./oauth/legal-documents.js";
import { TokenInspection } from "./oauth/token-inspection.js";
import { UserInfo } from "./oauth/user-info.js";
import { MailedTokens, type MailedTokenRecord, type MailedTokensDependencies } from "./mailed-tokens.js";
import { IdentityRepository } from "./repository.js";
import type { identityRoutes } from "./routes.js";
import type { IdentityServices } from "./services.js";
import { SubjectDeletion, type OwnerPurge } from "./subject-deletion.js";
import { AdminGuard } from "./tenants/admin-guard.js";
import { Applications } from "./tenants/applications.js";
import { Directory } from "./tenants/directory.js";
import { Invitations } from "./tenants/invitations.js";
import { Memberships } from "./tenants/memberships.js";
import { Organizations, type FirstVault } from "./tenants/organizations.js";
import { TenantAccess } from "./tenants/tenant-access.js";
import { Turns } from "./tenants/turns.js";
import { TenantRepository } from "./tenants/tenant-repository.js";
import { BearerAuthentication, tokenStateOf } from "./tokens/bearer-authentication.js";
import { PersonalTokens } from "./tokens/personal-tokens.js";
import { jwkSet } from "./tokens/published-keys.js";
import { Sessions } from "./tokens/sessions.js";
import { TokenGrants } from "./tokens/token-grants.js";
import { Tokens } from "./tokens/tokens.js";
import { AccountNotices, type AccountNoticesDependencies } from "./users/account-notices.js";
import { Bootstrap } from "./users/bootstrap.js";
import { EmailConfirmation, type ConfirmationRecord, type EmailConfirmationMode } from "./users/email-confirmation.js";
import { ExternalUsers } from "./users/external-users.js";
import { OwnerNotices } from "./users/owner-notices.js";
import { SignUp } from "./users/sign-up.js";
import { UserChanges } from "./users/user-changes.js";
import { Users } from "./users/users.js";

export interface IdentityOptions {
  /** `iss` of the access tokens, one exact string; the address of the server for clients that use OAuth. */
  readonly issuer: string;
  /** New accounts per network address and hour; Infinity also lifts the limits of reset mails and invitations. */
  readonly signupsPerHourMax?: number;
  readonly hashCost?: PasswordHashCost;
  readonly hashGate?: PasswordHashLimiterOptions;
  readonly throttle?: LoginThrottleOptions;
  readonly outbox?: OutboxOptions;
  readonly trustedIssuers?: readonly TrustedIssuer[];
  readonly legal?: LegalLinks;
  /** When addresses are confirmed; `on_request` by default. */
  readonly emailConfirmation?: EmailConfirmationMode;
}

export interface IdentityDependencies {
  readonly store: Store;
  /** Returns a number that grows with the commits of other nodes; absent where there are none. */
  readonly changesElsewhere?: () => number;
  readonly keys: SigningKeys;
  /**
   * Opens the keys that sign id tokens with RS256, which are made with the first call; the same as `keys` where nobody
   * gets an id token.
   */
  readonly idTokenKeys: () => Promise<SigningKeys>;
  readonly clock: Clock;
  readonly log: Log;
  readonly mail: MailDriver;
  /** Makes the records of a new organization's vault; undefined while the vault is sealed. */
  readonly firstVault: FirstVault;
  readonly events: Pick<Events, "commitOf">;
  /** Finds what bodies name by id in other areas. */
  readonly references: References;
  /** Deletes what a subject owns in other areas. */
  readonly purges: readonly OwnerPurge[];
}

export interface Identity {
  readonly services: IdentityServices;
  readonly handlers: HandlersFor<typeof identityRoutes>;
  /** Verifies a bearer token; see BearerAuthentication.authenticate. */
  readonly authenticate: (token: string, area?: Area) => Principal | Promise<Principal>;
  readonly jwks: () => Promise<{ readonly keys: readonly PublicJwk[] }>;
}

/** Builds the identity area over a store and the signing keys (`openSigningKeys`). */
export function createIdentity(options: IdentityOptions, dependencies: IdentityDependencies): Identity {
  const { keys, idTokenKeys } = dependencies;
  const services = createServices(options, dependencies);
  return {
    services,
    handlers: identityHandlers({ issuer: options.issuer, legal: options.legal ?? {} }, { services, keys, idTokenKeys }),
    authenticate: (token, area) => services.bearers.authenticate(token, area),
    jwks: async () => jwkSet(keys, await idTokenKeys()),
  };
}

/** A reset token opens the account, so that it lives as short as mail allows; a confirmation opens nothing. */
const RESET_LIFE_MINUTES = 60;
const CONFIRMATION_LIFE_MINUTES = 24 * 60;

type Base = ReturnType<typeof createBase>;
type TenantParts = ReturnType<typeof createTenantParts>;

function createServices(options: IdentityOptions, dependencies: IdentityDependencies): IdentityServices {
  const { issuer } = options;
  const hashing = { hashCost: options.hashCost ?? PASSWORD_HASH_COST };
  const base = createBase(options, dependencies);
  const tenantParts = createTenantParts(options, base);
  const parts = createTokenParts(options, tenantParts);
  const { bearers } = parts;
  const authenticate = (token: string): Principal | Promise<Principal> => bearers.authenticate(token, "identity");
  const users = new Users(hashing, parts);
  const bootstrap = new Bootstrap(parts);
  const login = new Login(hashing, { ...parts, virtualUsers: new VirtualUserLogin(parts), authenticate });
  const deletion = new SubjectDeletion(parts);
  const oauthParts = {
    ...parts,
    clientAuthentication: new ClientAuthentication({ audiences: assertionAudiences(issuer) }, parts),
    codes: new AuthorizationCodes(parts),
    deviceCodes: new DeviceCodes(parts),
    idTokens: new IdTokens({ issuer }, parts),
    login,
    authenticate,
  };
  return {
    users,
    signUp: new SignUp({ users, bootstrap, authenticate }),
    userChanges: new UserChanges(hashing, { ...parts, login, deletion }),
    bootstrap,
    login,
    passwordReset: new PasswordReset({ ...hashing, serviceUrl: serviceUrlOf(issuer) }, parts),
    emailConfirmation: parts.emailConfirmation,
    tokens: parts.tokens,
    personalTokens: parts.personalTokens,
    tokenGrants: new TokenGrants(oauthParts),
    bearers,
    applications: new Applications({ ...parts, deletion }),
    organizations: new Organizations({ ...parts, deletion }),
    memberships: parts.memberships,
    invitations: parts.invitations,
    access: parts.access,
    turns: new Turns(parts),
    clients: parts.clients,
    authorization: new Authorization({ issuer }, oauthParts),
    deviceAuthorization: new DeviceAuthorization({ serviceUrl: serviceUrlOf(issuer) }, oauthParts),
    endSession: new EndSession(oauthParts),
    tokenInspection: new TokenInspection({ issuer }, oauthParts),
    userInfo: new UserInfo(parts),
    ownerNotices: new OwnerNotices({ serviceUrl: serviceUrlOf(issuer) }, parts),
    outbox: parts.outbox,
  };
}

/** The given dependencies, the repositories over them, and what limits the callers. */
function createBase(options: IdentityOptions, dependencies: IdentityDependencies) {
  const counters = new ThrottleCounters(dependencies);
  const outbox = new Outbox(options.outbox ?? {}, dependencies);
  const { store, changesElsewhere } = dependencies;
  const repository = new IdentityRepository({ store, changesElsewhere });
  const parts = {
    ...dependencies,
    repository,
    outbox,
    limits: createHourlyLimits({ signupsPerHourMax: options.signupsPerHourMax }, { ...dependencies, counters }),
    ...createMailParts(options, { ...dependencies, repository, outbox }),
  };
  return {
    ...parts,
    tenants: new TenantRepository(dependencies),
    hashGate: new PasswordHashLimiter(options.hashGate),
    throttle: new LoginThrottle(options.throttle ?? {}, { ...dependencies, counters }),
    emailConfirmation: new EmailConfirmation(
      { mode: options.emailConfirmation ?? "on_request", serviceUrl: serviceUrlOf(options.issuer) },
      parts,
    ),
  };
}

/** What is mailed to users: tokens that they send back, and notices of what was changed. */
function createMailParts({ issuer }: IdentityOptions, parts: MailedTokensDependencies & AccountNoticesDependencies) {
  return {
    resets: new MailedTokens<MailedTokenRecord>(
      { kind: "password_reset", table: "password_reset", lifeMinutes: RESET_LIFE_MINUTES },
      parts,
    ),
    confirmations: new MailedTokens<ConfirmationRecord>(
      { kind: "email_confirmation", table: "email_confirmation", lifeMinutes: CONFIRMATION_LIFE_MINUTES },
      parts,
    ),
    notices: new AccountNotices({ serviceUrl: serviceUrlOf(issuer) }, parts),
  };
}

/** Who may do what on applications and organizations, and the sessions that act for their members. */
function createTenantParts({ issuer }: IdentityOptions, base: Base) {
  const access = new TenantAccess(base);
  const directory = new Directory(base);
  const sessions = new Sessions({ issuer }, { ...base, access });
  const adminGuard = new AdminGuard(base);
  const memberships = new Memberships({ ...base, access, directory, adminGuard, sessions });
  const invitations = new Invitations({ serviceUrl: serviceUrlOf(issuer) }, { ...base, access, memberships });
  return { ...base, access, directory, sessions, memberships, invitations };
}

/** The kinds of tokens and whom they stand for. */
function createTokenParts({ issuer, trustedIssuers = [] }: IdentityOptions, parts: TenantParts) {
  const { repository } = parts;
  const personalTokens = new PersonalTokens(parts);
  const issuers = new ExternalIssuers({ issuers: trustedIssuers }, parts);
  const bearers = new BearerAuthentication({
    repository,
    verifier: new AccessTokenVerifier({ issuer }, { ...parts, state: tokenStateOf(repository) }),
    personalTokens,
    externalUsers: new ExternalUsers({ ...parts, issuers }),
  });
  const tokens = new Tokens({ ...parts, personalTokens });
  return {
    ...parts,
    personalTokens,
    tokens,
    bearers,
    clients: new Clients({ serviceUrl: serviceUrlOf(issuer) }, parts),
  };
}

/** The address of the server, without slashes at its end. */
function serviceUrlOf(issuer: string): string {
  return issuer.replace(/\/+$/, "");
}

/** The audiences that a client's assertion may name: the issuer and the routes that take assertions (RFC 7523). */
function assertionAudiences(issuer: string): string[] {
  const api = `${serviceUrlOf(issuer)}/api/v1`;
  return [
    issuer,
    `${api}/oauth/token`,
    `${api}/oauth/device_authorization`,
    `${api}/oauth/introspect`,
    `${api}/oauth/revoke`,
    `${api}/tokens`,
  ];
}
