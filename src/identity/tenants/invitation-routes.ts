/** Route definitions of invitations. Plain values; no server code. */
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import { CreateInvitationBody, InvitationList } from "./invitation-schemas.js";

const list = {
  area: "identity",
  method: "GET",
  auth: { permissions: ["read"] },
  list: true,
  responses: { 200: { description: "Pending invitations, oldest first", schema: InvitationList } },
} as const;

export const invitationRoutes = {
  createInvitation: defineRoute({
    area: "identity",
    id: "createInvitation",
    method: "POST",
    path: "/api/v1/invitations",
    summary: "Invite somebody by mail",
    description:
      "To an application or organization where the caller may grant, or to the service. The token goes to the address and nowhere else; the answer is the same whether the address has an account or not. It is good once, for a day.",
    auth: { permissions: ["create"] },
    body: CreateInvitationBody,
    responses: { 204: { description: "The invitation is on its way; Location names it" } },
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
    summary: "Take an invitation back",
    auth: { permissions: ["delete"] },
    params: IdParams,
    responses: { 204: { description: "Taken back" } },
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
