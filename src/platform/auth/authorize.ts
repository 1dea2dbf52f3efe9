/**
 * The one place where a principal is compared with what a route requires: every listed permission, and the right kind
 * of subject.
 */
import type { AuthRule } from "../contract/route.js";
import { AppError } from "../errors.js";
import { holdsAll, permissionBits } from "./permissions.js";
import type { Principal } from "./principal.js";

type Needs = Exclude<AuthRule, "public">;

/** Returns the check of a rule, with its permission bits computed once. The check throws `forbidden`. */
export function authorizer(rule: Needs): (principal: Principal) => void {
  const needed = permissionBits(rule.permissions);
  const missingPermission = `this needs the permission${rule.permissions.length === 1 ? "" : "s"} ${rule.permissions.join(", ")}`;
  const wrongSubject = `this needs a token of ${(rule.subjects ?? []).join(" or ")}`;
  return (principal) => {
    if (principal.limitedTo !== undefined && rule.limitedTokens !== true)
      throw new AppError("forbidden", { message: "this token may only be used to listen to events" });
    if (!holdsAll(principal.permissions, needed)) throw new AppError("forbidden", { message: missingPermission });
    if (rule.subjects !== undefined && !rule.subjects.includes(principal.subject.kind))
      throw new AppError("forbidden", { message: wrongSubject });
  };
}

/** Throws `forbidden` unless the principal meets the rule. */
export function authorize(principal: Principal, rule: Needs): void {
  authorizer(rule)(principal);
}
