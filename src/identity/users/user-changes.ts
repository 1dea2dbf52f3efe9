/**
 * Changing and deleting users. What would let a thief of a token keep an account (password, address) needs the present
 * password or a login of the last minutes; new permissions, a new password and deletion void the tokens that were
 * there.
 */
import { hashPassword, type PasswordHashCost } from "../../crypto/hashes/password.js";
import type { HashGate } from "../../platform/auth/password-hash-limiter.js";
import {
  NEW_USER_PERMISSIONS,
  PERMISSIONS,
  TENANT_PERMISSIONS,
  holdsAll,
  permissionNames,
} from "../../platform/auth/permissions.js";
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { StoreConflict, type StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import type { TenantAccess } from "../tenants/tenant-access.js";
import type { Directory } from "../tenants/directory.js";
import { normalizeEmail } from "./email.js";
import type { HourlyLimit } from "../login/hourly-limit.js";
import type { Login } from "../login/login.js";
import type { Memberships } from "../tenants/memberships.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import type { UpdateUserInput } from "../schemas.js";
import type { Sessions } from "../tokens/sessions.js";
import type { TenantDeletion } from "../subject-deletion.js";
import { addressThrottleKey } from "../login/throttle-keys.js";
import type { Tokens } from "../tokens/tokens.js";
import { emailTaken, refusal, requireStrongPassword, userNotFound } from "./users.js";

export interface UserChangesDependencies {
  readonly repository: IdentityRepository;
  readonly access: TenantAccess;
  readonly directory: Directory;
  readonly memberships: Memberships;
  readonly sessions: Sessions;
  readonly tokens: Tokens;
  readonly login: Login;
  readonly deletion: TenantDeletion;
  readonly signupLimit: HourlyLimit;
  readonly hashGate: HashGate;
  readonly clock: Clock;
  readonly log: Log;
}

/** A login this young stands for the password itself; existing clients change it without sending the old one. */
const RECENT_LOGIN_MS = 5 * 60 * 1000;
/** How far ahead of ours a client's clock may be. */
const CLOCK_AHEAD_MS = 5 * 60 * 1000;

export class UserChanges {
  readonly #hashCost: PasswordHashCost;
  readonly #dependencies: UserChangesDependencies;

  constructor(options: { readonly hashCost: PasswordHashCost }, dependencies: UserChangesDependencies) {
    this.#hashCost = options.hashCost;
    this.#dependencies = dependencies;
  }

  /**
   * Changes what is given: of the caller itself, of an application's own user, of anyone for `user_update` and `sudo`.
   * Throws `not_found` for a user that the caller may not see, `forbidden` for one it may not change or without a fresh
   * proof, `permission_escalation`, `invalid_email`, `email_taken`, `weak_password`.
   */
  async update(principal: Principal, id: string, input: UpdateUserInput, address: string): Promise<void> {
    const { repository, log } = this.#dependencies;
    const user = this.#changeable(principal, id, PERMISSIONS.user_update);
    const isAdministrator = holdsAny(principal, PERMISSIONS.user_update | PERMISSIONS.sudo);
    if (input.permissions !== undefined || input.email !== undefined || input.password !== undefined)
      requireNotAbove(principal, user);
    if (input.permissions !== undefined && input.permissions !== user.permissions)
      this.#requireGrantable(principal, isAdministrator, input.permissions);
    const email = input.email === undefined ? user.email : this.#newEmail(input.email);
    if ((email !== user.email || input.password !== undefined) && !isAdministrator && !isOwnUserOf(principal, user))
      await this.#requireProof(principal, user, input.current_password, address);
    const password = input.password === undefined ? undefined : requireStrongPassword(input.password, email);
    if (email !== user.email) await this.#dependencies.signupLimit.count(addressThrottleKey(address));
    const passwordHash =
      password === undefined
        ? undefined
        : await this.#dependencies.hashGate.run(() => hashPassword(password, this.#hashCost));
    const change = this.#recordChange(input, email);
    const subject = { kind: "user", id } as const;
    const isVoiding =
      passwordHash !== undefined || (input.permissions !== undefined && input.permissions !== user.permissions);
    await this.#commit(id, change, () =>
      mergeCommits(
        passwordHash === undefined ? {} : repository.setPasswordCommit(id, passwordHash),
        isVoiding ? this.#dependencies.tokens.voidCommit(subject) : {},
      ),
    );
    if (isVoiding) await this.#dependencies.sessions.endDerived(subject);
    log.info("user changed", { subject: `user:${id}` });
  }

  /** Deletes a user and what it alone owns: itself, an application's own user, anyone for `user_delete` and `sudo`. */
  async delete(principal: Principal, id: string): Promise<void> {
    requireNotAbove(principal, this.#changeable(principal, id, PERMISSIONS.user_delete));
    await this.deleteUser(id);
  }

  /** Deletes a user whose deletion was found to be allowed. Safe to repeat. */
  async deleteUser(id: string): Promise<void> {
    const { repository, memberships, sessions, tokens, deletion, log } = this.#dependencies;
    const subject = { kind: "user", id } as const;
    await deletion.disable(subject);
    await sessions.endWhere(subject, () => true);
    await tokens.revokeAllOf(subject);
    await deletion.purge(subject);
    await memberships.removeAll("member", subject);
    await retryOnConflict(async () => {
      const record = repository.findUser(id);
      if (record !== undefined) await repository.commit(repository.deleteUserCommit(record));
    });
    log.info("user deleted", { subject: `user:${id}` });
  }

  /** The user, when the caller may change it. */
  #changeable(principal: Principal, id: string, administratorBit: number): UserRecord {
    const user = this.#dependencies.directory.findUser(principal, id);
    if (user === undefined) throw userNotFound();
    const isSelf = principal.subject.kind === "user" && principal.subject.id === id;
    if (isSelf || isOwnUserOf(principal, user) || holdsAny(principal, administratorBit | PERMISSIONS.sudo)) return user;
    throw new AppError("forbidden", { message: "another user can be seen here, not changed" });
  }

  #requireGrantable(principal: Principal, isAdministrator: boolean, permissions: number): void {
    if (!isAdministrator)
      throw new AppError(
        "permission_escalation",
        refusal("not able to assert permissions", "permission_escalation", "permissions"),
      );
    this.#dependencies.access.requireSubset(permissions, principal.permissions);
  }

  /**
   * The present password, or a login of the last minutes. Throws `forbidden`, `invalid_credentials`,
   * `too_many_requests`.
   */
  async #requireProof(
    principal: Principal,
    user: UserRecord,
    currentPassword: string | undefined,
    address: string,
  ): Promise<void> {
    const { repository, login, clock } = this.#dependencies;
    if (currentPassword !== undefined) {
      await login.confirm(user, currentPassword, address);
      return;
    }
    const session = repository.findSession(principal.subject, principal.sessionId)?.value;
    const provenAtMs = session?.permissions_max === undefined ? (session?.password_at_ms ?? -Infinity) : -Infinity;
    if (clock.nowMs() - provenAtMs < RECENT_LOGIN_MS) return;
    throw new AppError("forbidden", {
      message: "changing the password or the address needs current_password, or a login of the last five minutes",
    });
  }

  #newEmail(text: string): string {
    const email = normalizeEmail(text);
    if (email === undefined)
      throw new AppError("invalid_email", refusal("the e-mail address is not valid", "invalid_email", "email"));
    return email;
  }

  #recordChange(input: UpdateUserInput, email: string): (user: UserRecord) => UserRecord {
    const { first_name: firstName, last_name: lastName, permissions } = input;
    const privacy = this.#agreement(input.privacy_policy_agreed_at, "privacy_policy_agreed_at");
    const terms = this.#agreement(input.terms_of_service_agreed_at, "terms_of_service_agreed_at");
    return (user) => ({
      ...user,
      email,
      ...(email === user.email ? {} : { email_verified: false }),
      ...(firstName === undefined ? {} : { first_name: firstName }),
      ...(lastName === undefined ? {} : { last_name: lastName }),
      ...(permissions === undefined ? {} : { permissions }),
      ...(privacy === undefined ? {} : { privacy_policy_agreed_at: privacy }),
      ...(terms === undefined ? {} : { terms_of_service_agreed_at: terms }),
    });
  }

  /** When somebody agreed, in the form of all timestamps. Nobody agrees in the future. */
  #agreement(text: string | undefined, member: string): string | undefined {
    if (text === undefined) return undefined;
    const ms = Date.parse(text);
    if (Number.isNaN(ms) || ms > this.#dependencies.clock.nowMs() + CLOCK_AHEAD_MS) {
      throw new AppError(
        "invalid_request",
        refusal(`${member}: must be a time that has been`, "invalid_request", member),
      );
    }
    return isoTimestamp(ms);
  }

  async #commit(id: string, change: (user: UserRecord) => UserRecord, alongside: () => StoreCommit): Promise<void> {
    const { repository } = this.#dependencies;
    await retryOnConflict(async () => {
      const current = repository.findUser(id);
      if (current === undefined) throw userNotFound();
      try {
        await repository.commit(mergeCommits(repository.updateUserCommit(current, change(current.value)), alongside()));
      } catch (error) {
        if (error instanceof StoreConflict && repository.isEmailConflict(error.key)) throw emailTaken();
        throw error;
      }
    });
  }
}

/**
 * Whoever sets another's password or address can be that user. So an administrator may not do it to one who holds
 * administrators' bits that it lacks itself, nor a token of an application to a user of its own who may do more than
 * the token.
 */
function requireNotAbove(principal: Principal, user: UserRecord): void {
  const { subject, permissions } = principal;
  if ((subject.kind === "user" && subject.id === user.id) || holdsAll(permissions, PERMISSIONS.sudo)) return;
  const bounded = isOwnUserOf(principal, user) ? TENANT_PERMISSIONS | ~NEW_USER_PERMISSIONS : ~NEW_USER_PERMISSIONS;
  const above = user.permissions & bounded & ~permissions;
  if (above !== 0)
    throw new AppError("permission_escalation", {
      message: `the user holds what the caller does not: ${permissionNames(above).join(", ")}`,
    });
}

/** True for an application and a user that it made itself. */
function isOwnUserOf(principal: Principal, user: UserRecord): boolean {
  const { subject }: { subject: Subject } = principal;
  return subject.kind === "application" && user.application_id === subject.id;
}

function holdsAny(principal: Principal, bits: number): boolean {
  return holdsAll(principal.permissions, 0) && (principal.permissions & bits) !== 0;
}
