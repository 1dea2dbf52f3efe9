/**
 * Tokens that are mailed to a user and used once: random, stored as a hash, good for a while, and only the newest of
 * its kind and user is good. What voids the user's tokens (a new password, new permissions) voids these too.
 */
import { createOpaqueToken, opaqueTokenHash, type OpaqueKind } from "../platform/auth/opaque-token.js";
import type { Clock } from "../platform/clock.js";
import type { Store, StoreCommit, StoreRecord, StoreValue } from "../platform/store/store.js";
import { mergeCommits, retryOnConflict } from "../platform/store/tables.js";
import { ExpiringRecords, type Expiring } from "./expiring-records.js";
import type { IdentityRepository, UserRecord } from "./repository.js";

/** A token as stored. */
export type MailedTokenRecord = Expiring & {
  readonly user_id: string;
  /** The account's epoch when the token was made: what voids the account's tokens also voids this one. */
  readonly epoch: number;
};

/** A good token, and the user to whom it was mailed. */
export interface MailedToken<T> {
  readonly record: StoreRecord<T>;
  readonly user: StoreRecord<UserRecord>;
}

export interface MailedTokensOptions {
  readonly kind: OpaqueKind;
  /** First part of the keys; never change it. */
  readonly table: string;
  readonly lifeMinutes: number;
}

export interface MailedTokensDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly clock: Clock;
}

/** The newest token of a user, by its hash. */
type Newest = Expiring & { readonly token_hash: string };

export class MailedTokens<T extends MailedTokenRecord & StoreValue> {
  readonly lifeMinutes: number;
  readonly #kind: OpaqueKind;
  readonly #dependencies: MailedTokensDependencies;
  readonly #tokens: ExpiringRecords<T>;
  readonly #newest: ExpiringRecords<Newest>;
  readonly #newestTable: string;

  constructor(options: MailedTokensOptions, dependencies: MailedTokensDependencies) {
    this.lifeMinutes = options.lifeMinutes;
    this.#kind = options.kind;
    this.#dependencies = dependencies;
    this.#tokens = new ExpiringRecords({ table: options.table }, dependencies);
    this.#newestTable = `${options.table}_newest`;
    this.#newest = new ExpiringRecords({ table: this.#newestTable }, dependencies);
  }

  /**
   * Makes a token of an enabled user and ends the earlier one. Returns its text, which is not kept; undefined for a
   * user that is gone or disabled.
   * @param details what the kind remembers besides
   */
  async issue(userId: string, details: Omit<T, keyof MailedTokenRecord>): Promise<string | undefined> {
    const { repository, store, clock } = this.#dependencies;
    const text = await retryOnConflict(async () => {
      const state = repository.findState({ kind: "user", id: userId })?.value;
      if (state?.enabled !== true) return undefined;
      const token = createOpaqueToken(this.#kind);
      const expiresAtMs = clock.nowMs() + this.lifeMinutes * 60_000;
      const shared: MailedTokenRecord = { user_id: userId, epoch: state.epoch, expires_at_ms: expiresAtMs };
      const newest: Newest = { token_hash: token.hash, expires_at_ms: expiresAtMs };
      await store.commit(
        mergeCommits(this.voidCommit(userId), this.#tokens.insertCommit(token.hash, { ...details, ...shared } as T), {
          puts: [{ key: [this.#newestTable, userId], value: newest }],
        }),
      );
      return token.text;
    });
    await this.#tokens.sweep();
    await this.#newest.sweep();
    return text;
  }

  /** Returns a token that is good: known, not expired, not void, and of a user that is enabled. */
  find(text: string): MailedToken<T> | undefined {
    const { repository } = this.#dependencies;
    const hash = opaqueTokenHash(this.#kind, text);
    const record = hash === undefined ? undefined : this.#tokens.find(hash);
    if (record === undefined) return undefined;
    const id = record.value.user_id;
    const user = repository.findUser(id);
    const state = repository.findState({ kind: "user", id })?.value;
    return user === undefined || state?.enabled !== true || state.epoch !== record.value.epoch
      ? undefined
      : { record, user };
  }

  /** Returns the commit that uses a token up; it conflicts when another request did so first. */
  useCommit({ record }: MailedToken<T>): StoreCommit {
    return mergeCommits(this.#tokens.deleteCommit(record), { deletes: [[this.#newestTable, record.value.user_id]] });
  }

  /** Returns the commit that ends the token of a user, if there is one; it conflicts with a token made meanwhile. */
  voidCommit(userId: string): StoreCommit {
    const key = [this.#newestTable, userId];
    const newest = this.#dependencies.store.get<Newest>(key);
    if (newest === undefined) return { checks: [{ key, version: "absent" }] };
    return {
      checks: [{ key, version: newest.version }],
      deletes: [key, this.#tokens.keyOf(newest.value.token_hash)],
    };
  }
}
