/**
 * Changes and deletes users. A new password or address would let the thief of a token keep the account, so it needs the
 * present password or a login of the last minutes, and the address from before is told by mail. A deletion needs the
 * password when the token is one that programs keep for long. A new password, new permissions and deletion void all
 * tokens.
 */
import { hashPassword, type PasswordHashCost } from "../../crypto/hashes/password.js";
import type { PasswordHashLimiter } from "../../platform/auth/password-hash-limiter.js";
import {
  NEW_USER_PERMISSIONS,
  PERMISSIONS,
  PERMISSIONS_MAX,
  TENANT_PERMISSIONS,
  holdsAll,
  permissionNames,
} from "../../platform/auth/permissions.js";
import type { Principal } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, invalidMember, notFound } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import { StoreConflict, type StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../../platform/store/tables.js";
import type { TenantAccess } from "../tenants/tenant-access.js";
import type { Directory } from "../tenants/directory.js";
import type { HourlyLimits } from "../login/hourly-limit.js";
import type { Login } from "../login/login.js";
import type { IdentityRepository, UserRecord } from "../repository.js";
import { PERSON_NAME_CHARACTERS_MAX, type UpdateUserInput } from "../schemas.js";
import type { Sessions } from "../tokens/sessions.js";
import type { SubjectDeletion } from "../subject-deletion.js";
import { addressThrottleKey } from "../login/throttle-keys.js";
import type { MailedTokenRecord, MailedTokens } from "../mailed-tokens.js";
import type { PersonalTokens } from "../tokens/personal-tokens.js";
import type { Tokens } from "../tokens/tokens.js";
import type { AccountNotices } from "./account-notices.js";
import type { EmailConfirmation } from "./email-confirmation.js";
import { emailTaken } from "./email.js";
import { permissionsNotAssignable, requireEmail, requireStrongPassword } from "./users.js";

export interface UserChangesDependencies {
  readonly repository: IdentityRepository;
  readonly access: TenantAccess;
  readonly directory: Directory;
  readonly sessions: Sessions;
  readonly tokens: Tokens;
  readonly personalTokens: PersonalTokens;
  readonly resets: MailedTokens<MailedTokenRecord>;
  readonly emailConfirmation: EmailConfirmation;
  readonly notices: AccountNotices;
  readonly login: Login;
  readonly deletion: SubjectDeletion;
  readonly limits: Pick<HourlyLimits, "signup">;
  readonly hashGate: PasswordHashLimiter;
  readonly clock: Clock;
  readonly log: Log;
}

/** A login this recent counts as the password itself; existing clients change it without sending the old one. */
const RECENT_LOGIN_MS = 5 * 60 * 1000;
/** The clock of a client may be ahead by this much. */
const CLOCK_AHEAD_MS = 5 * 60 * 1000;
/** Permissions that only an administrator can have given. */
const ADMINISTRATOR_ONLY_PERMISSIONS = PERMISSIONS_MAX & ~NEW_USER_PERMISSIONS;
/** Permissions of a virtual user that its application's token must hold too, to act as the user. */
const VIRTUAL_USER_GUARDED_PERMISSIONS = ADMINISTRATOR_ONLY_PERMISSIONS | TENANT_PERMISSIONS;

/** What a caller shows of the password. */
export interface PasswordProof {
  readonly currentPassword: string | undefined;
  /** Network address of the caller, for throttling. */
  readonly address: string;
}

/**
 * Members that decide who holds the account, each undefined to stay as it is. The present value is no change: writing
 * it again would take back what another request changed after this one was checked.
 */
interface GuardedChange {
  readonly email: string | undefined;
  readonly permissions: number | undefined;
  readonly passwordHash: string | undefined;
}

export class UserChanges {
  readonly #hashCost: PasswordHashCost;
  readonly #dependencies: UserChangesDependencies;

  constructor(options: { readonly hashCost: PasswordHashCost }, dependencies: UserChangesDependencies) {
    this.#hashCost = options.hashCost;
    this.#dependencies = dependencies;
  }

  /**
   * Changes the given members of the caller itself, of an application's virtual user, or of anyone for `user_update`
   * and `sudo`.
   * @param address network address of the caller, for throttling
   * @throws not_found for a user that the caller may not see; forbidden for one that it may not change, or without a
   *   fresh proof; permission_escalation; invalid_email; email_taken; weak_password; invalid_credentials for a wrong
   *   `current_password`; too_many_requests
   */
  async update(principal: Principal, id: string, input: UpdateUserInput, address: string): Promise<void> {
    const { log } = this.#dependencies;
    const user = this.#requireMayUpdate(principal, id, input);
    const epoch = this.#dependencies.repository.findState(principal.subject)?.value.epoch;
    const isAdministrator = holdsAny(principal, PERMISSIONS.user_update | PERMISSIONS.sudo);
    const newPermissions = input.permissions === user.permissions ? undefined : input.permissions;
    const email = newEmail(user, input);
    if ((email !== undefined || input.password !== undefined) && !isAdministrator && !isVirtualUserOf(principal, user))
      await this.#requireProof(principal, user, { currentPassword: input.current_password, address });
    const password =
      input.password === undefined ? undefined : requireStrongPassword(input.password, email ?? user.email);
    if (email !== undefined) await this.#dependencies.limits.signup.count(addressThrottleKey(address));
    const passwordHash =
      password === undefined
        ? undefined
        : await this.#dependencies.hashGate.run(() => hashPassword(password, this.#hashCost));
    const waitingEmail = email !== undefined && this.#waitsForConfirmation(principal, user, email) ? email : undefined;
    const guarded = {
      email: waitingEmail === undefined ? email : undefined,
      permissions: newPermissions,
      passwordHash,
    };
    const needsRights = newPermissions !== undefined || !isSelf(principal, user);
    const before = await this.#apply(id, input, guarded, () =>
      needsRights ? this.#authority(principal, { id, input, epoch }) : {},
    );
    if (waitingEmail !== undefined) {
      this.#dependencies.emailConfirmation.askForChange(before, waitingEmail);
      this.#dependencies.notices.tell(before.email, ["address_requested"]);
    }
    log.info("user changed", { subject: `user:${id}` });
  }

  /**
   * Deletes a user and everything that only it owns: the caller itself, an application's virtual user, or anyone for
   * `user_delete` and `sudo`.
   * @param proof the password, which a token that programs keep for long must come with to delete its own user
   * @throws not_found, forbidden, permission_escalation, invalid_credentials or too_many_requests as `update` does;
   *   vault_sealed
   */
  async delete(principal: Principal, id: string, proof: PasswordProof): Promise<void> {
    const user = this.#changeable(principal, id, PERMISSIONS.user_delete);
    requireMayImpersonate(principal, user);
    if (isSelf(principal, user) && this.#isKeptByPrograms(principal)) await this.#requirePassword(user, proof);
    await this.#dependencies.deletion.deleteUser(id);
  }

  /** Returns a user whom the caller may change in this way. Throws as `update` does. */
  #requireMayUpdate(principal: Principal, id: string, input: UpdateUserInput): UserRecord {
    const user = this.#changeable(principal, id, PERMISSIONS.user_update);
    if (input.permissions !== undefined || input.email !== undefined || input.password !== undefined)
      requireMayImpersonate(principal, user);
    if (input.permissions !== undefined && input.permissions !== user.permissions) {
      if (!holdsAny(principal, PERMISSIONS.user_update | PERMISSIONS.sudo)) throw permissionsNotAssignable();
      this.#dependencies.access.requireSubset(input.permissions, principal.permissions);
    }
    return user;
  }

  /**
   * Checks again, by what the store holds now, that the caller may make the change: hashing a password takes long
   * enough for its rights to be taken away. The commit conflicts when they are taken while it is written.
   * @throws unauthorized once the caller's tokens are void, and what `update` throws
   */
  #authority(
    principal: Principal,
    { id, input, epoch }: { readonly id: string; readonly input: UpdateUserInput; readonly epoch: number | undefined },
  ): StoreCommit {
    const { repository } = this.#dependencies;
    const { subject } = principal;
    const state = repository.findState(subject);
    if (state?.value.enabled !== true || state.value.epoch !== epoch)
      throw new AppError("unauthorized", { message: "unauthorized" });
    const caller = subject.kind === "user" ? repository.findUser(subject.id) : undefined;
    const held = caller === undefined ? principal.permissions : principal.permissions & caller.value.permissions;
    this.#requireMayUpdate({ ...principal, permissions: held }, id, input);
    const read = caller === undefined || subject.id === id ? [state] : [state, caller];
    return { checks: read.map(({ key, version }) => ({ key, version })) };
  }

  /** Returns a user that the caller may change. */
  #changeable(principal: Principal, id: string, administratorBit: number): UserRecord {
    const user = this.#dependencies.directory.findUser(principal, id);
    if (user === undefined) throw notFound("user");
    if (
      isSelf(principal, user) ||
      isVirtualUserOf(principal, user) ||
      holdsAny(principal, administratorBit | PERMISSIONS.sudo)
    )
      return user;
    throw new AppError("forbidden", { message: "you can see this user, but not change it" });
  }

  /** Requires the present password, or a login of the last minutes. */
  async #requireProof(principal: Principal, user: UserRecord, proof: PasswordProof): Promise<void> {
    const { repository, login, clock } = this.#dependencies;
    const { currentPassword, address } = proof;
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

  /** True for a personal access token, a token that an OAuth client holds, and a session derived from either. */
  #isKeptByPrograms({ subject, sessionId }: Principal): boolean {
    const { repository, personalTokens } = this.#dependencies;
    const isOne = (id: string): boolean =>
      personalTokens.find(subject, id) !== undefined ||
      repository.findSession(subject, id)?.value.client_id !== undefined;
    const session = repository.findSession(subject, sessionId)?.value;
    return isOne(sessionId) || (session?.derived?.from.some(({ id }) => isOne(id)) ?? false);
  }

  async #requirePassword(user: UserRecord, { currentPassword, address }: PasswordProof): Promise<void> {
    if (currentPassword === undefined)
      throw new AppError("forbidden", {
        message: "deleting the account with this token needs current_password; or log in and use that token",
      });
    await this.#dependencies.login.confirm(user, currentPassword, address);
  }

  /** Writes the change with what follows from it, tells the address from before, and returns the user from before. */
  async #apply(
    id: string,
    input: UpdateUserInput,
    guarded: GuardedChange,
    authority: () => StoreCommit,
  ): Promise<UserRecord> {
    const { repository, tokens, sessions, resets, notices, emailConfirmation } = this.#dependencies;
    const { email, passwordHash } = guarded;
    const subject = { kind: "user", id } as const;
    const voidsTokens = passwordHash !== undefined || guarded.permissions !== undefined;
    const before = await this.#commit(id, this.#recordChange(input, guarded), (user) =>
      mergeCommits(
        authority(),
        passwordHash === undefined ? {} : repository.setPasswordCommit(id, passwordHash),
        voidsTokens ? tokens.voidCommit(subject) : {},
        // A reset token that was mailed to the old address must not open the account of the new one.
        email === undefined || email === user.email ? {} : resets.voidCommit(id),
      ),
    );
    if (voidsTokens) await sessions.endDerived(subject);
    const hasNewAddress = email !== undefined && email !== before.email;
    if (hasNewAddress) emailConfirmation.ask({ ...before, email, email_verified: false });
    notices.tell(before.email, [
      ...(passwordHash === undefined ? [] : (["password"] as const)),
      ...(hasNewAddress ? (["address"] as const) : []),
    ]);
    return before;
  }

  /**
   * True when the user's own new address takes effect only when it is confirmed. Administrators and applications vouch
   * for what they set. Throws `email_taken`.
   */
  #waitsForConfirmation(principal: Principal, user: UserRecord, email: string): boolean {
    const { repository, emailConfirmation } = this.#dependencies;
    const isOrdinary = user.application_id === undefined && user.external_issuer === undefined;
    if (!emailConfirmation.isRequired || !isOrdinary || !isSelf(principal, user)) return false;
    if (repository.findUserByEmail(email) !== undefined) throw emailTaken();
    return true;
  }

  #recordChange(input: UpdateUserInput, { email, permissions }: GuardedChange): (user: UserRecord) => UserRecord {
    const privacy = this.#agreement(input.privacy_policy_agreed_at, "privacy_policy_agreed_at");
    const terms = this.#agreement(input.terms_of_service_agreed_at, "terms_of_service_agreed_at");
    return (user) => ({
      ...user,
      ...(email === undefined || email === user.email ? {} : { email, email_verified: false }),
      ...namesAfter(user, input),
      ...(permissions === undefined ? {} : { permissions }),
      ...(privacy === undefined ? {} : { privacy_policy_agreed_at: privacy }),
      ...(terms === undefined ? {} : { terms_of_service_agreed_at: terms }),
    });
  }

  /** Returns the time of an agreement in the form of all timestamps. Rejects a time in the future. */
  #agreement(text: string | null | undefined, member: string): string | undefined {
    if (text === undefined || text === null) return undefined;
    const ms = Date.parse(text);
    if (Number.isNaN(ms) || ms > this.#dependencies.clock.nowMs() + CLOCK_AHEAD_MS) {
      throw invalidMember(member, `${member}: must be a time in the past`);
    }
    return isoTimestamp(ms);
  }

  /** Changes the user as it is now, and returns it as it was before. */
  async #commit(
    id: string,
    change: (user: UserRecord) => UserRecord,
    alongside: (user: UserRecord) => StoreCommit,
  ): Promise<UserRecord> {
    const { repository } = this.#dependencies;
    return await retryOnConflict(async () => {
      const current = repository.findUser(id);
      if (current === undefined) throw notFound("user");
      try {
        await repository.commit(
          mergeCommits(repository.updateUserCommit(current, change(current.value)), alongside(current.value)),
        );
        return current.value;
      } catch (error) {
        if (error instanceof StoreConflict && repository.isEmailConflict(error.key)) throw emailTaken();
        throw error;
      }
    });
  }
}

/**
 * Rejects a caller that would gain permissions by acting as the user: who sets a user's password or address can log in
 * as that user. So a user that holds administrators' permissions is safe from administrators without them, and a
 * virtual user from tokens of its application that may do less than the user.
 */
function requireMayImpersonate(principal: Principal, user: UserRecord): void {
  const { subject, permissions } = principal;
  if ((subject.kind === "user" && subject.id === user.id) || holdsAll(permissions, PERMISSIONS.sudo)) return;
  const guarded = isVirtualUserOf(principal, user) ? VIRTUAL_USER_GUARDED_PERMISSIONS : ADMINISTRATOR_ONLY_PERMISSIONS;
  const gained = user.permissions & guarded & ~permissions;
  if (gained !== 0)
    throw new AppError("permission_escalation", {
      message: `the user holds permissions that you do not: ${permissionNames(gained).join(", ")}`,
    });
}

/** The address that a request changes to; undefined when it names none, or sends back the present one. */
function newEmail(user: UserRecord, input: UpdateUserInput): string | undefined {
  const email = input.email === undefined ? undefined : requireEmail(input.email);
  return email === user.email ? undefined : email;
}

/** The names after a change. Existing clients know one `name`, and send back the one that they read. */
function namesAfter(user: UserRecord, input: UpdateUserInput): Pick<UserRecord, "first_name" | "last_name"> {
  const present = { first_name: user.first_name, last_name: user.last_name };
  const { name } = input;
  const said = name === undefined || name === `${user.first_name} ${user.last_name}` ? present : dividedName(name);
  return { first_name: input.first_name ?? said.first_name, last_name: input.last_name ?? said.last_name };
}

/** Divides a name at its first space. Throws `invalid_request` unless both parts could be sent as they are. */
function dividedName(name: string): Pick<UserRecord, "first_name" | "last_name"> {
  const [first = "", ...rest] = name.split(/\s+/u);
  const last = rest.join(" ");
  if (last === "" || Math.max(first.length, last.length) > PERSON_NAME_CHARACTERS_MAX)
    throw invalidMember("name", "name: must be a first and a last name, of up to 100 characters each");
  return { first_name: first, last_name: last };
}

function isSelf({ subject }: Principal, user: UserRecord): boolean {
  return subject.kind === "user" && subject.id === user.id;
}

function isVirtualUserOf({ subject }: Principal, user: UserRecord): boolean {
  return subject.kind === "application" && user.application_id === subject.id;
}

/** Returns true for a sound bit-set that has at least one of the given bits. */
function holdsAny({ permissions }: Principal, bits: number): boolean {
  return isPermissionSet(permissions) && (permissions & bits) !== 0;
}

/** Numbers outside the range would alias bits in 32-bit arithmetic. */
function isPermissionSet(permissions: number): boolean {
  return holdsAll(permissions, 0);
}
