/**
 * Answers who is a member of an application or organization, and with which permissions; changes these access lists.
 * Granting needs `grant` and the granted permissions themselves, taking away needs `revoke`. Tokens that act for a
 * member end with its membership.
 */
import {
  ASSOCIATE_PERMISSIONS,
  ORGANIZATION_MEMBER_PERMISSIONS,
  PERMISSIONS,
  holdsAll,
} from "../../platform/auth/permissions.js";
import { formatSubject, type Principal } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError, notFound } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import { mergeCommits, type Page } from "../../platform/store/tables.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { tenantNotFound, type TenantAccess } from "./tenant-access.js";
import type { Directory } from "./directory.js";
import type { AdminGuard } from "./admin-guard.js";
import type { NameFilter } from "../listing.js";
import type { IdentityRepository } from "../repository.js";
import type { Sessions } from "../tokens/sessions.js";
import type { MemberJson } from "./tenant-schemas.js";
import type { Member, MembershipRecord, OrganizationRecord, Tenant, TenantRepository } from "./tenant-repository.js";

export interface MembershipsDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
  readonly access: TenantAccess;
  readonly directory: Directory;
  readonly adminGuard: AdminGuard;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly log: Log;
}

/** Organizations are smaller because a user's list of users reads all members of its organizations. */
const MEMBERS_MAX = { organization: 2_000, application: 100_000 } as const;
/** Bounds the lists that are put together from the memberships of one user or organization. */
const MEMBERSHIPS_MAX = 200;
/** Memberships that one commit deletes. */
const DELETION_BATCH = 200;

export class Memberships {
  readonly #dependencies: MembershipsDependencies;

  constructor(dependencies: MembershipsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Adds a member. An existing membership stays as it is.
   * @param permissions bit-set; undefined for the tenant's default, reduced to what the caller holds
   * @throws not_found for a tenant or member that the caller cannot see; forbidden without `grant`;
   *   permission_escalation for more than the caller holds; conflict for an existing member with other permissions
   */
  async add(principal: Principal, tenant: Tenant, member: Member, permissions?: number): Promise<void> {
    const { access, directory, tenants } = this.#dependencies;
    const held = access.require(principal, tenant, PERMISSIONS.grant);
    if (!directory.isVisible(principal, member)) throw notFound(member.kind);
    const granted = permissions ?? defaultPermissions(tenant.kind) & held;
    access.requireSubset(granted, held);
    const existing = tenants.findMembership(tenant, member)?.value;
    if (existing !== undefined) {
      if (permissions === undefined || permissions === existing.permissions) return;
      throw new AppError("conflict", {
        message: `the ${member.kind} is a member already; change its permissions with PUT`,
      });
    }
    await this.#dependencies.repository.commitCurrent(() => this.joinCommit(tenant, member, granted));
    this.#log("member added", principal, tenant);
  }

  /**
   * Returns the commit by which a member joins, for merging into another.
   * @throws not_found for a tenant or member that is being deleted; conflict when a limit is reached
   */
  joinCommit(tenant: Tenant, member: Member, permissions: number): StoreCommit {
    const { tenants } = this.#dependencies;
    const tenantCheck = tenants.liveCheck(tenant);
    if (tenantCheck === undefined) throw tenantNotFound(tenant.kind);
    const memberCheck = tenants.liveCheck(member);
    if (memberCheck === undefined) throw notFound(member.kind);
    this.requireRoom(member, tenant.kind);
    this.#requireRoomIn(tenant);
    return mergeCommits(
      tenantCheck,
      memberCheck,
      tenants.insertMembershipCommit(this.newMembership(tenant, member, permissions)),
    );
  }

  /**
   * Returns the commit by which a new organization joins an application, for merging into the one that founds it.
   * @param held the permissions of the caller, or of the invitation; bounds the default
   * @throws not_found for an application that is being deleted
   */
  foundingCommit(application: Tenant, organization: Member, held: number): StoreCommit {
    const { tenants } = this.#dependencies;
    const live = tenants.liveCheck(application);
    if (live === undefined) throw tenantNotFound("application");
    return mergeCommits(
      live,
      tenants.insertMembershipCommit(this.newMembership(application, organization, ASSOCIATE_PERMISSIONS & held)),
    );
  }

  /**
   * Returns the commit by which a new user joins, for merging into the one that creates it.
   * @throws not_found for a tenant that is being deleted; conflict when it is full
   */
  newUserCommit(tenant: Tenant, user: Member, permissions: number): StoreCommit {
    const { tenants } = this.#dependencies;
    const live = tenants.liveCheck(tenant);
    if (live === undefined) throw tenantNotFound(tenant.kind);
    this.#requireRoomIn(tenant);
    return mergeCommits(live, tenants.insertMembershipCommit(this.newMembership(tenant, user, permissions)));
  }

  /** Returns a new entry of an access list; writes nothing. */
  newMembership(tenant: Tenant, member: Member, permissions: number): MembershipRecord {
    return {
      id: newId(),
      created_at: isoTimestamp(this.#dependencies.clock.nowMs()),
      tenant_kind: tenant.kind,
      tenant_id: tenant.id,
      member_kind: member.kind,
      member_id: member.id,
      permissions,
    };
  }

  /**
   * Rejects one more membership of a member in tenants of one kind.
   * @throws conflict when the member has as many as allowed
   */
  requireRoom(member: Member, kind: Tenant["kind"]): void {
    if (this.#dependencies.tenants.countMemberships(member, kind) >= MEMBERSHIPS_MAX) {
      throw new AppError("conflict", {
        message: `the ${member.kind} is a member of ${String(MEMBERSHIPS_MAX)} ${kind}s, which is the most; leave one first`,
      });
    }
  }

  /**
   * Changes what a member may do.
   * @param permissions bit-set; undefined changes nothing
   * @throws not_found, forbidden, permission_escalation as `add` does; forbidden also for taking away without `revoke`;
   *   last_granter when no other member could grant
   */
  async update(principal: Principal, tenant: Tenant, member: Member, permissions?: number): Promise<void> {
    const { access, adminGuard, tenants, repository } = this.#dependencies;
    await repository.commitCurrent(async () => {
      const held = access.require(principal, tenant, PERMISSIONS.grant);
      const current = tenants.findMembership(tenant, member);
      if (current === undefined) throw notFound(member.kind);
      const before = current.value.permissions;
      if (permissions === undefined || permissions === before) return undefined;
      access.requireSubset(permissions & ~before, held);
      if ((before & ~permissions) !== 0) access.require(principal, tenant, PERMISSIONS.revoke);
      const checks = holdsAll(permissions, PERMISSIONS.grant)
        ? {}
        : await adminGuard.requireAnotherAdmin(tenant, member);
      return mergeCommits(tenants.updateMembershipCommit(current, permissions), checks);
    });
    await this.endActing(tenant, member);
    this.#log("member changed", principal, tenant);
  }

  /**
   * Removes a member; a member may also leave by itself.
   * @throws not_found, or forbidden without `revoke`; last_granter when no other member could grant
   */
  async remove(principal: Principal, tenant: Tenant, member: Member): Promise<void> {
    const { access, adminGuard, tenants, repository } = this.#dependencies;
    const leaves = principal.subject.kind === member.kind && principal.subject.id === member.id;
    await repository.commitCurrent(async () => {
      access.require(principal, tenant, leaves ? 0 : PERMISSIONS.revoke);
      const current = tenants.findMembership(tenant, member);
      if (current === undefined) throw notFound(member.kind);
      const checks = await adminGuard.requireAnotherAdmin(tenant, member);
      return mergeCommits(tenants.deleteMembershipCommit(current), checks);
    });
    await this.endActing(tenant, member);
    this.#log("member removed", principal, tenant);
  }

  /** Returns a page of a tenant's users in the order in which they joined. Throws as `TenantAccess.require` does. */
  listUsers(
    principal: Principal,
    tenant: Tenant,
    { name, ...page }: Page & NameFilter,
  ): { body: MemberJson[]; total: number } {
    const { access, tenants } = this.#dependencies;
    access.require(principal, tenant, PERMISSIONS.read);
    const { rows, total } = tenants.listMembers(tenant, "user", name === undefined ? page : undefined);
    const body = this.#usersOf(tenant, rows);
    return name === undefined
      ? { body, total }
      : slice(
          body.filter((user) => user.name === name),
          page,
        );
  }

  #usersOf(tenant: Tenant, memberships: readonly MembershipRecord[]): MemberJson[] {
    const { repository } = this.#dependencies;
    return memberships.flatMap((membership) => {
      const user = repository.findUser(membership.member_id)?.value;
      if (user === undefined) return [];
      // An application may know the addresses of its own virtual users only.
      const showsEmail = tenant.kind === "organization" || user.application_id === tenant.id;
      return [
        {
          id: user.id,
          created_at: user.created_at,
          name: `${user.first_name} ${user.last_name}`,
          first_name: user.first_name,
          last_name: user.last_name,
          ...(showsEmail ? { email: user.email } : {}),
          permissions: membership.permissions,
          privacy_policy_agreed_at: user.privacy_policy_agreed_at,
          terms_of_service_agreed_at: user.terms_of_service_agreed_at,
        },
      ];
    });
  }

  /** Returns a page of an application's organizations in the order in which they joined. */
  listOrganizations(
    principal: Principal,
    tenant: Tenant,
    { name, ...page }: Page & NameFilter,
  ): { body: OrganizationRecord[]; total: number } {
    const { access, tenants } = this.#dependencies;
    access.require(principal, tenant, PERMISSIONS.read);
    const { rows, total } = tenants.listMembers(tenant, "organization", name === undefined ? page : undefined);
    const body = rows.flatMap(({ member_id: id }) => tenants.organizations.get([id])?.value ?? []);
    return name === undefined
      ? { body, total }
      : slice(
          body.filter((organization) => organization.name === name),
          page,
        );
  }

  /**
   * Ends the sessions in which a tenant's tokens act for a member whose permissions there changed, and the sessions
   * that an organization's tokens opened for the member at applications.
   */
  async endActing(tenant: Tenant, member: Member): Promise<void> {
    const { sessions, tenants } = this.#dependencies;
    const actsFor = (userId: string | undefined, organizationId: string | undefined): boolean =>
      member.kind === "user" ? userId === member.id : organizationId === member.id;
    await sessions.endWhere(tenant, (session) => actsFor(session.acting_user_id, session.acting_organization_id));
    if (tenant.kind !== "organization") return;
    for (const { tenant_id: id } of tenants.listMemberships({ kind: "organization", id: tenant.id }, "application")) {
      await sessions.endWhere(
        { kind: "application", id },
        (session) => session.acting_organization_id === tenant.id && actsFor(session.acting_user_id, undefined),
      );
    }
  }

  /** Deletes all memberships in a tenant, or of a member together with the sessions that act for it. */
  async removeAll(of: "tenant" | "member", subject: Tenant | Member): Promise<void> {
    const { tenants, repository } = this.#dependencies;
    for (;;) {
      const batch = tenants.someMemberships(of, subject, DELETION_BATCH);
      if (batch.length === 0) return;
      await repository.commitCurrent(() => {
        const current = tenants.someMemberships(of, subject, DELETION_BATCH);
        return mergeCommits(...current.map((membership) => tenants.deleteMembershipCommit(membership)));
      });
      if (of === "tenant") continue;
      for (const { value } of batch)
        await this.endActing(
          { kind: value.tenant_kind, id: value.tenant_id },
          { kind: value.member_kind, id: value.member_id },
        );
    }
  }

  #requireRoomIn(tenant: Tenant): void {
    if (this.#dependencies.tenants.countMembers(tenant) < MEMBERS_MAX[tenant.kind]) return;
    const message = `the ${tenant.kind} has ${String(MEMBERS_MAX[tenant.kind])} members, which is the most`;
    throw new AppError("conflict", { message });
  }

  #log(event: string, principal: Principal, tenant: Tenant): void {
    this.#dependencies.log.info(event, { subject: formatSubject(principal.subject), tenant: formatSubject(tenant) });
  }
}

/** Returns what a new member may do unless the request says otherwise. */
export function defaultPermissions(kind: Tenant["kind"]): number {
  return kind === "organization" ? ORGANIZATION_MEMBER_PERMISSIONS : ASSOCIATE_PERMISSIONS;
}

/** Returns one page of rows in the order given, and how many there are in all. */
function slice<T>(rows: readonly T[], { page, rpp }: Page): { body: T[]; total: number } {
  return { body: rows.slice((page - 1) * rpp, page * rpp), total: rows.length };
}
