/** Route definitions of invitations. Plain values; no server code. */
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import { CreateInvitationBody, InvitationList } from "./invitation-schemas.js";
import { NameQuery } from "./tenant-schemas.js";

const list = {
  area: "identity",
  method: "GET",
  auth: { permissions: ["read"] },
  query: NameQuery,
  list: true,
  responses: { 200: { description: "Pending invitations, oldest first", schema: InvitationList } },
} as const;

export const invitationRoutes = {
  createInvitation: defineRoute({
    area: "identity",
    id: "createInvitation",
    method: "POST",
    path: "/api/v1/invitations",
    summary: "Send an invitation by mail",
    description:
      "Invites to an application or organization where the caller may grant, or to the service itself. The mail contains a token, which is good once, for a day; the response does not contain it, and is the same whether the address has an account or not.",
    auth: { permissions: ["create"] },
    body: CreateInvitationBody,
    responses: { 204: { description: "The mail is sent; Location names the invitation" } },
    errors: ["not_found", "conflict", "invalid_email", "permission_escalation", "too_many_requests"],
    example: { body: { email: "grace@example.com", first_name: "Grace", last_name: "Hopper" } },
  }),
  listInvitations: defineRoute({
    ...list,
    id: "listInvitations",
    path: "/api/v1/invitations",
    summary: "List the caller's own invitations to the service",
  }),
  deleteInvitation: defineRoute({
    area: "identity",
    id: "deleteInvitation",
    method: "DELETE",
    path: "/api/v1/invitations/:id",
    summary: "Revoke an invitation",
    auth: { permissions: ["delete"] },
    params: IdParams,
    responses: { 204: { description: "Revoked" } },
    errors: ["not_found"],
  }),
  listApplicationInvitations: defineRoute({
    ...list,
    id: "listApplicationInvitations",
    path: "/api/v1/applications/:id/invitations",
    params: IdParams,
    summary: "List the invitations to an application",
    errors: ["not_found"],
  }),
  listOrganizationInvitations: defineRoute({
    ...list,
    id: "listOrganizationInvitations",
    path: "/api/v1/organizations/:id/invitations",
    params: IdParams,
    summary: "List the invitations to an organization",
    errors: ["not_found"],
  }),
} as const;
