/**
 * Personal access tokens: opaque, for scripts and machines, with a name, an expiry and a part of their owner's
 * permissions. Only their hash is stored. What they may do is worked out at each use from what the owner may do then.
 */
import { hash } from "node:crypto";
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
import type { TenantAccess } from "../tenants/tenant-access.js";
import type { IdentityRepository } from "../repository.js";

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

/** What a token was found to be, good until something changes or a second passes. */
interface CachedToken {
  readonly record: PersonalTokenRecord;
  principal: Principal;
  revision: number;
  checkedAtMs: number;
  useWrittenAtMs: number;
}

export const LIFE_DAYS_DEFAULT = 90;
export const LIFE_DAYS_MAX = 366;
const DAY_MS = 24 * 3600 * 1000;
/** Bounds the list and the work of revoking all. */
const TOKENS_MAX = 100;
const KNOWN_MAX = 10_000;
const STATE_AGE_MAX_MS = 1000;
/** The last use is kept to the minute: one write per token and minute. */
const USE_WRITTEN_EVERY_MS = 60_000;

export class PersonalTokens {
  readonly #dependencies: PersonalTokensDependencies;
  readonly #table: Table<PersonalTokenRecord, "owner", "hash">;
  readonly #known = new Map<string, CachedToken>();

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

  static isPersonalToken(text: string): boolean {
    return text.startsWith(OPAQUE_PREFIXES.personal);
  }

  /**
   * Makes a token for the caller's subject. Throws `permission_escalation` for bits that the caller's own token lacks,
   * `conflict` over the limit.
   */
  async create(
    principal: Principal,
    input: { readonly name: string; readonly permissions?: number; readonly expires_in_days?: number },
  ): Promise<{ record: PersonalTokenRecord; text: string }> {
    const { repository, access, clock, log } = this.#dependencies;
    const { subject } = principal;
    const session = repository.findSession(subject, principal.sessionId)?.value;
    if (session === undefined || session.client_id !== undefined)
      throw new AppError("forbidden", { message: "personal access tokens are made with the token of a login" });
    const permissions = input.permissions ?? principal.permissions;
    access.requireSubset(permissions, principal.permissions);
    if (this.#table.count("owner", ownerKey(subject)) >= TOKENS_MAX)
      throw new AppError("conflict", {
        message: `nobody can have more than ${String(TOKENS_MAX)} personal access tokens; revoke some`,
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
    return { record, text: token.text };
  }

  /**
   * The caller that a token stands for. Throws `unauthorized`. A store read or two, or nothing when it was seen within
   * the second.
   */
  authenticate(text: string): Principal {
    const { repository, clock } = this.#dependencies;
    const cacheKey = hash("sha256", text, "base64");
    const nowMs = clock.nowMs();
    const known = this.#known.get(cacheKey) ?? this.#look(text, cacheKey);
    if (known === undefined || nowMs >= known.record.expires_at_ms) throw refusal();
    const ageMs = nowMs - known.checkedAtMs;
    if (known.revision !== repository.revision() || ageMs < 0 || ageMs >= STATE_AGE_MAX_MS) {
      const principal = this.#principalNow(known.record);
      if (principal === undefined) {
        this.#known.delete(cacheKey);
        throw refusal();
      }
      known.principal = principal;
      known.revision = repository.revision();
      known.checkedAtMs = nowMs;
    }
    this.#noteUse(known, nowMs);
    return known.principal;
  }

  /** A subject's tokens that are not over, oldest first. */
  list(owner: Subject): PersonalTokenRecord[] {
    const nowMs = this.#dependencies.clock.nowMs();
    return this.#table.list("owner", ownerKey(owner)).rows.filter((row) => nowMs < row.expires_at_ms);
  }

  find(owner: Subject, id: string): PersonalTokenRecord | undefined {
    return this.record(owner, id)?.value;
  }

  record(owner: Subject, id: string): StoreRecord<PersonalTokenRecord> | undefined {
    return this.#table.get([...ownerKey(owner), id]);
  }

  /** By its text; undefined for one that is over or was revoked. */
  findByText(text: string): PersonalTokenRecord | undefined {
    const tokenHash = opaqueTokenHash("personal", text);
    const record = tokenHash === undefined ? undefined : this.#table.findBy("hash", [tokenHash])?.value;
    return record === undefined || this.#dependencies.clock.nowMs() >= record.expires_at_ms ? undefined : record;
  }

  lastUsedAt(id: string): string | null {
    const used = this.#dependencies.store.get<number>(useKey(id))?.value;
    return used === undefined ? null : isoTimestamp(used);
  }

  /** False when there is no such token. */
  async revoke(owner: Subject, id: string): Promise<boolean> {
    return retryOnConflict(async () => {
      const record = this.#table.get([...ownerKey(owner), id]);
      if (record === undefined) return false;
      await this.#dependencies.repository.commit(
        mergeCommits(this.#table.deleteCommit(record), { deletes: [useKey(id)] }),
      );
      return true;
    });
  }

  async revokeAll(owner: Subject): Promise<void> {
    await retryOnConflict(async () => {
      await this.#dependencies.repository.commit(this.revokeAllCommit(owner));
    });
  }

  revokeAllCommit(owner: Subject): StoreCommit {
    const records = this.#table.records("owner", ownerKey(owner));
    return mergeCommits(
      ...records.map((record) =>
        mergeCommits(this.#table.deleteCommit(record), { deletes: [useKey(record.value.id)] }),
      ),
    );
  }

  #look(text: string, cacheKey: string): CachedToken | undefined {
    const record = this.findByText(text);
    const principal = record === undefined ? undefined : this.#principalNow(record);
    if (record === undefined || principal === undefined) return undefined;
    if (this.#known.size >= KNOWN_MAX) {
      // A Map keeps insertion order: the one that was first seen longest ago goes.
      for (const oldest of this.#known.keys()) {
        this.#known.delete(oldest);
        break;
      }
    }
    const known: CachedToken = {
      record,
      principal,
      revision: this.#dependencies.repository.revision(),
      checkedAtMs: this.#dependencies.clock.nowMs(),
      useWrittenAtMs: -Infinity,
    };
    this.#known.set(cacheKey, known);
    return known;
  }

  /** What the token may do now; undefined when it was revoked, or its owner may no longer act. */
  #principalNow(record: PersonalTokenRecord): Principal | undefined {
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

  #noteUse(known: CachedToken, nowMs: number): void {
    if (nowMs - known.useWrittenAtMs < USE_WRITTEN_EVERY_MS) return;
    known.useWrittenAtMs = nowMs;
    // Beside the request: that a time of last use is lost must not fail it. No state of tokens changes, so the revision
    // stays.
    this.#dependencies.store.commit({ puts: [{ key: useKey(known.record.id), value: nowMs }] }).catch(() => {
      this.#dependencies.log.warn("last use of a personal access token not written", {
        subject: `${known.record.owner_kind}:${known.record.owner_id}`,
      });
    });
  }
}

function useKey(id: string): readonly string[] {
  return ["api_token_use", id];
}

function refusal(): AppError {
  return new AppError("unauthorized", { message: "unauthorized" });
}
