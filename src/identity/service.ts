/** Identity as a whole: wires its parts over the store. Reads no settings and knows no HTTP. */
import { PASSWORD_HASH_COST, type PasswordHashCost } from "../crypto/hashes/password.js";
import { AccessTokenVerifier, type TokenStateLookup } from "../platform/auth/access-token.js";
import { ExternalIssuers, type TrustedIssuer } from "../platform/auth/external-issuers.js";
import { HashGate, type HashGateOptions } from "../platform/auth/password-hash-limiter.js";
import { OPAQUE_PREFIXES } from "../platform/auth/opaque-token.js";
import { ADMINISTRATOR_PERMISSIONS, PERMISSIONS, holdsAll } from "../platform/auth/permissions.js";
import type { Principal, Subject } from "../platform/auth/principal.js";
import { publicKeyPem, type PublicJwk, type SigningKeys } from "../platform/auth/signing-keys.js";
import { isoTimestamp, type Clock } from "../platform/clock.js";
import type { Area } from "../platform/contract/route.js";
import { AppError } from "../platform/errors.js";
import type { Events } from "../platform/events/events.js";
import type { Log } from "../platform/log.js";
import type { MailDriver } from "../platform/mail/mail.js";
import { Outbox, type OutboxOptions } from "../platform/mail/outbox.js";
import type { Store } from "../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../platform/store/tables.js";
import { TenantAccess } from "./tenants/tenant-access.js";
import { PersonalTokens } from "./tokens/personal-tokens.js";
import { Applications } from "./tenants/applications.js";
import { AuthorizationCodes } from "./oauth/authorization-codes.js";
import { Bootstrap } from "./users/bootstrap.js";
import { ClientAuthentication } from "./oauth/client-authentication.js";
import { Clients } from "./oauth/clients.js";
import { Directory } from "./tenants/directory.js";
import { AdminGuard } from "./tenants/admin-guard.js";
import { normalizeEmail } from "./users/email.js";
import { ExternalUsers } from "./users/external-users.js";
import {
  HourlyLimit,
  INVITATIONS_PER_HOUR,
  RESETS_PER_ACCOUNT,
  RESETS_PER_ADDRESS,
  SIGNUPS_PER_HOUR,
} from "./login/hourly-limit.js";
import { Invitations, invitationInvalid } from "./tenants/invitations.js";
import { Login } from "./login/login.js";
import { LoginThrottle, type LoginThrottleOptions } from "./login/login-throttle.js";
import { Memberships } from "./tenants/memberships.js";
import { OAuth } from "./oauth/oauth.js";
import { Organizations, type FirstVault } from "./tenants/organizations.js";
import { PasswordReset } from "./login/password-reset.js";
import { IdentityRepository } from "./repository.js";
import { grantedScope } from "./tokens/scope.js";
import type { AuthenticateInput, CreateTokenInput, CreateUserInput, TokenJson, UserJson } from "./schemas.js";
import { Sessions } from "./tokens/sessions.js";
import { TenantDeletion, type OwnerPurge } from "./subject-deletion.js";
import { TenantRepository } from "./tenants/tenant-repository.js";
import type { CreateOrganizationInput, OrganizationJson } from "./tenants/tenant-schemas.js";
import { ThrottleCounters } from "./login/throttle-counters.js";
import { TokenGrants, type GrantHeaders } from "./tokens/token-grants.js";
import { Tokens } from "./tokens/tokens.js";
import { UserChanges } from "./users/user-changes.js";
import { Users, refusal, userJson, userNotFound } from "./users/users.js";

export interface IdentityOptions {
  /** `iss` of the access tokens, one exact string; where clients reach the server, when they use OAuth. */
  readonly issuer: string;
  /** New accounts, reset mails and invitations per address, account or subject and hour; Infinity for no limit. */
  readonly signupsPerHourMax?: number;
  readonly hashCost?: PasswordHashCost;
  readonly hashGate?: HashGateOptions;
  readonly throttle?: LoginThrottleOptions;
  readonly outbox?: OutboxOptions;
  readonly trustedIssuers?: readonly TrustedIssuer[];
  /** Where the operator keeps the legal documents. */
  readonly legal?: { readonly privacy_policy?: string | undefined; readonly terms_of_service?: string | undefined };
}

export interface IdentityDependencies {
  readonly store: Store;
  readonly keys: SigningKeys;
  readonly clock: Clock;
  readonly log: Log;
  readonly mail: MailDriver;
  /** Makes the records of a new organization's vault; undefined while the vault is sealed. */
  readonly firstVault: FirstVault;
  readonly events: Pick<Events, "commitOf">;
  /** Deletes what a subject owns in other areas. */
  readonly purges: readonly OwnerPurge[];
}

export class IdentityService {
  readonly users: Users;
  readonly userChanges: UserChanges;
  readonly passwordReset: PasswordReset;
  readonly sessions: Sessions;
  readonly tokens: Tokens;
  readonly applications: Applications;
  readonly organizations: Organizations;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly clients: Clients;
  readonly oauth: OAuth;
  readonly access: TenantAccess;
  readonly bootstrap: Bootstrap;
  readonly outbox: Outbox;
  readonly #login: Login;
  readonly #personalTokens: PersonalTokens;
  readonly #grants: TokenGrants;
  readonly #external: ExternalUsers;
  readonly #repository: IdentityRepository;
  readonly #keys: SigningKeys;
  readonly #verifier: AccessTokenVerifier;
  readonly #legal: NonNullable<IdentityOptions["legal"]>;

  constructor(options: IdentityOptions, dependencies: IdentityDependencies) {
    const { store, keys, clock, log, mail, firstVault, events } = dependencies;
    const { issuer } = options;
    const hashCost = options.hashCost ?? PASSWORD_HASH_COST;
    const serviceUrl = issuer.replace(/\/+$/, "");
    const counters = new ThrottleCounters({ store, clock });
    const limit = (
      kind: ConstructorParameters<typeof HourlyLimit>[0]["kind"],
      perHourMax: number,
      message: string,
    ): HourlyLimit =>
      new HourlyLimit(
        { kind, perHourMax: options.signupsPerHourMax === Infinity ? Infinity : perHourMax, message },
        { store, clock, counters },
      );
    const repository = new IdentityRepository({ store });
    const tenants = new TenantRepository({ store });
    const hashGate = new HashGate(options.hashGate);
    const throttle = new LoginThrottle(options.throttle ?? {}, { store, clock, counters });
    const signupLimit = limit(
      "signup",
      options.signupsPerHourMax ?? SIGNUPS_PER_HOUR,
      "too many new accounts from this address",
    );
    const authenticate = (token: string) => this.authenticate(token, "identity");
    const outbox = new Outbox(options.outbox ?? {}, { log });
    const access = new TenantAccess({ repository, tenants });
    const directory = new Directory({ repository, tenants });
    const sessions = new Sessions(
      { issuer },
      { repository, keys, clock, log, permissionsOf: (subject, session) => access.permissionsOf(subject, session) },
    );
    const adminGuard = new AdminGuard({ tenants });
    const memberships = new Memberships({ repository, tenants, access, directory, adminGuard, sessions, clock, log });
    const login = new Login({ hashCost }, { repository, sessions, throttle, hashGate, clock, log });
    const personalTokens = new PersonalTokens({ store, repository, access, clock, log });
    const tokens = new Tokens({ repository, tenants, access, sessions, personalTokens, log });
    const invitations = new Invitations(
      { serviceUrl },
      {
        store,
        repository,
        tenants,
        access,
        memberships,
        limit: limit("invitation", INVITATIONS_PER_HOUR, "too many invitations"),
        mail,
        outbox,
        events,
        clock,
        log,
      },
    );
    const clients = new Clients({ store, repository, tenants, access, sessions, clock, log });
    const audiences = [
      issuer,
      `${serviceUrl}/api/v1/oauth/token`,
      `${serviceUrl}/api/v1/oauth/introspect`,
      `${serviceUrl}/api/v1/oauth/revoke`,
      `${serviceUrl}/api/v1/tokens`,
    ];
    const clientAuthentication = new ClientAuthentication({ audiences }, { clients, store, clock });
    const codes = new AuthorizationCodes({ store, repository, sessions, clock, log });
    const deletion = new TenantDeletion({
      repository,
      tenants,
      memberships,
      sessions,
      purges: [...dependencies.purges, (owner) => this.#purgeOwn(owner)],
    });
    this.users = new Users(
      { hashCost },
      { repository, access, directory, memberships, invitations, signupLimit, hashGate, clock, log },
    );
    this.userChanges = new UserChanges(
      { hashCost },
      {
        repository,
        access,
        directory,
        memberships,
        sessions,
        tokens,
        login,
        deletion,
        signupLimit,
        hashGate,
        clock,
        log,
      },
    );
    this.passwordReset = new PasswordReset(
      { hashCost, serviceUrl },
      {
        store,
        repository,
        tokens,
        sessions,
        throttle,
        hashGate,
        mail,
        outbox,
        clock,
        log,
        addressLimit: limit("reset_address", RESETS_PER_ADDRESS, "too many resets from this address"),
        accountLimit: limit("reset_account", RESETS_PER_ACCOUNT, "too many resets of this account"),
      },
    );
    this.applications = new Applications({ repository, tenants, access, memberships, deletion, clock, log });
    this.organizations = new Organizations({
      repository,
      tenants,
      access,
      memberships,
      deletion,
      firstVault,
      events,
      clock,
      log,
    });
    this.oauth = new OAuth(
      { issuer },
      {
        repository,
        tenants,
        access,
        clients,
        clientAuthentication,
        codes,
        login,
        sessions,
        personalTokens,
        keys,
        clock,
        authenticate,
      },
    );
    this.bootstrap = new Bootstrap({ store, repository, clock });
    this.#grants = new TokenGrants({
      repository,
      tenants,
      access,
      sessions,
      personalTokens,
      clients,
      clientAuthentication,
      codes,
      authenticate,
      idToken: (redeemed, clientId) => this.oauth.idToken(redeemed, clientId),
    });
    this.#external = new ExternalUsers({
      issuers: new ExternalIssuers({ issuers: options.trustedIssuers ?? [] }, { clock, log }),
      repository,
      access,
      clock,
      log,
    });
    this.#verifier = new AccessTokenVerifier({ issuer }, { clock, keys, state: tokenState(repository) });
    this.sessions = sessions;
    this.tokens = tokens;
    this.memberships = memberships;
    this.invitations = invitations;
    this.clients = clients;
    this.access = access;
    this.outbox = outbox;
    this.#login = login;
    this.#personalTokens = personalTokens;
    this.#repository = repository;
    this.#keys = keys;
    this.#legal = options.legal ?? {};
  }

  /**
   * Who a bearer token stands for: an access token (AccessTokenVerifier.authenticate), a personal access token, or one
   * of a trusted issuer.
   */
  authenticate(token: string, area?: Area): Principal | Promise<Principal> {
    if (PersonalTokens.isPersonalToken(token)) return this.#personalTokens.authenticate(token);
    if (this.#external.claims(token)) return this.#external.authenticate(token);
    return this.#verifier.authenticate(token, area);
  }

  /**
   * What a token that is derived from a caller's own may rest on: the epoch in which it holds, and when it ends (Unix
   * seconds). Undefined once the caller's session or personal token is over or revoked, or its subject is gone or
   * disabled.
   */
  standingOf(subject: Subject, sessionId: string): { readonly epoch: number; readonly endsAtSec: number } | undefined {
    const state = this.#repository.findState(subject)?.value;
    if (state?.enabled !== true) return undefined;
    const { epoch } = state;
    const session = this.#repository.findSession(subject, sessionId)?.value;
    if (session !== undefined)
      return session.epoch < epoch ? undefined : { epoch, endsAtSec: Math.floor(session.ends_at_ms / 1000) };
    const personal = this.#personalTokens.find(subject, sessionId);
    return personal === undefined ? undefined : { epoch, endsAtSec: Math.floor(personal.expires_at_ms / 1000) };
  }

  /**
   * Creates a user: for anybody, for an application, for an administrator, or as the first administrator; see
   * Users.create.
   */
  async signUp(input: CreateUserInput, bearer: string | undefined, address: string): Promise<UserJson> {
    if (bearer === undefined) return this.users.create(input, address);
    if (bearer.startsWith(OPAQUE_PREFIXES.bootstrap)) {
      return this.users.create(input, address, {
        permissions: ADMINISTRATOR_PERMISSIONS,
        extra: this.bootstrap.useCommit(bearer),
        uncounted: true,
      });
    }
    const principal = await this.authenticate(bearer, "identity");
    const isAdministrator =
      holdsAll(principal.permissions, PERMISSIONS.user_create) || holdsAll(principal.permissions, PERMISSIONS.sudo);
    return this.users.create(input, address, { principal, uncounted: isAdministrator });
  }

  /** Logs in with e-mail and password (Login.authenticate), or a virtual user by its application. */
  async logIn(
    input: AuthenticateInput,
    address: string,
    bearer?: string,
  ): Promise<{ user: UserJson; token: TokenJson }> {
    const { password, invitation_token: invitationToken, ...rest } = input;
    if (password === undefined) return this.#logInVirtualUser(input, bearer);
    if (invitationToken === undefined) return this.#login.authenticate({ ...rest, password }, address);
    return this.#login.authenticate({ ...rest, password }, address, (user) => {
      const invitation = this.invitations.find(invitationToken);
      // Brought along for an organization that is not founded yet: looked at now, used up then.
      return this.invitations.acceptCommit(invitation, user, { isNew: false });
    });
  }

  /** Makes a token from a grant; see TokenGrants.create. */
  async createToken(input: CreateTokenInput, headers: GrantHeaders): Promise<TokenJson> {
    return this.#grants.create(input, headers);
  }

  async createPersonalToken(
    principal: Principal,
    input: { readonly name: string; readonly permissions?: number; readonly expires_in_days?: number },
  ): Promise<{
    id: string;
    created_at: string;
    name: string;
    permissions: number;
    expires_at: string;
    access_token: string;
  }> {
    const { record, text } = await this.#personalTokens.create(principal, input);
    return {
      id: record.id,
      created_at: record.created_at,
      name: record.name,
      permissions: record.permissions,
      expires_at: isoTimestamp(record.expires_at_ms),
      access_token: text,
    };
  }

  /** Founds an organization, with an invitation one that is associated with the inviting application. */
  async createOrganization(principal: Principal, input: CreateOrganizationInput): Promise<OrganizationJson> {
    const { invitation_token: token, ...rest } = input;
    if (token === undefined) return this.organizations.create(principal, rest);
    const user = this.#callingUser(principal);
    return retryOnConflict(() =>
      this.organizations.create(principal, rest, (organization) =>
        this.invitations.associateCommit(this.invitations.find(token), user, organization),
      ),
    );
  }

  /** Adds a member, or lets the calling user in by its invitation. */
  async addToOrganization(
    principal: Principal,
    id: string,
    input: { readonly user_id?: string; readonly permissions?: number; readonly invitation_token?: string },
  ): Promise<void> {
    const organization = { kind: "organization", id } as const;
    if (input.invitation_token === undefined) {
      if (input.user_id === undefined)
        throw new AppError("invalid_request", refusal("user_id: is required", "invalid_request", "user_id"));
      await this.memberships.add(principal, organization, { kind: "user", id: input.user_id }, input.permissions);
      return;
    }
    const user = this.#callingUser(principal);
    if (input.user_id !== undefined && input.user_id !== user.id) throw userNotFound();
    const { invitation_token: token } = input;
    await retryOnConflict(async () => {
      const invitation = this.invitations.find(token);
      if (invitation.value.owner_kind !== "organization" || invitation.value.owner_id !== id) throw invitationInvalid();
      await this.#repository.commit(this.invitations.acceptCommit(invitation, user, { isNew: false }));
    });
  }

  /** Gives the user of an address every permission; for the operator at the machine. Throws `not_found`. */
  async makeAdministrator(emailText: string): Promise<void> {
    const user = this.#repository.findUserByEmail(normalizeEmail(emailText) ?? "");
    if (user === undefined) throw new AppError("not_found", { message: "there is no user with this address" });
    const subject: Subject = { kind: "user", id: user.value.id };
    await this.#repository.commit(
      mergeCommits(
        this.#repository.updateUserCommit(user, { ...user.value, permissions: ADMINISTRATOR_PERMISSIONS }),
        this.tokens.voidCommit(subject),
      ),
    );
    await this.sessions.endDerived(subject);
  }

  legalDocument(name: "privacy_policy" | "terms_of_service"): { content: string | null; href: string | null } {
    return { content: null, href: this.#legal[name] ?? null };
  }

  /** Public signing keys, for /.well-known/jwks.json. */
  jwks(): { keys: PublicJwk[] } {
    return { keys: this.#keys.publicKeys() };
  }

  /** The same keys with PEM, for /.well-known/keys. */
  publishedKeys(): (PublicJwk & { fingerprint: string; public_key: string })[] {
    return this.#keys.publicKeys().map((jwk) => ({ ...jwk, fingerprint: jwk.kid, public_key: publicKeyPem(jwk) }));
  }

  /**
   * An application vouches for a virtual user of its own that has no password. Real users, and users with one, never
   * get in this way.
   */
  async #logInVirtualUser(
    input: AuthenticateInput,
    bearer: string | undefined,
  ): Promise<{ user: UserJson; token: TokenJson }> {
    if (bearer === undefined)
      throw new AppError("invalid_request", refusal("password: is required", "invalid_request", "password"));
    const principal = await this.authenticate(bearer, "identity");
    if (principal.subject.kind !== "application" || !holdsAll(principal.permissions, PERMISSIONS.create))
      throw new AppError("forbidden", { message: "this needs a token of an application that may create" });
    const user = this.#repository.findUserByEmail(normalizeEmail(input.email) ?? "", principal.subject.id)?.value;
    const subject: Subject | undefined = user === undefined ? undefined : { kind: "user", id: user.id };
    const state = subject === undefined ? undefined : this.#repository.findState(subject)?.value;
    if (
      user === undefined ||
      subject === undefined ||
      state?.enabled !== true ||
      !holdsAll(user.permissions, PERMISSIONS.authenticate) ||
      this.#repository.findCredentialOf(user.id) !== undefined
    ) {
      throw new AppError("invalid_credentials", { message: "authentication failed with given credentials" });
    }
    // No more than the application's token holds, but for the bit that is about people alone.
    const limit = principal.permissions | PERMISSIONS.authenticate;
    const marks = holdsAll(limit, user.permissions) ? {} : { permissions_max: limit };
    const prepared = this.sessions.prepare({ subject, epoch: state.epoch, scope: grantedScope(input.scope), marks });
    return { user: userJson(user), token: await this.sessions.open(prepared, user.permissions) };
  }

  #callingUser(principal: Principal): { id: string; email: string } {
    const user = principal.subject.kind === "user" ? this.#repository.findUser(principal.subject.id)?.value : undefined;
    if (user === undefined) throw new AppError("forbidden", { message: "an invitation is accepted by a user" });
    return user;
  }

  /** What identity itself keeps for a subject that is being deleted. */
  async #purgeOwn(owner: Subject): Promise<void> {
    await this.#personalTokens.revokeAll(owner);
    await this.invitations.removeAll(owner);
    if (owner.kind !== "application") return;
    await this.#repository.commit(this.clients.deleteCommit(owner.id));
    for (;;) {
      const some = this.#repository.someUsersOf(owner.id, VIRTUAL_USERS_BATCH);
      if (some.length === 0) return;
      for (const { value } of some) await this.userChanges.deleteUser(value.id);
    }
  }
}

/** Users of a deleted application that are looked up at a time. */
const VIRTUAL_USERS_BATCH = 50;

function tokenState(repository: IdentityRepository): TokenStateLookup {
  return {
    revision: () => repository.revision(),
    epochOf: (subject) => {
      const state = repository.findState(subject)?.value;
      return state?.enabled === true ? state.epoch : undefined;
    },
    isSessionLive: (subject, sessionId) => repository.findSession(subject, sessionId) !== undefined,
  };
}
