/**
 * The records of users, credentials and sessions: keys, shapes, reads, and the parts of commits. Makes no decisions.
 * Password hashes have a record of their own, so that no read of a user can carry one.
 */
import { newId } from "../platform/ids.js";
import { ownerKey, type Subject } from "../platform/auth/principal.js";
import { mergeCommits, retryOnConflict } from "../platform/store/commits.js";
import type { Store, StoreCommit, StoreKey, StoreRecord } from "../platform/store/store.js";
import { defineTable, type Listing, type Page, type Table } from "../platform/store/tables.js";

/** The user as stored; types, not interfaces, so that they are StoreValues. */
export type UserRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly email: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly permissions: number;
  readonly privacy_policy_agreed_at: string | null;
  readonly terms_of_service_agreed_at: string | null;
  /** Set for a virtual user: the application that created it, within which its address is unique. */
  readonly application_id?: string;
  /** Set for a user of an external issuer; such a user has no password here. */
  readonly external_issuer?: string;
  readonly external_subject?: string;
  /** True once the user proved that mail to the address arrives. */
  readonly email_verified?: boolean;
};

/** The state of a user, application or organization that every use of one of its tokens reads. */
export type SubjectState = {
  readonly enabled: boolean;
  /** Tokens and sessions of an older epoch are void. */
  readonly epoch: number;
};

export type CredentialRecord = {
  /** PHC string. */
  readonly password_hash: string;
};

/** A token family: one login and everything refreshed from it. The session is live while the record exists. */
export type SessionRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly epoch: number;
  readonly scope: string;
  /** The session is over from then on, however often it was refreshed. */
  readonly ends_at_ms: number;
  /** Null for a session without a refresh token. */
  readonly refresh: RefreshState | null;
  /** The session's tokens never carry more than these bits; absent: everything that the subject holds. */
  readonly permissions_max?: number;
  /**
   * The user or organization on whose behalf the tokens of an application or organization act; the tokens lose what
   * that member loses.
   */
  readonly acting_user_id?: string;
  readonly acting_organization_id?: string;
  /** The application that holds the session's tokens as an OAuth client. */
  readonly client_id?: string;
  /** When the password was entered; absent for sessions that came from another token. */
  readonly password_at_ms?: number;
  /**
   * The tokens from which this session was derived; absent for a login. The session ends with any of them, and no later
   * than `until_ms`.
   */
  readonly derived?: { readonly from: readonly TokenReference[]; readonly until_ms: number };
};

/** A session or personal access token, by its subject. */
export type TokenReference = { readonly kind: Subject["kind"]; readonly subject_id: string; readonly id: string };

export type RefreshState = {
  readonly handle_hash: string;
  readonly generation: number;
  readonly current_hash: string;
  readonly previous_hash: string | null;
  /** The previous token may be presented again until then, and gets the current one again. */
  readonly previous_until_ms: number;
  /** The current token follows from this and the previous one; absent in a family that an older version rotated. */
  readonly successor_salt?: string;
  readonly idle_until_ms: number;
};

type RefreshPointer = { readonly kind: Subject["kind"]; readonly subject_id: string; readonly session_id: string };

/** Looked up in place of a user that does not exist, so that both cases read the same number of records. */
const ABSENT_USER_ID = newId();

export class IdentityRepository {
  readonly #store: Store;
  readonly #users: Table<UserRecord, "all" | "application", "email" | "application_email" | "external">;
  #revision = 0;

  readonly #changesElsewhere: () => number;

  /** @param dependencies.changesElsewhere returns a number that changes with each commit of another node */
  constructor(dependencies: { readonly store: Store; readonly changesElsewhere?: (() => number) | undefined }) {
    this.#store = dependencies.store;
    this.#changesElsewhere = dependencies.changesElsewhere ?? (() => 0);
    this.#users = defineTable(
      {
        name: "user",
        key: (user) => [user.id],
        indexes: {
          all: () => [],
          application: (user) => (user.application_id === undefined ? undefined : [user.application_id]),
        },
        uniques: {
          email: (user) =>
            user.application_id === undefined && user.external_issuer === undefined ? [user.email] : undefined,
          application_email: (user) =>
            user.application_id === undefined ? undefined : [user.application_id, user.email],
          external: (user) =>
            user.external_issuer === undefined ? undefined : [user.external_issuer, user.external_subject ?? ""],
        },
      },
      dependencies,
    );
  }

  /** Writes records of identity. Every write goes through here, so that `revision` changes with it. */
  async commit(commit: StoreCommit): Promise<void> {
    try {
      await this.#store.commit(commit);
    } finally {
      // Also after a failure: whether a failed write is on disk is not always known.
      this.#revision += 1;
    }
  }

  /**
   * Writes a commit that is built from what the store holds now, and builds it anew after each conflict.
   * @param build reads, decides and returns the commit; undefined when there is nothing to write
   * @throws conflict when others keep changing the same records; whatever `build` throws
   */
  async commitCurrent(build: () => StoreCommit | undefined | Promise<StoreCommit | undefined>): Promise<void> {
    await retryOnConflict(async () => {
      const commit = await build();
      if (commit !== undefined) await this.commit(commit);
    });
  }

  /** Returns a number that changes with each commit of this process to identity, and with each of other nodes. */
  revision(): number {
    return this.#revision + this.#changesElsewhere();
  }

  /** Returns the user with this id. */
  findUser(id: string): StoreRecord<UserRecord> | undefined {
    return this.#users.get([id]);
  }

  /** Returns a page of all users, or of those that the filter keeps, oldest first. */
  listUsers(page: Page, filter?: (user: UserRecord) => boolean): Listing<UserRecord> {
    return this.#users.list("all", [], { page, ...(filter === undefined ? {} : { filter }) });
  }

  /**
   * Returns the user with an address.
   * @param email as `normalizeEmail` returns it
   * @param applicationId searches among the virtual users of this application only
   */
  findUserByEmail(email: string, applicationId?: string): StoreRecord<UserRecord> | undefined {
    return applicationId === undefined
      ? this.#users.findBy("email", [email])
      : this.#users.findBy("application_email", [applicationId, email]);
  }

  /** Returns the user whom an external issuer knows as `subject`. */
  findExternalUser(issuer: string, subject: string): StoreRecord<UserRecord> | undefined {
    return this.#users.findBy("external", [issuer, subject]);
  }

  /** Returns up to `count` virtual users of an application. */
  someUsersOf(applicationId: string, count: number): StoreRecord<UserRecord>[] {
    return this.#users.records("application", [applicationId], { page: 1, rpp: count });
  }

  /**
   * Returns the password hash of the account with an address. Reads the same number of records for an unknown address,
   * so that the time of the answer does not tell whether there is an account.
   */
  findCredential(
    email: string | undefined,
    applicationId?: string,
  ): { readonly userId: string; readonly record: StoreRecord<CredentialRecord> } | undefined {
    const userId =
      (this.findUserByEmail(email ?? "", applicationId) ?? this.#users.get([ABSENT_USER_ID]))?.value.id ??
      ABSENT_USER_ID;
    const record = this.findCredentialOf(userId);
    return record === undefined ? undefined : { userId, record };
  }

  /** Returns the password hash of a user; undefined for a user without a password. */
  findCredentialOf(userId: string): StoreRecord<CredentialRecord> | undefined {
    return this.#store.get<CredentialRecord>(credentialKey(userId));
  }

  /** Returns the commit of all records of a new user. It conflicts when the address is taken (`isEmailConflict`). */
  createUserCommit(user: UserRecord, passwordHash: string | undefined): StoreCommit {
    const state: SubjectState = { enabled: true, epoch: 1 };
    const puts = [
      ...(passwordHash === undefined ? [] : [{ key: credentialKey(user.id), value: { password_hash: passwordHash } }]),
      { key: stateKey({ kind: "user", id: user.id }), value: state },
    ];
    return mergeCommits(this.#users.insertCommit(user), { puts });
  }

  /** Returns true when a conflict means that the address is taken. */
  isEmailConflict(conflictKey: StoreKey): boolean {
    const unique = this.#users.uniqueOf(conflictKey);
    return unique === "email" || unique === "application_email";
  }

  /** Returns the commit that replaces a user as read. */
  updateUserCommit(user: StoreRecord<UserRecord>, next: UserRecord): StoreCommit {
    return this.#users.updateCommit(user, next);
  }

  /** Returns the commit that deletes a user's records; its sessions and memberships must be deleted before. */
  deleteUserCommit(user: StoreRecord<UserRecord>): StoreCommit {
    const { id } = user.value;
    return mergeCommits(this.#users.deleteCommit(user), {
      deletes: [credentialKey(id), stateKey({ kind: "user", id })],
    });
  }

  /** Returns the commit that sets a user's password, whether there was one or not. */
  setPasswordCommit(userId: string, passwordHash: string): StoreCommit {
    const current = this.findCredentialOf(userId);
    const key = credentialKey(userId);
    return {
      checks: [{ key, version: current?.version ?? "absent" }],
      puts: [{ key, value: { password_hash: passwordHash } }],
    };
  }

  /** Returns the commit that replaces a password hash as read. */
  replaceCredentialCommit(credential: StoreRecord<CredentialRecord>, passwordHash: string): StoreCommit {
    return {
      checks: [{ key: credential.key, version: credential.version }],
      puts: [{ key: credential.key, value: { password_hash: passwordHash } }],
    };
  }

  /** Returns the state of a user, application or organization. */
  findState(subject: Subject): StoreRecord<SubjectState> | undefined {
    return this.#store.get<SubjectState>(stateKey(subject));
  }

  /** Returns the commit that replaces a state as read. */
  replaceStateCommit(state: StoreRecord<SubjectState>, value: SubjectState): StoreCommit {
    return { checks: [{ key: state.key, version: state.version }], puts: [{ key: state.key, value }] };
  }

  /** Returns a session of a subject, whether it is over or not. */
  findSession(subject: Subject, id: string): StoreRecord<SessionRecord> | undefined {
    return this.#store.get<SessionRecord>(sessionKey(subject, id));
  }

  /** Returns all sessions of a subject, those that are over included. */
  listSessions(subject: Subject): StoreRecord<SessionRecord>[] {
    return this.#store.range<SessionRecord>(["session", ...ownerKey(subject)]);
  }

  /** Counts the sessions of a subject, those that are over included. */
  countSessions(subject: Subject): number {
    return this.#store.count(["session", ...ownerKey(subject)]);
  }

  /** Returns the session to which the handle of a refresh token belongs. */
  findSessionByHandle(
    handleHash: string,
  ): { readonly subject: Subject; readonly session: StoreRecord<SessionRecord> } | undefined {
    const pointer = this.#store.get<RefreshPointer>(["refresh_handle", handleHash])?.value;
    if (pointer === undefined) return undefined;
    const subject: Subject = { kind: pointer.kind, id: pointer.subject_id };
    const session = this.findSession(subject, pointer.session_id);
    return session === undefined ? undefined : { subject, session };
  }

  /** Returns the commit of all records of a new session. */
  createSessionCommit(subject: Subject, session: SessionRecord): StoreCommit {
    const pointer: RefreshPointer = { kind: subject.kind, subject_id: subject.id, session_id: session.id };
    const handle =
      session.refresh === null ? [] : [{ key: ["refresh_handle", session.refresh.handle_hash], value: pointer }];
    const puts = [
      { key: sessionKey(subject, session.id), value: session },
      ...handle,
      ...derivedKeys(sessionKey(subject, session.id), session).map((key) => ({ key, value: true })),
    ];
    return { checks: puts.map(({ key }) => ({ key, version: "absent" as const })), puts };
  }

  /** Returns the commit that replaces a session as read. */
  replaceSessionCommit(session: StoreRecord<SessionRecord>, value: SessionRecord): StoreCommit {
    return { checks: [{ key: session.key, version: session.version }], puts: [{ key: session.key, value }] };
  }

  /** Returns the commit that ends a session: without its record, its access and refresh tokens are void. */
  deleteSessionCommit(session: StoreRecord<SessionRecord>): StoreCommit {
    const handle = session.value.refresh === null ? [] : [["refresh_handle", session.value.refresh.handle_hash]];
    return {
      checks: [{ key: session.key, version: session.version }],
      deletes: [session.key, ...handle, ...derivedKeys(session.key, session.value)],
    };
  }

  /**
   * Returns up to `count` sessions that were derived from a subject's tokens: the keys of their entries, and their
   * records where they still exist.
   * @param tokenId only sessions derived from this token; undefined for all
   */
  someDerived(
    subject: Subject,
    tokenId: string | undefined,
    count: number,
  ): { readonly entry: StoreKey; readonly session: StoreRecord<SessionRecord> | undefined }[] {
    const prefix = [DERIVED, ...ownerKey(subject), ...(tokenId === undefined ? [] : [tokenId])];
    return this.#store
      .range<true>(prefix, { limit: count })
      .map(({ key }) => ({ entry: key, session: this.#store.get<SessionRecord>(["session", ...key.slice(4)]) }));
  }
}

const DERIVED = "derived_session";

/** Returns the keys of the entries by which a session is found from the tokens that it was derived from. */
function derivedKeys(key: StoreKey, session: SessionRecord): StoreKey[] {
  return (session.derived?.from ?? []).map(({ kind, subject_id: subjectId, id }) => [
    DERIVED,
    kind,
    subjectId,
    id,
    ...key.slice(1),
  ]);
}

function credentialKey(userId: string): StoreKey {
  return ["user_credential", userId];
}

function stateKey(subject: Subject): StoreKey {
  return ["subject_state", ...ownerKey(subject)];
}

function sessionKey(subject: Subject, id: string): StoreKey {
  return ["session", ...ownerKey(subject), id];
}
