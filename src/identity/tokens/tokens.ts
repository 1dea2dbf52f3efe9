/**
 * Answers which tokens a caller may see and revoke: the sessions and personal access tokens of a subject, without their
 * text.
 */
import { PERMISSIONS, PERMISSIONS_MAX, holdsAll } from "../../platform/auth/permissions.js";
import { formatSubject, type Principal, type Subject } from "../../platform/auth/principal.js";
import { isoTimestamp } from "../../platform/clock.js";
import { notFound } from "../../platform/errors.js";
import type { Log } from "../../platform/log.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { mergeCommits, type Page } from "../../platform/store/tables.js";
import type { TenantAccess } from "../tenants/tenant-access.js";
import type { PersonalTokenRecord, PersonalTokens } from "./personal-tokens.js";
import { isNamed, pageOf, type NameFilter } from "../listing.js";
import type { IdentityRepository, SessionRecord } from "../repository.js";
import type { Sessions } from "./sessions.js";
import type { Tenant, TenantRepository } from "../tenants/tenant-repository.js";
import type { TokenRowJson } from "./token-schemas.js";

export interface TokensDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly sessions: Sessions;
  readonly personalTokens: PersonalTokens;
  readonly log: Log;
}

export interface TokenFilters extends NameFilter {
  readonly user_id?: string | undefined;
}

interface OwnedToken {
  readonly owner: Subject;
  readonly row: TokenRowJson;
}

export class Tokens {
  readonly #dependencies: TokensDependencies;

  constructor(dependencies: TokensDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns a page of the caller's tokens, oldest first.
   * @param query.user_id another user's, for `token_list` or `sudo`
   * @param query.name only personal access tokens with this name
   * @throws not_found for a user whose tokens the caller may not list
   */
  list(principal: Principal, query: Page & TokenFilters): { body: TokenRowJson[]; total: number } {
    return this.#rows(this.#subjectOf(principal, query.user_id, PERMISSIONS.token_list), query);
  }

  /** Returns a page of the tokens of an application or organization. Throws as `TenantAccess.require` does. */
  listOf(principal: Principal, tenant: Tenant, query: Page & NameFilter): { body: TokenRowJson[]; total: number } {
    this.#dependencies.access.require(principal, tenant, PERMISSIONS.read);
    return this.#rows(tenant, query);
  }

  /**
   * Returns a token of the caller, or of an application or organization where it may read.
   * @throws not_found
   */
  get(principal: Principal, id: string): TokenRowJson {
    return this.#require(principal, id).row;
  }

  /**
   * Ends a session or revokes a personal access token, with everything derived from it: of the caller, or of an
   * application or organization where the caller may revoke.
   * @throws not_found; forbidden without `revoke`
   */
  async revoke(principal: Principal, id: string): Promise<void> {
    const { access, sessions, personalTokens, log } = this.#dependencies;
    const { owner, row } = this.#require(principal, id);
    const isOwn =
      isSame(owner, principal.subject) ||
      (principal.subject.kind === "user" && row.acting_user_id === principal.subject.id);
    if (!isOwn && owner.kind !== "user")
      access.require(principal, { kind: owner.kind, id: owner.id }, PERMISSIONS.revoke);
    const ended = (await sessions.end(owner, id)) || (await personalTokens.revoke(owner, id));
    if (!ended) throw notFound("token");
    await sessions.endDerived(owner, id);
    log.info("token revoked", { subject: formatSubject(owner) });
  }

  /**
   * Revokes every token of the caller, the one in use included.
   * @param userId those of another user instead, for `token_delete` or `sudo`
   * @throws not_found for a user whose tokens the caller may not revoke
   */
  async revokeAll(principal: Principal, userId?: string): Promise<void> {
    await this.revokeAllOf(this.#subjectOf(principal, userId, PERMISSIONS.token_delete));
  }

  /** Revokes every token of an application or organization. Throws as `TenantAccess.require` does. */
  async revokeTenant(principal: Principal, tenant: Tenant): Promise<void> {
    this.#dependencies.access.require(principal, tenant, PERMISSIONS.revoke);
    await this.revokeAllOf(tenant);
  }

  /** Voids every token of a subject, and everything derived from them. */
  async revokeAllOf(subject: Subject): Promise<void> {
    // Urgent, so that it works on a full disk too: it takes the room of one record, and a stolen token cannot wait.
    await this.#dependencies.repository.commitCurrent(() => ({ ...this.voidCommit(subject), urgent: true }));
    await this.#dependencies.sessions.endDerived(subject);
    this.#dependencies.log.info("all tokens of a subject voided", { subject: formatSubject(subject) });
  }

  /**
   * Returns the commit that voids every token of a subject, for merging into the commit that is the reason for it, so
   * that no token survives a crash in between. `Sessions.endDerived` must follow.
   */
  voidCommit(subject: Subject): StoreCommit {
    return mergeCommits(
      this.#dependencies.sessions.endAllCommit(subject),
      this.#dependencies.personalTokens.revokeAllCommit(subject),
    );
  }

  #rows(owner: Subject, query: Page & NameFilter): { body: TokenRowJson[]; total: number } {
    const { sessions, personalTokens } = this.#dependencies;
    const live = query.name === undefined ? sessions.live(owner) : [];
    const named = personalTokens.list(owner).filter((record) => isNamed(record, query.name));
    const rows = [
      ...live.map((session) => this.#sessionRow(owner, session)),
      ...named.map((record) => this.#personalTokenRow(record)),
    ];
    const { rows: body, total } = pageOf(rows, query);
    return { body, total };
  }

  /** Finds a token of the caller itself, or of an application or organization where it may read. */
  #require(principal: Principal, id: string): OwnedToken {
    for (const owner of this.#ownersFor(principal)) {
      const session = this.#dependencies.sessions.live(owner).find((candidate) => candidate.id === id);
      if (session !== undefined) return { owner, row: this.#sessionRow(owner, session) };
      const record = this.#dependencies.personalTokens.find(owner, id);
      if (record !== undefined) return { owner, row: this.#personalTokenRow(record) };
    }
    throw notFound("token");
  }

  #ownersFor({ subject }: Principal): Subject[] {
    if (subject.kind === "application") return [subject];
    const { tenants } = this.#dependencies;
    const member = { kind: subject.kind, id: subject.id };
    const memberships = (["application", "organization"] as const).flatMap((kind) =>
      tenants.listMemberships(member, kind),
    );
    return [
      subject,
      ...memberships
        .filter(({ permissions }) => holdsAll(permissions, PERMISSIONS.read))
        .map((row) => ({ kind: row.tenant_kind, id: row.tenant_id })),
    ];
  }

  #subjectOf(principal: Principal, userId: string | undefined, needed: number): Subject {
    if (userId === undefined || (principal.subject.kind === "user" && principal.subject.id === userId))
      return principal.subject;
    const isAdministrator =
      holdsAll(principal.permissions, needed) || holdsAll(principal.permissions, PERMISSIONS.sudo);
    const subject: Subject = { kind: "user", id: userId };
    if (!isAdministrator || this.#dependencies.repository.findState(subject) === undefined) throw notFound("user");
    return subject;
  }

  #sessionRow(owner: Subject, session: SessionRecord): TokenRowJson {
    const held = this.#dependencies.access.permissionsOf(owner, session) ?? 0;
    return {
      id: session.id,
      created_at: session.created_at,
      kind: "session",
      subject: formatSubject(owner),
      name: null,
      scope: session.scope,
      permissions: held & (session.permissions_max ?? PERMISSIONS_MAX),
      expires_at: isoTimestamp(session.ends_at_ms),
      last_used_at: null,
      client_id: session.client_id ?? null,
      acting_user_id: session.acting_user_id ?? null,
    };
  }

  #personalTokenRow(record: PersonalTokenRecord): TokenRowJson {
    const owner: Subject = { kind: record.owner_kind, id: record.owner_id };
    const held = this.#dependencies.access.permissionsOf(owner, record) ?? 0;
    return {
      id: record.id,
      created_at: record.created_at,
      kind: "personal",
      subject: formatSubject(owner),
      name: record.name,
      scope: "",
      permissions: held & record.permissions,
      expires_at: isoTimestamp(record.expires_at_ms),
      last_used_at: this.#dependencies.personalTokens.lastUsedAt(record.id),
      client_id: null,
      acting_user_id: record.acting_user_id ?? null,
    };
  }
}

function isSame(a: Subject, b: Subject): boolean {
  return a.kind === b.kind && a.id === b.id;
}
