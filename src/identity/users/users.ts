/** Creates users, ordinary and virtual ones, and reads those that a caller may see. Knows nothing of tokens or HTTP. */
import { hashPassword, type PasswordHashCost } from "../../crypto/hashes/password.js";
import type { PasswordHashLimiter } from "../../platform/auth/password-hash-limiter.js";
import { NEW_USER_PERMISSIONS, PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import type { Principal } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import { StoreConflict, type StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, type Page } from "../../platform/store/tables.js";
import type { TenantAccess } from "../tenants/tenant-access.js";
import type { Directory } from "../tenants/directory.js";
import type { NameFilter } from "../listing.js";
import { emailTaken, normalizeEmail } from "./email.js";
import type { EmailConfirmation } from "./email-confirmation.js";
import type { HourlyLimits } from "../login/hourly-limit.js";
import { invitationInvalid, type InvitationRecord, type Invitations } from "../tenants/invitations.js";
import type { Memberships } from "../tenants/memberships.js";
import { findPasswordWeakness, normalizePassword } from "../login/password-policy.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import type { CreateUserInput, UserDetailJson, UserJson } from "../schemas.js";
import { addressThrottleKey } from "../login/throttle-keys.js";

export interface UsersDependencies {
  readonly repository: IdentityRepository;
  readonly access: TenantAccess;
  readonly directory: Directory;
  readonly memberships: Memberships;
  readonly invitations: Invitations;
  readonly emailConfirmation: Pick<EmailConfirmation, "ask">;
  readonly limits: Pick<HourlyLimits, "signup">;
  readonly hashGate: PasswordHashLimiter;
  readonly clock: Clock;
  readonly log: Log;
}

/** Who creates a user, and what goes with it. */
export interface UserOrigin {
  /**
   * An application creates a virtual user; an administrator may choose permissions; other callers count as anonymous.
   */
  readonly principal?: Principal | undefined;
  /** The permissions of a user whose creation was allowed by other means, such as the first administrator. */
  readonly permissions?: number;
  /** Merged into the commit that creates the user. */
  readonly extraCommit?: StoreCommit;
  /** True for administrators, whose new users do not count towards the hourly limit. */
  readonly skipsHourlyLimit?: boolean;
}

export class Users {
  readonly #hashCost: PasswordHashCost;
  readonly #dependencies: UsersDependencies;

  constructor(options: { readonly hashCost: PasswordHashCost }, dependencies: UsersDependencies) {
    this.#hashCost = options.hashCost;
    this.#dependencies = dependencies;
  }

  /**
   * Creates a user, with the default permissions unless an administrator chooses others.
   * @param request what the invitation knows may be left out
   * @param address network address of the caller, for the hourly limit
   * @throws invalid_request for missing members; invalid_email; weak_password; email_taken, only after the password was
   *   hashed, so that the time of the response tells nothing; invitation_invalid; permission_escalation; forbidden for
   *   an application that may not create; too_many_requests
   */
  async create(request: CreateUserInput, address: string, origin: UserOrigin = {}): Promise<UserJson> {
    const { repository, invitations, emailConfirmation, limits, hashGate, log } = this.#dependencies;
    const permissions = origin.permissions ?? this.#grantedPermissions(request, origin.principal);
    const invitation = request.invitation_token === undefined ? undefined : invitations.find(request.invitation_token);
    const input = completed(request, invitation?.value);
    const applicationId = this.#applicationOf(origin.principal);
    const email = requireEmail(input.email);
    const password = passwordOf(input, { email, isOptional: applicationId !== undefined });
    if (applicationId === undefined && origin.skipsHourlyLimit !== true)
      await limits.signup.count(addressThrottleKey(address));
    const user = this.#newUser(input, {
      email,
      permissions,
      applicationId,
      // The invitation's token was mailed to this address, and the operator names the first administrator's.
      isVerified: invitation !== undefined || origin.permissions !== undefined,
    });
    if (invitation !== undefined && invitation.value.email !== email) throw invitationInvalid();
    const passwordHash =
      password === undefined ? undefined : await hashGate.run(() => hashPassword(password, this.#hashCost));
    if (repository.findUserByEmail(email, applicationId) !== undefined) throw emailTaken();
    try {
      const joining = invitation === undefined ? {} : invitations.acceptCommit(invitation, user, { isNew: true });
      await repository.commit(
        mergeCommits(
          repository.createUserCommit(user, passwordHash),
          joining,
          this.#virtualCommit(user),
          origin.extraCommit ?? {},
        ),
      );
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      if (repository.isEmailConflict(error.key)) throw emailTaken();
      if (invitations.isUsedUp(error.key)) throw invitationInvalid();
      throw error;
    }
    log.info("user created", { subject: `user:${user.id}` });
    emailConfirmation.ask(user);
    return userJson(user);
  }

  /** Returns a page of the users that the caller may see, oldest first; see `Directory.listUsers`. */
  list(
    principal: Principal,
    query: Page & NameFilter & { readonly email?: string },
  ): { readonly users: UserJson[]; readonly total: number } {
    const email = query.email === undefined ? undefined : (normalizeEmail(query.email) ?? "");
    const { rows, total } = this.#dependencies.directory.listUsers(principal, query, { email, name: query.name });
    return { users: rows.map(userJson), total };
  }

  /**
   * Returns one user with metadata.
   * @throws not_found in the same words for a user that does not exist and one that the caller may not see
   */
  get(principal: Principal, id: string): UserDetailJson {
    const user = this.#dependencies.directory.findUser(principal, id);
    if (user === undefined) throw notFound("user");
    const json = userJson(user);
    const { name, email } = json;
    return {
      ...json,
      metadata: {
        user_id: id,
        name,
        email,
        email_verified: user.email_verified === true,
        app_metadata: { ident_user_id: id },
        user_metadata: {},
      },
    };
  }

  /** The permissions of the new user. Only administrators may choose them, among those that they hold. */
  #grantedPermissions(input: CreateUserInput, principal: Principal | undefined): number {
    if (input.permissions === undefined) return NEW_USER_PERMISSIONS;
    const bits = principal?.subject.kind === "user" ? principal.permissions : 0;
    const { user_create: create, sudo } = PERMISSIONS;
    if (!holdsAll(bits, create) && !holdsAll(bits, sudo)) throw permissionsNotAssignable();
    this.#dependencies.access.requireSubset(input.permissions, bits);
    return input.permissions;
  }

  /** The application whose virtual user it will be; undefined for other callers. */
  #applicationOf(principal: Principal | undefined): string | undefined {
    if (principal?.subject.kind !== "application") return undefined;
    if (!holdsAll(principal.permissions, PERMISSIONS.create))
      throw new AppError("forbidden", { message: "this needs the permission create" });
    return principal.subject.id;
  }

  #newUser(
    input: CompleteInput,
    details: {
      readonly email: string;
      readonly permissions: number;
      readonly applicationId: string | undefined;
      readonly isVerified: boolean;
    },
  ): UserRecord {
    const { email, permissions, applicationId, isVerified } = details;
    return {
      id: newId(),
      created_at: isoTimestamp(this.#dependencies.clock.nowMs()),
      email,
      first_name: input.first_name,
      last_name: input.last_name,
      permissions,
      privacy_policy_agreed_at: null,
      terms_of_service_agreed_at: null,
      ...(applicationId === undefined ? {} : { application_id: applicationId }),
      ...(isVerified ? { email_verified: true } : {}),
    };
  }

  /** Makes a virtual user a member of its application. */
  #virtualCommit(user: UserRecord): StoreCommit {
    if (user.application_id === undefined) return {};
    return this.#dependencies.memberships.newUserCommit(
      { kind: "application", id: user.application_id },
      { kind: "user", id: user.id },
      PERMISSIONS.read,
    );
  }
}

type CompleteInput = CreateUserInput & Required<Pick<CreateUserInput, "email" | "first_name" | "last_name">>;

/** Takes absent members from the invitation. Throws `invalid_request` that names each member that is still missing. */
function completed(input: CreateUserInput, invitation: InvitationRecord | undefined): CompleteInput {
  const email = input.email ?? invitation?.email;
  const firstName = input.first_name ?? invitation?.first_name ?? undefined;
  const lastName = input.last_name ?? invitation?.last_name ?? undefined;
  if (email !== undefined && firstName !== undefined && lastName !== undefined)
    return { ...input, email, first_name: firstName, last_name: lastName };
  const missing = Object.entries({ email, first_name: firstName, last_name: lastName })
    .filter(([, value]) => value === undefined)
    .map(([member]) => member);
  const details = missing.map((member) => ({
    message: `${member}: is missing`,
    code: "invalid_request" as const,
    path: member,
  }));
  throw new AppError("invalid_request", { message: details[0]?.message ?? "", details });
}

/** A virtual user may have no password: its application logs it in. */
function passwordOf(
  input: CreateUserInput,
  { email, isOptional }: { readonly email: string; readonly isOptional: boolean },
): string | undefined {
  if (input.password !== undefined) return requireStrongPassword(input.password, email);
  if (isOptional) return undefined;
  throw invalidMember("password", "a password is required", "weak_password");
}

/**
 * Returns an address in its canonical form (`normalizeEmail`).
 * @throws invalid_email
 */
export function requireEmail(text: string): string {
  const email = normalizeEmail(text);
  if (email === undefined) throw invalidMember("email", "the e-mail address is not valid", "invalid_email");
  return email;
}

/**
 * Returns a password in the form in which it is hashed.
 * @param email the user's address, as `normalizeEmail` returns it
 * @throws weak_password
 */
export function requireStrongPassword(text: string, email: string): string {
  const password = normalizePassword(text);
  const weakness = findPasswordWeakness(password, email);
  if (weakness !== undefined) throw invalidMember("password", weakness, "weak_password");
  return password;
}

/** Returns a user as responses show it. */
export function userJson(user: UserRecord): UserJson {
  return {
    id: user.id,
    created_at: user.created_at,
    name: `${user.first_name} ${user.last_name}`,
    first_name: user.first_name,
    last_name: user.last_name,
    email: user.email,
    permissions: user.permissions,
    privacy_policy_agreed_at: user.privacy_policy_agreed_at,
    terms_of_service_agreed_at: user.terms_of_service_agreed_at,
  };
}

/** Says that only an administrator may choose permissions. */
export function permissionsNotAssignable(): AppError {
  return invalidMember("permissions", "not able to assert permissions", "permission_escalation");
}
