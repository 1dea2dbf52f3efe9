/**
 * Answers who may see an application or organization, and what a caller may do on it. Rights come from a membership,
 * from being the tenant itself, or from a bit of an administrator; having created the tenant grants nothing.
 */
import {
  PERMISSIONS,
  PERMISSIONS_MAX,
  TENANT_PERMISSIONS,
  holdsAll,
  permissionBits,
  permissionNames,
} from "../../platform/auth/permissions.js";
import type { Principal, Subject } from "../../platform/auth/principal.js";
import type { RequireTenant } from "../../platform/auth/said-owner.js";
import { AppError, notFound } from "../../platform/errors.js";
import type { IdentityRepository, SessionRecord } from "../repository.js";
import type { Member, Tenant, TenantRepository } from "./tenant-repository.js";

/** The user, organization or both on whose behalf a token of an application or organization acts. */
export type Acting = Pick<SessionRecord, "acting_user_id" | "acting_organization_id">;

export interface TenantAccessDependencies {
  readonly repository: IdentityRepository;
  readonly tenants: TenantRepository;
}

export class TenantAccess {
  readonly #repository: IdentityRepository;
  readonly #tenants: TenantRepository;

  constructor(dependencies: TenantAccessDependencies) {
    this.#repository = dependencies.repository;
    this.#tenants = dependencies.tenants;
  }

  /**
   * Returns the permissions that a subject holds now: a user's own; for an application or organization what the member
   * on whose behalf it acts holds there, or all of a tenant's when it acts for itself. Undefined when the subject does
   * not exist or is being deleted, or the member has left.
   */
  permissionsOf(subject: Subject, acting: Acting = {}): number | undefined {
    if (!this.#isLive(subject)) return undefined;
    if (subject.kind === "user") return this.#repository.findUser(subject.id)?.value.permissions;
    const tenant: Tenant = { kind: subject.kind, id: subject.id };
    const { acting_user_id: userId, acting_organization_id: organizationId } = acting;
    if (userId === undefined && organizationId === undefined) return TENANT_PERMISSIONS;
    if (organizationId === undefined) return this.#ofUser(tenant, userId);
    const organization: Tenant & Member = { kind: "organization", id: organizationId };
    const ofOrganization = this.#isLive(organization)
      ? this.#tenants.findMembership(tenant, organization)?.value.permissions
      : undefined;
    if (ofOrganization === undefined || userId === undefined) return ofOrganization;
    const ofUser = this.#ofUser(organization, userId);
    return ofUser === undefined ? undefined : ofOrganization & ofUser;
  }

  /** Returns true for a token that carries less than its subject holds; tokens derived from it must not carry more. */
  isRestricted(principal: Principal): boolean {
    const session = this.#repository.findSession(principal.subject, principal.sessionId)?.value;
    return session === undefined || session.permissions_max !== undefined;
  }

  /** Returns the permissions that the caller holds on a tenant; undefined when it cannot see the tenant at all. */
  permissionsOn(principal: Principal, tenant: Tenant): number | undefined {
    if (principal.subject.kind === tenant.kind && principal.subject.id === tenant.id) return principal.permissions;
    const own =
      principal.subject.kind === "application"
        ? undefined
        : this.#tenants.findMembership(tenant, { kind: principal.subject.kind, id: principal.subject.id })?.value
            .permissions;
    const administrator = this.#administratorPermissionsOn(principal, tenant);
    if (own === undefined) return administrator;
    // A user's own permissions lack `grant` and `revoke`, which memberships carry; so a user's full token carries the
    // membership as it stands. A restricted token stays restricted.
    const member =
      principal.subject.kind === "user" && !this.isRestricted(principal) ? own : own & principal.permissions;
    return member | (administrator ?? 0);
  }

  /**
   * Returns the caller's permissions on a tenant, if they include the needed ones.
   * @param needed bit-set; 0 asks only whether the caller may see the tenant
   * @throws not_found when the caller cannot see the tenant; forbidden when it lacks a needed permission
   */
  require(principal: Principal, tenant: Tenant, needed: number): number {
    const bits = this.permissionsOn(principal, tenant);
    if (bits === undefined || (bits & PERMISSIONS.read) === 0) throw tenantNotFound(tenant.kind);
    if (!holdsAll(bits, needed)) {
      throw new AppError("forbidden", {
        message: `this needs ${permissionNames(needed & ~bits).join(", ")} on the ${tenant.kind}`,
      });
    }
    return bits;
  }

  /**
   * Rejects granting more than the granter holds.
   * @throws permission_escalation
   */
  requireSubset(granted: number, held: number): void {
    if (holdsAll(held, granted)) return;
    throw new AppError("permission_escalation", {
      message: `you cannot grant permissions that you do not hold: ${permissionNames(granted & ~held).join(", ")}`,
    });
  }

  #ofUser(tenant: Tenant, userId: string | undefined): number | undefined {
    if (userId === undefined || !this.#isLive({ kind: "user", id: userId })) return undefined;
    const membership = this.#tenants.findMembership(tenant, { kind: "user", id: userId })?.value.permissions;
    if (membership !== undefined) return membership;
    const user = this.#repository.findUser(userId)?.value;
    return user !== undefined && holdsAll(user.permissions, PERMISSIONS.sudo) ? TENANT_PERMISSIONS : undefined;
  }

  /** `sudo` gives every permission on every tenant; `app_list`, `app_update`, `app_delete` each one on applications. */
  #administratorPermissionsOn(principal: Principal, tenant: Tenant): number | undefined {
    const { permissions } = principal;
    if (holdsAll(permissions, PERMISSIONS.sudo)) return PERMISSIONS_MAX;
    if (tenant.kind !== "application") return undefined;
    const { app_list: list, app_update: update, app_delete: remove } = PERMISSIONS;
    if ((permissions & (list | update | remove)) === 0) return undefined;
    return (
      PERMISSIONS.read |
      (holdsAll(permissions, update) ? PERMISSIONS.update : 0) |
      (holdsAll(permissions, remove) ? PERMISSIONS.delete : 0)
    );
  }

  #isLive(subject: Subject): boolean {
    return this.#repository.findState(subject)?.value.enabled === true;
  }
}

/** Returns the check of the applications and organizations that a body names; see `requireSaidOwner`. */
export function requireTenantBy(access: Pick<TenantAccess, "require">): RequireTenant {
  return (principal, tenant, permissions) => {
    access.require(principal, tenant, permissionBits(permissions));
  };
}

/** Says that a tenant does not exist for the caller. */
export function tenantNotFound(kind: Tenant["kind"]): AppError {
  return notFound(kind);
}
