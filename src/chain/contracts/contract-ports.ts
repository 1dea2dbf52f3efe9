/** The check that contracts need of identity. */
import type { PermissionName } from "../../platform/auth/permissions.js";
import type { Principal } from "../../platform/auth/principal.js";

/** Throws `not_found` or `forbidden` unless the caller holds the permissions on the application. */
export type RequireApplication = (
  principal: Principal,
  applicationId: string,
  permissions: readonly PermissionName[],
) => void;
