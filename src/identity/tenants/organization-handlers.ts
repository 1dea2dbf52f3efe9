/** Handlers of the organization and invitation routes: from a validated request to the service and back. No logic. */
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { invitationRoutes } from "./invitation-routes.js";
import type { organizationRoutes } from "./organization-routes.js";
import type { IdentityServices } from "../services.js";
import type { Tenant } from "./tenant-repository.js";
import type { OrganizationJson } from "./tenant-schemas.js";

/** Returns the handlers of organizations, their members and tokens. */
export function organizationHandlers({
  organizations,
  memberships,
  tokens,
}: IdentityServices): HandlersFor<typeof organizationRoutes> {
  return {
    listOrganizations: ({ principal, query }) => ({ status: 200, ...organizations.list(principal, query) }),
    createOrganization: async ({ principal, body, once }) =>
      createdAnswer(await organizations.create(principal, body, keepingAnswer(once, createdAnswer))),
    getOrganization: ({ principal, params }) => ({ status: 200, body: organizations.get(principal, params.id) }),
    updateOrganization: async ({ principal, params, body, sentBack }) => {
      await organizations.update(principal, params.id, { input: body, sentBack });
      return { status: 204 };
    },
    deleteOrganization: async ({ principal, params }) => {
      await organizations.delete(principal, params.id);
      return { status: 204 };
    },
    listOrganizationUsers: ({ principal, params, query }) => ({
      status: 200,
      ...memberships.listUsers(principal, organization(params.id), query),
    }),
    createOrganizationUser: async ({ principal, params, body }) => {
      await organizations.addUser(principal, params.id, body);
      return { status: 204 };
    },
    updateOrganizationUser: async ({ principal, params, body }) => {
      const member = { kind: "user", id: params.user_id } as const;
      await memberships.update(principal, organization(params.id), member, body.permissions);
      return { status: 204 };
    },
    deleteOrganizationUser: async ({ principal, params }) => {
      await memberships.remove(principal, organization(params.id), { kind: "user", id: params.user_id });
      return { status: 204 };
    },
    listOrganizationTokens: ({ principal, params, query }) => ({
      status: 200,
      ...tokens.listOf(principal, organization(params.id), query),
    }),
    deleteOrganizationTokens: async ({ principal, params }) => {
      await tokens.revokeTenant(principal, organization(params.id));
      return { status: 204 };
    },
  };
}

/** Returns the handlers of invitations. */
export function invitationHandlers({ invitations }: IdentityServices): HandlersFor<typeof invitationRoutes> {
  return {
    createInvitation: async ({ principal, body }) => {
      const { id } = await invitations.create(principal, body);
      return { status: 204, headers: { location: `/api/v1/invitations/${id}` } };
    },
    listInvitations: ({ principal, query }) => ({ status: 200, ...invitations.list(principal, undefined, query) }),
    deleteInvitation: async ({ principal, params }) => {
      await invitations.revoke(principal, params.id);
      return { status: 204 };
    },
    listApplicationInvitations: ({ principal, params, query }) => ({
      status: 200,
      ...invitations.list(principal, { kind: "application", id: params.id }, query),
    }),
    listOrganizationInvitations: ({ principal, params, query }) => ({
      status: 200,
      ...invitations.list(principal, organization(params.id), query),
    }),
  };
}

function createdAnswer(made: OrganizationJson) {
  return { status: 201, body: made, headers: { location: `/api/v1/organizations/${made.id}` } } as const;
}

function organization(id: string): Tenant {
  return { kind: "organization", id };
}
