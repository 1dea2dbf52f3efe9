/**
 * Personal access tokens: opaque tokens for scripts and machines, with a name, an expiry and a part of their owner's
 * permissions. The store keeps only their hash. What a token may do is derived at each use from what its owner may do
 * then.
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { createOpaqueToken, OPAQUE_PREFIXES, opaqueTokenHash } from "../../platform/auth/opaque-token.js";
import {
  formatSubject,
  ownerKey,
  type Principal,
  type Subject,
  type SubjectKind,
} from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { Store, StoreCommit, StoreRecord } from "../../platform/store/store.js";
import { defineTable, mergeCommits, retryOnConflict, type Table } from "../../platform/store/tables.js";
import type { IdentityRepository } from "../repository.js";
import type { TenantAccess } from "../tenants/tenant-access.js";
import type { CreatePersonalTokenInput, PersonalTokenJson } from "./token-schemas.js";

/** The token as stored; a type, not an interface, so that it is a StoreValue. */
export type PersonalTokenRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly owner_kind: SubjectKind;
  readonly owner_id: string;
  readonly name: string;
  readonly permissions: number;
  readonly expires_at_ms: number;
  readonly token_hash: string;
  readonly acting_user_id?: string;
  readonly acting_organization_id?: string;
};

export interface PersonalTokensDependencies {
  readonly store: Store;
  readonly repository: IdentityRepository;
  readonly access: TenantAccess;
  readonly clock: Clock;
  readonly log: Log;
}

/** A token and its caller, valid until a record of identity changes or a second passes. */
interface CachedToken {
  readonly record: PersonalTokenRecord;
  principal: Principal;
  revision: number;
  checkedAtMs: number;
  useWrittenAtMs: number;
}

const LIFE_DAYS_DEFAULT = 90;
const DAY_MS = 24 * 3600 * 1000;
/** Tokens of one owner; bounds the list and the work of revoking all. */
const TOKENS_MAX = 100;
/** About 1 KB each, so 10 MB. */
const CACHED_TOKENS_MAX = 10_000;
/** A change by another process takes effect within this time; a change by this one at once (`revision`). */
const STATE_AGE_MAX_MS = 1000;
/** The last use is recorded to the minute, so that a token causes at most one write a minute. */
const USE_WRITTEN_EVERY_MS = 60_000;

export class PersonalTokens {
  readonly #dependencies: PersonalTokensDependencies;
  readonly #table: Table<PersonalTokenRecord, "owner", "hash">;
  /** By a hash of the token, so that the memory of the process holds no usable token. */
  readonly #cache = new LRUCache<string, CachedToken>({ max: CACHED_TOKENS_MAX });

  constructor(dependencies: PersonalTokensDependencies) {
    this.#dependencies = dependencies;
    this.#table = defineTable(
      {
        name: "api_token",
        key: (row) => [row.owner_kind, row.owner_id, row.id],
        indexes: { owner: (row) => [row.owner_kind, row.owner_id] },
        uniques: { hash: (row) => [row.token_hash] },
      },
      dependencies,
    );
  }

  /**
   * Creates a token for the caller's subject and returns its text, which is not kept.
   * @param input.permissions bit-set; those of the caller's token by default
   * @throws forbidden unless the caller's token comes from a login; permission_escalation for bits that the caller's
   *   token lacks; conflict when the owner has as many tokens as allowed
   */
  async create(principal: Principal, input: CreatePersonalTokenInput): Promise<PersonalTokenJson> {
    const { repository, access, clock, log } = this.#dependencies;
    const { subject } = principal;
    const session = repository.findSession(subject, principal.sessionId)?.value;
    if (session === undefined || session.client_id !== undefined)
      throw new AppError("forbidden", { message: "personal access tokens are made with the token of a login" });
    const permissions = input.permissions ?? principal.permissions;
    access.requireSubset(permissions, principal.permissions);
    if (this.#table.count("owner", ownerKey(subject)) >= TOKENS_MAX)
      throw new AppError("conflict", {
        message: `there are ${String(TOKENS_MAX)} personal access tokens already, which is the most; revoke some`,
      });
    const token = createOpaqueToken("personal");
    const nowMs = clock.nowMs();
    const { acting_user_id: userId, acting_organization_id: organizationId } = session;
    const record: PersonalTokenRecord = {
      id: newId(),
      created_at: isoTimestamp(nowMs),
      owner_kind: subject.kind,
      owner_id: subject.id,
      name: input.name,
      permissions,
      expires_at_ms: nowMs + (input.expires_in_days ?? LIFE_DAYS_DEFAULT) * DAY_MS,
      token_hash: token.hash,
      ...(userId === undefined ? {} : { acting_user_id: userId }),
      ...(organizationId === undefined ? {} : { acting_organization_id: organizationId }),
    };
    await repository.commit(this.#table.insertCommit(record));
    log.info("personal access token created", { subject: formatSubject(subject) });
    return {
      id: record.id,
      created_at: record.created_at,
      name: record.name,
      permissions,
      expires_at: isoTimestamp(record.expires_at_ms),
      access_token: token.text,
    };
  }

  /**
   * Returns the caller that a token stands for. Reads a record or two, or none when the token was used within the last
   * second.
   * @throws unauthorized
   */
  authenticate(text: string): Principal {
    const { repository, clock } = this.#dependencies;
    const cacheKey = hash("sha256", text, "base64");
    const nowMs = clock.nowMs();
    const cached = this.#cache.get(cacheKey) ?? this.#load(text, cacheKey);
    if (cached === undefined || nowMs >= cached.record.expires_at_ms) throw unauthorized();
    const ageMs = nowMs - cached.checkedAtMs;
    if (cached.revision !== repository.revision() || ageMs < 0 || ageMs >= STATE_AGE_MAX_MS) {
      const principal = this.#principalOf(cached.record);
      if (principal === undefined) {
        this.#cache.delete(cacheKey);
        throw unauthorized();
      }
      cached.principal = principal;
      cached.revision = repository.revision();
      cached.checkedAtMs = nowMs;
    }
    this.#recordUse(cached, nowMs);
    return cached.principal;
  }

  /** Returns the tokens of a subject that have not expired, oldest first. */
  list(owner: Subject): PersonalTokenRecord[] {
    const nowMs = this.#dependencies.clock.nowMs();
    return this.#table.list("owner", ownerKey(owner)).rows.filter((row) => nowMs < row.expires_at_ms);
  }

  /** Returns a token of a subject by its id, expired or not. */
  find(owner: Subject, id: string): PersonalTokenRecord | undefined {
    return this.record(owner, id)?.value;
  }

  /** Returns a token with its key and version, so that a commit can check it. */
  record(owner: Subject, id: string): StoreRecord<PersonalTokenRecord> | undefined {
    return this.#table.get([...ownerKey(owner), id]);
  }

  /** Returns the token with this text; undefined for one that has expired or was revoked. */
  findByText(text: string): PersonalTokenRecord | undefined {
    const tokenHash = opaqueTokenHash("personal", text);
    const record = tokenHash === undefined ? undefined : this.#table.findBy("hash", [tokenHash])?.value;
    return record === undefined || this.#dependencies.clock.nowMs() >= record.expires_at_ms ? undefined : record;
  }

  /** Returns when a token was last used, to the minute; null for one that was never used. */
  lastUsedAt(id: string): string | null {
    const usedAtMs = this.#dependencies.store.get<number>(useKey(id))?.value;
    return usedAtMs === undefined ? null : isoTimestamp(usedAtMs);
  }

  /**
   * Revokes one token.
   * @returns false when there is no such token
   */
  async revoke(owner: Subject, id: string): Promise<boolean> {
    return retryOnConflict(async () => {
      const record = this.record(owner, id);
      if (record === undefined) return false;
      await this.#dependencies.repository.commit(this.#deleteCommit(record));
      return true;
    });
  }

  /** Revokes every token of a subject. */
  async revokeAll(owner: Subject): Promise<void> {
    await this.#dependencies.repository.commitCurrent(() => this.revokeAllCommit(owner));
  }

  /** Returns the commit that revokes every token of a subject, for merging into another. */
  revokeAllCommit(owner: Subject): StoreCommit {
    const records = this.#table.records("owner", ownerKey(owner));
    return mergeCommits(...records.map((record) => this.#deleteCommit(record)));
  }

  #deleteCommit(record: StoreRecord<PersonalTokenRecord>): StoreCommit {
    return mergeCommits(this.#table.deleteCommit(record), { deletes: [useKey(record.value.id)] });
  }

  #load(text: string, cacheKey: string): CachedToken | undefined {
    const record = this.findByText(text);
    const principal = record === undefined ? undefined : this.#principalOf(record);
    if (record === undefined || principal === undefined) return undefined;
    const loaded: CachedToken = {
      record,
      principal,
      revision: this.#dependencies.repository.revision(),
      checkedAtMs: this.#dependencies.clock.nowMs(),
      useWrittenAtMs: -Infinity,
    };
    this.#cache.set(cacheKey, loaded);
    return loaded;
  }

  /** Returns the caller with its present permissions; undefined once the token is revoked or its owner may not act. */
  #principalOf(record: PersonalTokenRecord): Principal | undefined {
    const subject: Subject = { kind: record.owner_kind, id: record.owner_id };
    if (this.find(subject, record.id) === undefined) return undefined;
    const held = this.#dependencies.access.permissionsOf(subject, record);
    if (held === undefined) return undefined;
    return {
      subject,
      permissions: held & record.permissions,
      tokenId: record.id,
      sessionId: record.id,
      expiresAtSec: Math.floor(record.expires_at_ms / 1000),
      ...(record.acting_user_id === undefined ? {} : { actingUserId: record.acting_user_id }),
    };
  }

  #recordUse(cached: CachedToken, nowMs: number): void {
    if (nowMs - cached.useWrittenAtMs < USE_WRITTEN_EVERY_MS) return;
    cached.useWrittenAtMs = nowMs;
    // Not awaited: a lost time of last use must not fail the request. No permission changes, so the revision stays.
    this.#dependencies.store.commit({ puts: [{ key: useKey(cached.record.id), value: nowMs }] }).catch(() => {
      this.#dependencies.log.warn("last use of a personal access token not written", {
        subject: `${cached.record.owner_kind}:${cached.record.owner_id}`,
      });
    });
  }
}

/** Returns true for text that has the prefix of a personal access token. */
export function isPersonalToken(text: string): boolean {
  return text.startsWith(OPAQUE_PREFIXES.personal);
}

function useKey(id: string): readonly string[] {
  return ["api_token_use", id];
}

function unauthorized(): AppError {
  return new AppError("unauthorized", { message: "unauthorized" });
}
