/** Handlers of the application routes: from a validated request to the service and back. No logic. */
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { IdentityServices } from "../services.js";
import type { applicationRoutes } from "./application-routes.js";
import type { Tenant } from "./tenant-repository.js";
import type { ApplicationJson } from "./tenant-schemas.js";

type Handlers = HandlersFor<typeof applicationRoutes>;

/** Returns the handlers of applications, their members, tokens and OAuth clients. */
export function applicationHandlers(services: IdentityServices): Handlers {
  return {
    ...recordHandlers(services),
    ...userHandlers(services),
    ...organizationHandlers(services),
    ...tokenHandlers(services),
    ...clientHandlers(services),
  };
}

function recordHandlers({
  applications,
}: IdentityServices): Pick<
  Handlers,
  "listApplications" | "createApplication" | "getApplication" | "updateApplication" | "deleteApplication"
> {
  return {
    listApplications: ({ principal, query }) => ({ status: 200, ...applications.list(principal, query, query) }),
    createApplication: async ({ principal, body, once }) =>
      createdAnswer(await applications.create(principal, body, keepingAnswer(once, createdAnswer))),
    getApplication: ({ principal, params }) => ({ status: 200, body: applications.get(principal, params.id) }),
    updateApplication: async ({ principal, params, body, sentBack }) => {
      await applications.update(principal, params.id, { input: body, sentBack });
      return { status: 204 };
    },
    deleteApplication: async ({ principal, params }) => {
      await applications.delete(principal, params.id);
      return { status: 204 };
    },
  };
}

function userHandlers({
  memberships,
}: IdentityServices): Pick<
  Handlers,
  "listApplicationUsers" | "createApplicationUser" | "updateApplicationUser" | "deleteApplicationUser"
> {
  return {
    listApplicationUsers: ({ principal, params, query }) => ({
      status: 200,
      ...memberships.listUsers(principal, application(params.id), query),
    }),
    createApplicationUser: async ({ principal, params, body }) => {
      await memberships.add(principal, application(params.id), { kind: "user", id: body.user_id }, body.permissions);
      return { status: 204 };
    },
    updateApplicationUser: async ({ principal, params, body }) => {
      const member = { kind: "user", id: params.user_id } as const;
      await memberships.update(principal, application(params.id), member, body.permissions);
      return { status: 204 };
    },
    deleteApplicationUser: async ({ principal, params }) => {
      await memberships.remove(principal, application(params.id), { kind: "user", id: params.user_id });
      return { status: 204 };
    },
  };
}

function organizationHandlers({
  memberships,
}: IdentityServices): Pick<
  Handlers,
  | "listApplicationOrganizations"
  | "createApplicationOrganization"
  | "updateApplicationOrganization"
  | "deleteApplicationOrganization"
> {
  return {
    listApplicationOrganizations: ({ principal, params, query }) => ({
      status: 200,
      ...memberships.listOrganizations(principal, application(params.id), query),
    }),
    createApplicationOrganization: async ({ principal, params, body }) => {
      const member = { kind: "organization", id: body.organization_id } as const;
      await memberships.add(principal, application(params.id), member, body.permissions);
      return { status: 204 };
    },
    updateApplicationOrganization: async ({ principal, params, body }) => {
      const member = { kind: "organization", id: params.organization_id } as const;
      await memberships.update(principal, application(params.id), member, body.permissions);
      return { status: 204 };
    },
    deleteApplicationOrganization: async ({ principal, params }) => {
      await memberships.remove(principal, application(params.id), { kind: "organization", id: params.organization_id });
      return { status: 204 };
    },
  };
}

function tokenHandlers({
  tokens,
}: IdentityServices): Pick<Handlers, "listApplicationTokens" | "deleteApplicationTokens"> {
  return {
    listApplicationTokens: ({ principal, params, query }) => ({
      status: 200,
      ...tokens.listOf(principal, application(params.id), query),
    }),
    deleteApplicationTokens: async ({ principal, params }) => {
      await tokens.revokeTenant(principal, application(params.id));
      return { status: 204 };
    },
  };
}

function clientHandlers({
  clients,
}: IdentityServices): Pick<
  Handlers,
  "getApplicationClient" | "updateApplicationClient" | "deleteApplicationClient" | "createApplicationClientSecret"
> {
  return {
    getApplicationClient: ({ principal, params }) => ({ status: 200, body: clients.get(principal, params.id) }),
    updateApplicationClient: async ({ principal, params, body }) => {
      await clients.update(principal, params.id, body);
      return { status: 204 };
    },
    deleteApplicationClient: async ({ principal, params }) => {
      await clients.delete(principal, params.id);
      return { status: 204 };
    },
    createApplicationClientSecret: async ({ principal, params, body }) => ({
      status: 201,
      body: await clients.rotateSecret(principal, params.id, body?.overlap_seconds ?? 0),
    }),
  };
}

function createdAnswer(made: ApplicationJson) {
  return { status: 201, body: made, headers: { location: `/api/v1/applications/${made.id}` } } as const;
}

function application(id: string): Tenant {
  return { kind: "application", id };
}
