/**
 * The events of the identity area. They contain ids and names, never an address, a token or a hash. Each is part of the
 * commit that it reports.
 */
import { formatSubject, type Principal, type Subject } from "../platform/auth/principal.js";
import type { EventDraft } from "../platform/events/events.js";
import type { OrganizationRecord } from "./tenants/tenant-repository.js";

/** Returns the event of a new or changed organization, for the organization, the caller and the acting user. */
export function organizationEvent(
  action: "created" | "updated",
  principal: Principal,
  { id, name }: OrganizationRecord,
): EventDraft {
  const actingUser: readonly Subject[] =
    principal.actingUserId === undefined ? [] : [{ kind: "user", id: principal.actingUserId }];
  return {
    subject: `ident.organization.${action}`,
    payload: { organization_id: id, name },
    audience: [{ kind: "organization", id }, principal.subject, ...actingUser],
  };
}

/** Returns the event of a sent invitation, for the application, organization or user that invites. */
export function invitationEvent(owner: Subject, invitationId: string): EventDraft {
  return {
    subject: "ident.invitation.dispatch",
    payload: { invitation_id: invitationId, to: formatSubject(owner) },
    audience: [owner],
  };
}
