/**
 * The access lists of applications and organizations: who is a member and with which permissions. Granting takes
 * `grant` and what is granted, taking away takes `revoke`; tokens that act for a member end with the membership.
 */
import {
  ASSOCIATE_PERMISSIONS,
  ORGANIZATION_MEMBER_PERMISSIONS,
  PERMISSIONS,
  holdsAll,
} from "../../platform/auth/permissions.js";
import { formatSubject, type Principal } from "../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../platform/clock.js";
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import { mergeCommits, retryOnConflict, type Page } from "../../platform/store/tables.js";
import type { StoreCommit } from "../../platform/store/store.js";
import { tenantNotFound, type TenantAccess } from "./tenant-access.js";
import type { Directory } from "./directory.js";
import type { AdminGuard } from "./admin-guard.js";
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

/** A user's list of users reads all members of its organizations; an application's is paged. */
const MEMBERS_MAX = { organization: 2_000, application: 100_000 } as const;
/** Bounds the lists that are made from somebody's memberships. */
export const MEMBERSHIPS_MAX = 200;
/** Memberships that one commit takes away. */
const BATCH = 200;

export class Memberships {
  readonly #dependencies: MembershipsDependencies;

  constructor(dependencies: MembershipsDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Adds a member. One that is there already stays as it is, unless other permissions are asked for (`conflict`).
   * Throws `not_found` for a tenant or member that is not there for the caller, `forbidden`, `permission_escalation`.
   */
  async add(principal: Principal, tenant: Tenant, member: Member, permissions?: number): Promise<void> {
    const { access, directory, tenants } = this.#dependencies;
    const held = access.require(principal, tenant, PERMISSIONS.grant);
    if (!directory.isVisible(principal, member)) throw new AppError("not_found", { message: `${member.kind} not found` });
    const wanted = permissions ?? defaultPermissions(tenant) & held;
    access.requireSubset(wanted, held);
    const existing = tenants.findMembership(tenant, member)?.value;
    if (existing !== undefined) {
      if (permissions === undefined || permissions === existing.permissions) return;
      throw new AppError("conflict", {
        message: `the ${member.kind} is a member already; change its permissions with PUT`,
      });
    }
    await retryOnConflict(async () => {
      await this.#dependencies.repository.commit(this.joinCommit(tenant, member, wanted));
    });
    this.#logged("member added", principal, tenant);
  }

  /**
   * The commit by which a member joins, for others to merge into theirs. Throws `not_found` for a tenant that is going,
   * `conflict` over the limits.
   */
  joinCommit(tenant: Tenant, member: Member, permissions: number): StoreCommit {
    const { tenants } = this.#dependencies;
    const checks = [tenants.liveCheck(tenant), tenants.liveCheck(member)];
    if (checks[0] === undefined) throw tenantNotFound(tenant.kind);
    if (checks[1] === undefined) throw new AppError("not_found", { message: `${member.kind} not found` });
    this.requireRoom(member, tenant.kind);
    if (tenants.countMembers(tenant) >= MEMBERS_MAX[tenant.kind])
      throw new AppError("conflict", { message: `the ${tenant.kind} has as many members as one may have` });
    return mergeCommits(
      ...checks.flatMap((check) => check ?? []),
      tenants.insertMembershipCommit(this.newMembership(tenant, member, permissions)),
    );
  }

  /** The commit by which an organization joins an application in the commit that founds it. */
  foundingCommit(application: Tenant, organization: Member, held: number): StoreCommit {
    const { tenants } = this.#dependencies;
    const live = tenants.liveCheck(application);
    if (live === undefined) throw tenantNotFound("application");
    return mergeCommits(
      live,
      tenants.insertMembershipCommit(this.newMembership(application, organization, ASSOCIATE_PERMISSIONS & held)),
    );
  }

  /** The commit by which a user joins in the commit that makes it. */
  newUserCommit(tenant: Tenant, user: Member, permissions: number): StoreCommit {
    const { tenants } = this.#dependencies;
    const live = tenants.liveCheck(tenant);
    if (live === undefined) throw tenantNotFound(tenant.kind);
    if (tenants.countMembers(tenant) >= MEMBERS_MAX[tenant.kind])
      throw new AppError("conflict", { message: `the ${tenant.kind} has as many members as one may have` });
    return mergeCommits(live, tenants.insertMembershipCommit(this.newMembership(tenant, user, permissions)));
  }

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

  /** Throws `conflict` when somebody is a member of as many tenants as one may be. */
  requireRoom(member: Member, kind: Tenant["kind"]): void {
    if (this.#dependencies.tenants.countMemberships(member, kind) >= MEMBERSHIPS_MAX) {
      throw new AppError("conflict", {
        message: `nobody can be a member of more than ${String(MEMBERSHIPS_MAX)} ${kind}s`,
      });
    }
  }

  /**
   * Changes what a member may do: adding needs `grant` and what is added, taking away needs `revoke`. Nothing given,
   * nothing changed. Throws `last_granter` when nobody else could grant.
   */
  async update(principal: Principal, tenant: Tenant, member: Member, permissions?: number): Promise<void> {
    const { access, adminGuard, tenants, repository } = this.#dependencies;
    await retryOnConflict(async () => {
      const held = access.require(principal, tenant, PERMISSIONS.grant);
      const current = tenants.findMembership(tenant, member);
      if (current === undefined) throw new AppError("not_found", { message: `${member.kind} not found` });
      const before = current.value.permissions;
      if (permissions === undefined || permissions === before) return;
      access.requireSubset(permissions & ~before, held);
      if ((before & ~permissions) !== 0) access.require(principal, tenant, PERMISSIONS.revoke);
      const kept = holdsAll(permissions, PERMISSIONS.grant) ? {} : await adminGuard.requireAnotherAdmin(tenant, member);
      await repository.commit(mergeCommits(tenants.updateMembershipCommit(current, permissions), kept));
    });
    await this.endActing(tenant, member);
    this.#logged("member changed", principal, tenant);
  }

  /** Takes a member away; members may also leave by themselves. Throws `last_granter` when nobody else could grant. */
  async remove(principal: Principal, tenant: Tenant, member: Member): Promise<void> {
    const { access, adminGuard, tenants, repository } = this.#dependencies;
    const leaves = principal.subject.kind === member.kind && principal.subject.id === member.id;
    await retryOnConflict(async () => {
      access.require(principal, tenant, leaves ? 0 : PERMISSIONS.revoke);
      const current = tenants.findMembership(tenant, member);
      if (current === undefined) throw new AppError("not_found", { message: `${member.kind} not found` });
      const kept = await adminGuard.requireAnotherAdmin(tenant, member);
      await repository.commit(mergeCommits(tenants.deleteMembershipCommit(current), kept));
    });
    await this.endActing(tenant, member);
    this.#logged("member removed", principal, tenant);
  }

  listUsers(principal: Principal, tenant: Tenant, page: Page): { body: MemberJson[]; total: number } {
    const { access, tenants, repository } = this.#dependencies;
    access.require(principal, tenant, PERMISSIONS.read);
    const { rows, total } = tenants.listMembers(tenant, "user", page);
    const body = rows.flatMap((membership) => {
      const user = repository.findUser(membership.member_id)?.value;
      if (user === undefined) return [];
      // An application learns the addresses of its own users only.
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
    return { body, total };
  }

  listOrganizations(principal: Principal, tenant: Tenant, page: Page): { rows: OrganizationRecord[]; total: number } {
    const { access, tenants } = this.#dependencies;
    access.require(principal, tenant, PERMISSIONS.read);
    const { rows, total } = tenants.listMembers(tenant, "organization", page);
    return { rows: rows.flatMap(({ member_id: id }) => tenants.organizations.get([id])?.value ?? []), total };
  }

  /**
   * Ends the sessions in which a tenant's tokens act for a member whose rights there changed, and those that its
   * organization got elsewhere through them.
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

  /** Takes away all memberships in a tenant, or of a member, with the sessions that act by them. */
  async removeAll(of: "tenant" | "member", subject: Tenant | Member): Promise<void> {
    const { tenants, repository } = this.#dependencies;
    for (;;) {
      const some = tenants.someMemberships(of, subject, BATCH);
      if (some.length === 0) return;
      await retryOnConflict(async () => {
        await repository.commit(
          mergeCommits(
            ...tenants.someMemberships(of, subject, BATCH).map((row) => tenants.deleteMembershipCommit(row)),
          ),
        );
      });
      if (of === "tenant") continue;
      for (const { value } of some)
        await this.endActing(
          { kind: value.tenant_kind, id: value.tenant_id },
          { kind: value.member_kind, id: value.member_id },
        );
    }
  }

  #logged(event: string, principal: Principal, tenant: Tenant): void {
    this.#dependencies.log.info(event, { subject: formatSubject(principal.subject), tenant: formatSubject(tenant) });
  }
}

function defaultPermissions(tenant: Tenant): number {
  return tenant.kind === "organization" ? ORGANIZATION_MEMBER_PERMISSIONS : ASSOCIATE_PERMISSIONS;
}
