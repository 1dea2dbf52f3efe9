/** Determines which owner's contracts a request is about. */
import { holdsAll, permissionBits, type PermissionName } from "../../platform/auth/permissions.js";
import type { Principal, Subject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import type { RequireApplication } from "./contract-ports.js";

interface OwnerRequest {
  /** The application that the request names; undefined when it names none. */
  readonly applicationId: string | undefined;
  readonly permissions: readonly PermissionName[];
}

/**
 * Returns the caller, or the application that the request names and the caller may act for.
 * @throws AppError `forbidden` without the permissions, `not_found` for an application that the caller cannot see
 */
export function contractOwner(
  principal: Principal,
  { applicationId, permissions }: OwnerRequest,
  requireApplication: RequireApplication,
): Subject {
  const { subject } = principal;
  const isOwn = applicationId === undefined || (subject.kind === "application" && subject.id === applicationId);
  if (!isOwn) {
    requireApplication(principal, applicationId, permissions);
    return { kind: "application", id: applicationId };
  }
  if (!holdsAll(principal.permissions, permissionBits(permissions)))
    throw new AppError("forbidden", { message: `this needs the permissions ${permissions.join(", ")}` });
  return subject;
}
