/** Users: signing up, virtual users of an application, and who may see whom. Knows nothing of tokens or HTTP. */
import { hashPassword, type PasswordHashCost } from "../../crypto/hashes/password.js";
import type { HashGate } from "../../platform/auth/password-hash-limiter.js";
import { NEW_USER_PERMISSIONS, PERMISSIONS, holdsAll } from "../../platform/auth/permissions.js";
import type { Principal } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import { StoreConflict, type StoreCommit, type StoreRecord } from "../../platform/store/store.js";
import { mergeCommits, type Page } from "../../platform/store/tables.js";
import type { TenantAccess } from "../tenants/tenant-access.js";
import type { Directory } from "../tenants/directory.js";
import { normalizeEmail } from "./email.js";
import type { HourlyLimit } from "../login/hourly-limit.js";
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
  readonly signupLimit: HourlyLimit;
  readonly hashGate: HashGate;
  readonly clock: Clock;
  readonly log: Log;
}

/** Who asks for a user to be made, and what comes with it. */
export interface UserOrigin {
  /** An application makes a virtual user; an administrator may say which permissions; any other caller is like none. */
  readonly principal?: Principal | undefined;
  /** The bits of a user whose making was allowed by other means (the first administrator). */
  readonly permissions?: number;
  /** What goes into the same commit, given the new user's id. */
  readonly extra?: StoreCommit;
  /** True for whoever need not be counted: applications and administrators. */
  readonly uncounted?: boolean;
}

export class Users {
  readonly #hashCost: PasswordHashCost;
  readonly #dependencies: UsersDependencies;

  constructor(options: { readonly hashCost: PasswordHashCost }, dependencies: UsersDependencies) {
    this.#hashCost = options.hashCost;
    this.#dependencies = dependencies;
  }

  /**
   * Creates a user with the default permissions.
   * @param address network address of the caller, for the hourly limit Throws `invalid_email`, `weak_password`,
   *   `email_taken` (only after the hashing that a new one costs), `invitation_invalid`, `permission_escalation`,
   *   `too_many_requests`.
   */
  async create(asked: CreateUserInput, address: string, origin: UserOrigin = {}): Promise<UserJson> {
    const { repository, invitations, signupLimit, hashGate, log } = this.#dependencies;
    const permissions = origin.permissions ?? this.#grantedPermissions(asked, origin.principal);
    const invitation = asked.invitation_token === undefined ? undefined : invitations.find(asked.invitation_token);
    const input = completed(asked, invitation?.value);
    const applicationId = this.#applicationOf(origin.principal);
    const email = this.#emailOf(input);
    const password = this.#passwordOf(input, email, applicationId !== undefined);
    if (applicationId === undefined && origin.uncounted !== true) await signupLimit.count(addressThrottleKey(address));
    const user = this.#newUser(input, { email, permissions, applicationId, invitation });
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
          origin.extra ?? {},
        ),
      );
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      if (repository.isEmailConflict(error.key)) throw emailTaken();
      if (invitations.isUsedUp(error.key[0])) throw invitationInvalid();
      throw error;
    }
    log.info("user created", { subject: `user:${user.id}` });
    return userJson(user);
  }

  /** Users that the caller may see, oldest first; see Directory. */
  list(
    principal: Principal,
    query: Page & { readonly email?: string },
  ): { readonly users: UserJson[]; readonly total: number } {
    const email = query.email === undefined ? undefined : (normalizeEmail(query.email) ?? "");
    const { rows, total } = this.#dependencies.directory.listUsers(principal, query, email);
    return { users: rows.map(userJson), total };
  }

  /**
   * One user with metadata. Throws `not_found` for a user that is not there, and likewise for one that the caller may
   * not see.
   */
  get(principal: Principal, id: string): UserDetailJson {
    const user = this.#dependencies.directory.findUser(principal, id);
    if (user === undefined) throw userNotFound();
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

  /** Bits of the new user. Only administrators may say which, and only such as they hold. */
  #grantedPermissions(input: CreateUserInput, principal: Principal | undefined): number {
    if (input.permissions === undefined) return NEW_USER_PERMISSIONS;
    const bits = principal?.subject.kind === "user" ? principal.permissions : 0;
    const { user_create: create, sudo } = PERMISSIONS;
    if (!holdsAll(bits, create) && !holdsAll(bits, sudo))
      throw new AppError(
        "permission_escalation",
        refusal("not able to assert permissions", "permission_escalation", "permissions"),
      );
    this.#dependencies.access.requireSubset(input.permissions, bits);
    return input.permissions;
  }

  /** The application whose virtual user it will be. Throws `forbidden` for a token of one that may not create. */
  #applicationOf(principal: Principal | undefined): string | undefined {
    if (principal?.subject.kind !== "application") return undefined;
    if (!holdsAll(principal.permissions, PERMISSIONS.create))
      throw new AppError("forbidden", { message: "this needs the permission create" });
    return principal.subject.id;
  }

  #emailOf(input: CompleteInput): string {
    const email = normalizeEmail(input.email);
    if (email === undefined)
      throw new AppError("invalid_email", refusal("the e-mail address is not valid", "invalid_email", "email"));
    return email;
  }

  /** A virtual user may do without a password: its application logs it in. */
  #passwordOf(input: CreateUserInput, email: string, isVirtual: boolean): string | undefined {
    if (input.password === undefined) {
      if (isVirtual) return undefined;
      throw new AppError("weak_password", refusal("a password is required", "weak_password", "password"));
    }
    return requireStrongPassword(input.password, email);
  }

  #newUser(
    input: CompleteInput,
    details: {
      readonly email: string;
      readonly permissions: number;
      readonly applicationId: string | undefined;
      readonly invitation: StoreRecord<InvitationRecord> | undefined;
    },
  ): UserRecord {
    const { email, permissions, applicationId, invitation } = details;
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
      // The token came by mail to this very address.
      ...(invitation === undefined ? {} : { email_verified: true }),
    };
  }

  /** A virtual user is a member of its application from the start. */
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

/** What is left out is the invitation's. Throws `invalid_request` that names each member that neither says. */
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

/** A password in the form in which it is hashed. Throws `weak_password`. */
export function requireStrongPassword(text: string, email: string): string {
  const password = normalizePassword(text);
  const weakness = findPasswordWeakness(password, email);
  if (weakness !== undefined) throw new AppError("weak_password", refusal(weakness, "weak_password", "password"));
  return password;
}

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

export function userNotFound(): AppError {
  return new AppError("not_found", { message: "user not found" });
}

export function emailTaken(): AppError {
  return new AppError("email_taken", refusal("a user with this e-mail address exists", "email_taken", "email"));
}

export function refusal(
  message: string,
  code: string,
  path: string,
): { message: string; details: { message: string; code: string; path: string }[] } {
  return { message, details: [{ message, code, path }] };
}
