/**
 * What identity tells the bus. Ids and names only: never an address, a token or a hash. Every event is part of the
 * commit that makes it true.
 */
import { formatSubject, type Principal, type Subject } from "../platform/auth/principal.js";
import type { EventDraft } from "../platform/events/events.js";
import type { OrganizationRecord } from "./tenants/tenant-repository.js";

/** Seen by the organization and by whoever did it. */
export function organizationEvent(
  word: "created" | "updated",
  principal: Principal,
  { id, name }: OrganizationRecord,
): EventDraft {
  const founder: readonly Subject[] =
    principal.actingUserId === undefined ? [] : [{ kind: "user", id: principal.actingUserId }];
  return {
    subject: `ident.organization.${word}`,
    payload: { organization_id: id, name },
    audience: [{ kind: "organization", id }, principal.subject, ...founder],
  };
}

/** Seen by the application, organization or user that invites. */
export function invitationEvent(owner: Subject, invitationId: string): EventDraft {
  return {
    subject: "ident.invitation.dispatch",
    payload: { invitation_id: invitationId, to: formatSubject(owner) },
    audience: [owner],
  };
}
