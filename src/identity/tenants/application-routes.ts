/** Route definitions of applications: the record, its members, its OAuth client and its tokens. Plain values; no server code. */
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import { Client, ClientSecret, RotateSecretBody, UpdateClientBody } from "../oauth/client-schemas.js";
import {
  AddOrganizationBody, AddUserBody, Application, ApplicationList, ApplicationQuery, CreateApplicationBody, MemberUserList, OrganizationList, OrganizationMemberParams,
  UpdateApplicationBody, UpdateMemberBody, UserMemberParams,
} from "./tenant-schemas.js";
import { TokenRowList } from "../tokens/token-schemas.js";

const RECORD_BODY_BYTES_MAX = 32 * 1024;
const RECORD_JSON_TOKENS_MAX = 2_000;
const EXAMPLE_ID = "5f3a1c1e-2b7d-4e8f-9a6b-0c1d2e3f4a5b";

const base = { area: "identity", params: IdParams } as const;
const onTenant = ["not_found"] as const;

export const applicationRoutes = {
  listApplications: defineRoute({
    area: "identity", id: "listApplications", method: "GET", path: "/api/v1/applications",
    summary: "List applications", description: "Those where the caller may read; all of them for `app_list` or `sudo`. SPEC's example shows a single object; a list is answered.",
    auth: { permissions: ["read"] }, query: ApplicationQuery, list: true,
    responses: { 200: { description: "Applications, oldest first", schema: ApplicationList } },
  }),
  createApplication: defineRoute({
    area: "identity", id: "createApplication", method: "POST", path: "/api/v1/applications",
    summary: "Create an application", description: "The caller becomes its first member. The organizing user is recorded, and gets nothing from that.",
    auth: { permissions: ["create"], subjects: ["user", "organization"] }, body: CreateApplicationBody, bodyBytesMax: RECORD_BODY_BYTES_MAX, jsonTokensMax: RECORD_JSON_TOKENS_MAX, creates: true,
    responses: { 201: { description: "The application", schema: Application } },
    errors: ["conflict"],
    example: { body: {} },
  }),
  getApplication: defineRoute({
    ...base, id: "getApplication", method: "GET", path: "/api/v1/applications/:id",
    summary: "Get an application", auth: { permissions: ["read"] },
    responses: { 200: { description: "The application", schema: Application } }, errors: onTenant,
  }),
  updateApplication: defineRoute({
    ...base, id: "updateApplication", method: "PUT", path: "/api/v1/applications/:id",
    summary: "Change an application", auth: { permissions: ["update"] },
    body: UpdateApplicationBody, bodyBytesMax: RECORD_BODY_BYTES_MAX, jsonTokensMax: RECORD_JSON_TOKENS_MAX,
    responses: { 204: { description: "Changed" } }, errors: ["not_found", "conflict"],
    example: { body: {} },
  }),
  deleteApplication: defineRoute({
    ...base, id: "deleteApplication", method: "DELETE", path: "/api/v1/applications/:id",
    summary: "Delete an application and what it alone owns", description: "Its vaults and provers, its own users, its tokens, its members' access. 503 while the vault is sealed.",
    auth: { permissions: ["delete"] },
    responses: { 204: { description: "Deleted" } }, errors: ["not_found", "vault_sealed"],
  }),
  listApplicationUsers: defineRoute({
    ...base, id: "listApplicationUsers", method: "GET", path: "/api/v1/applications/:id/users",
    summary: "List the users of an application", description: "The shape is not shown in the specification.", auth: { permissions: ["read"] }, list: true,
    responses: { 200: { description: "Members in the order in which they joined", schema: MemberUserList } }, errors: onTenant,
  }),
  createApplicationUser: defineRoute({
    ...base, id: "createApplicationUser", method: "POST", path: "/api/v1/applications/:id/users",
    summary: "Associate a user with an application",
    description: "The user must be one that the caller can see; others are invited. `permissions` are 510 unless given, cut to what the caller holds. The shapes are not shown in the specification.",
    auth: { permissions: ["update"] }, body: AddUserBody,
    responses: { 204: { description: "Associated" } }, errors: ["not_found", "conflict", "permission_escalation"],
    example: { body: { user_id: EXAMPLE_ID } },
  }),
  updateApplicationUser: defineRoute({
    ...base, params: UserMemberParams, id: "updateApplicationUser", method: "PUT", path: "/api/v1/applications/:id/users/:user_id",
    summary: "Change a user's permissions on an application", auth: { permissions: ["update"] }, body: UpdateMemberBody,
    responses: { 204: { description: "Changed" } }, errors: ["not_found", "last_granter", "permission_escalation"],
    example: { body: { permissions: 2 } },
  }),
  deleteApplicationUser: defineRoute({
    ...base, params: UserMemberParams, id: "deleteApplicationUser", method: "DELETE", path: "/api/v1/applications/:id/users/:user_id",
    summary: "Remove a user from an application", description: "Tokens of the application that act for the user are void.", auth: { permissions: ["update"] },
    responses: { 204: { description: "Removed" } }, errors: ["not_found", "last_granter"],
  }),
  listApplicationOrganizations: defineRoute({
    ...base, id: "listApplicationOrganizations", method: "GET", path: "/api/v1/applications/:id/organizations",
    summary: "List the organizations of an application", auth: { permissions: ["read"] }, list: true,
    responses: { 200: { description: "Organizations in the order in which they joined", schema: OrganizationList } }, errors: onTenant,
  }),
  createApplicationOrganization: defineRoute({
    ...base, id: "createApplicationOrganization", method: "POST", path: "/api/v1/applications/:id/organizations",
    summary: "Associate an organization with an application", description: "The organization must be one that the caller can see. The shapes are not shown in the specification.",
    auth: { permissions: ["update"] }, body: AddOrganizationBody,
    responses: { 204: { description: "Associated" } }, errors: ["not_found", "conflict", "permission_escalation"],
    example: { body: { organization_id: EXAMPLE_ID } },
  }),
  updateApplicationOrganization: defineRoute({
    ...base, params: OrganizationMemberParams, id: "updateApplicationOrganization", method: "PUT", path: "/api/v1/applications/:id/organizations/:organization_id",
    summary: "Change an organization's permissions on an application", auth: { permissions: ["update"] }, body: UpdateMemberBody,
    responses: { 204: { description: "Changed" } }, errors: ["not_found", "last_granter", "permission_escalation"],
    example: { body: { permissions: 2 } },
  }),
  deleteApplicationOrganization: defineRoute({
    ...base, params: OrganizationMemberParams, id: "deleteApplicationOrganization", method: "DELETE", path: "/api/v1/applications/:id/organizations/:organization_id",
    summary: "Remove an organization from an application", auth: { permissions: ["update"] },
    responses: { 204: { description: "Removed" } }, errors: ["not_found", "last_granter"],
  }),
  listApplicationTokens: defineRoute({
    ...base, id: "listApplicationTokens", method: "GET", path: "/api/v1/applications/:id/tokens",
    summary: "List the tokens of an application", auth: { permissions: ["read"] }, list: true,
    responses: { 200: { description: "Sessions and personal access tokens, oldest first", schema: TokenRowList } }, errors: onTenant,
  }),
  deleteApplicationTokens: defineRoute({
    ...base, id: "deleteApplicationTokens", method: "DELETE", path: "/api/v1/applications/:id/tokens",
    summary: "Revoke every token of an application", auth: { permissions: ["delete"] },
    responses: { 204: { description: "Revoked" } }, errors: onTenant,
  }),
  getApplicationClient: defineRoute({
    ...base, id: "getApplicationClient", method: "GET", path: "/api/v1/applications/:id/client",
    summary: "Get an application's OAuth client", auth: { permissions: ["read"] },
    responses: { 200: { description: "The client; never its secret", schema: Client } }, errors: onTenant,
  }),
  updateApplicationClient: defineRoute({
    ...base, id: "updateApplicationClient", method: "PUT", path: "/api/v1/applications/:id/client",
    summary: "Change an application's OAuth client", description: "Tokens that the client got for itself are void afterwards.", auth: { permissions: ["update"] }, body: UpdateClientBody,
    responses: { 204: { description: "Changed" } }, errors: ["not_found", "permission_escalation"],
    example: { body: { redirect_uris: ["https://app.example.com/callback"] } },
  }),
  deleteApplicationClient: defineRoute({
    ...base, id: "deleteApplicationClient", method: "DELETE", path: "/api/v1/applications/:id/client",
    summary: "Take an application's secret, keys and redirect addresses away", auth: { permissions: ["update"] },
    responses: { 204: { description: "Taken away" } }, errors: onTenant,
  }),
  /* Takes no Idempotency-Key: the kept answer would be the secret. */
  createApplicationClientSecret: defineRoute({
    ...base, id: "createApplicationClientSecret", method: "POST", path: "/api/v1/applications/:id/client/secret",
    summary: "Make a new client secret", description: "Shown once. The replaced one works on for `overlap_seconds`.", auth: { permissions: ["update"] }, body: RotateSecretBody, bodyOptional: true,
    responses: { 201: { description: "The secret", schema: ClientSecret } }, errors: ["not_found", "permission_escalation"],
    example: { body: { overlap_seconds: 3600 } },
  }),
} as const;
