/**
 * Checks the ids by which a body says for whom something is made (`user_id`, `application_id`, `organization_id`)
 * against the caller. Nobody learns from the answer whether another's user, application or organization exists.
 */
import { AppError } from "../errors.js";
import { missingReference } from "../references.js";
import { holdsAll, permissionBits, permissionNames, type PermissionName } from "./permissions.js";
import type { Principal, Subject, SubjectKind } from "./principal.js";

/** The ids of a body; see SAID_OWNER in contract/schemas.ts. */
export interface SaidOwner {
  readonly user_id?: string | null | undefined;
  readonly application_id?: string | null | undefined;
  readonly organization_id?: string | null | undefined;
}

/** An application or organization, as a body names it. */
export interface SaidTenant {
  readonly kind: Exclude<SubjectKind, "user">;
  readonly id: string;
}

/** Throws `not_found` or `forbidden` unless the caller holds the permissions on the application or organization. */
export type RequireTenant = (principal: Principal, tenant: SaidTenant, permissions: readonly PermissionName[]) => void;

/** A tenant's own names before a member's, as tokens order them. */
const TENANTS = ["application", "organization"] as const;

/**
 * Accepts ids of the caller itself, of the user for whom it acts, and of applications and organizations that it may
 * read. For things that stay the caller's whatever they name.
 * @throws not_found, naming the member
 */
export function requireSaidOwner(principal: Principal, said: SaidOwner, requireTenant: RequireTenant): void {
  requireUser(principal, said.user_id);
  for (const tenant of others(principal, said))
    requireOther(principal, tenant, { permissions: ["read"], requireTenant });
}

/**
 * Returns for whom something is made: the application or organization that the body names, if the caller may act for
 * it; otherwise the caller.
 * @param needs the permissions that the caller must hold on the owner
 * @throws not_found, naming the member; forbidden without the permissions
 */
export function saidOwner(
  principal: Principal,
  said: SaidOwner,
  needs: { readonly permissions: readonly PermissionName[]; readonly requireTenant: RequireTenant },
): Subject {
  requireUser(principal, said.user_id);
  const named = others(principal, said);
  for (const tenant of named) requireOther(principal, tenant, needs);
  const [other] = named;
  if (other !== undefined && !isNamed(principal.subject, said)) return other;
  const missing = permissionBits(needs.permissions) & ~principal.permissions;
  if (!holdsAll(principal.permissions, permissionBits(needs.permissions)))
    throw new AppError("forbidden", { message: `this needs the permissions ${permissionNames(missing).join(", ")}` });
  return principal.subject;
}

/** Applications and organizations that are named and are not the caller. */
function others({ subject }: Principal, said: SaidOwner): SaidTenant[] {
  return TENANTS.flatMap((kind) => {
    const id = said[`${kind}_id`];
    return id === undefined || id === null || (subject.kind === kind && subject.id === id) ? [] : [{ kind, id }];
  });
}

/** True when an application or organization names itself: a thing that it makes for a member stays its own. */
function isNamed({ kind, id }: Subject, said: SaidOwner): boolean {
  return kind !== "user" && said[`${kind}_id`] === id;
}

function requireUser({ subject, actingUserId }: Principal, id: string | null | undefined): void {
  if (id === undefined || id === null || id === actingUserId) return;
  if (subject.kind !== "user" || subject.id !== id) throw missingReference("user_id", "user");
}

function requireOther(
  principal: Principal,
  tenant: SaidTenant,
  { permissions, requireTenant }: { permissions: readonly PermissionName[]; requireTenant: RequireTenant },
): void {
  try {
    requireTenant(principal, tenant, permissions);
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found")
      throw missingReference(`${tenant.kind}_id`, tenant.kind, error);
    throw error;
  }
}
