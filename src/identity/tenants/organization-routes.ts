/** Route definitions of organizations: the record, its members and its tokens. Plain values; no server code. */
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import { CreateOrganizationBody, JoinBody, MemberUserList, Organization, OrganizationList, UpdateMemberBody, UpdateOrganizationBody, UserMemberParams } from "./tenant-schemas.js";
import { TokenRowList } from "../tokens/token-schemas.js";

const RECORD_BODY_BYTES_MAX = 32 * 1024;
const RECORD_JSON_TOKENS_MAX = 2_000;
const EXAMPLE_ID = "5f3a1c1e-2b7d-4e8f-9a6b-0c1d2e3f4a5b";

const base = { area: "identity", params: IdParams } as const;
const onTenant = ["not_found"] as const;

export const organizationRoutes = {
  listOrganizations: defineRoute({
    area: "identity", id: "listOrganizations", method: "GET", path: "/api/v1/organizations",
    summary: "List the organizations of the caller", auth: { permissions: ["read"] }, list: true,
    responses: { 200: { description: "Organizations, oldest first", schema: OrganizationList } },
  }),
  createOrganization: defineRoute({
    area: "identity", id: "createOrganization", method: "POST", path: "/api/v1/organizations",
    summary: "Found an organization",
    description: "The calling user, or the user for whom a token of an application acts, becomes its first member; a calling application is associated with it. While the vault is unsealed, a vault comes with it.",
    auth: { permissions: ["create"], subjects: ["user", "application"] }, body: CreateOrganizationBody, bodyBytesMax: RECORD_BODY_BYTES_MAX, jsonTokensMax: RECORD_JSON_TOKENS_MAX, creates: true,
    responses: { 201: { description: "The organization", schema: Organization } },
    errors: ["conflict", "invitation_invalid"],
    example: { body: { name: "Analytical Engines" } },
  }),
  getOrganization: defineRoute({
    ...base, id: "getOrganization", method: "GET", path: "/api/v1/organizations/:id",
    summary: "Get an organization", auth: { permissions: ["read"] },
    responses: { 200: { description: "The organization", schema: Organization } }, errors: onTenant,
  }),
  updateOrganization: defineRoute({
    ...base, id: "updateOrganization", method: "PUT", path: "/api/v1/organizations/:id",
    summary: "Change an organization", auth: { permissions: ["update"] },
    body: UpdateOrganizationBody, bodyBytesMax: RECORD_BODY_BYTES_MAX, jsonTokensMax: RECORD_JSON_TOKENS_MAX,
    responses: { 204: { description: "Changed" } }, errors: onTenant,
    example: { body: { description: "Cards and gears" } },
  }),
  deleteOrganization: defineRoute({
    ...base, id: "deleteOrganization", method: "DELETE", path: "/api/v1/organizations/:id",
    summary: "Delete an organization and what it alone owns", description: "Its vaults and provers, its tokens, its members' access. 503 while the vault is sealed.",
    auth: { permissions: ["delete"] },
    responses: { 204: { description: "Deleted" } }, errors: ["not_found", "vault_sealed"],
  }),
  listOrganizationUsers: defineRoute({
    ...base, id: "listOrganizationUsers", method: "GET", path: "/api/v1/organizations/:id/users",
    summary: "List the members of an organization", auth: { permissions: ["read"] }, list: true,
    responses: { 200: { description: "Members in the order in which they joined", schema: MemberUserList } }, errors: onTenant,
  }),
  createOrganizationUser: defineRoute({
    ...base, id: "createOrganizationUser", method: "POST", path: "/api/v1/organizations/:id/users",
    summary: "Add a member to an organization",
    description: "Either a user that the caller can see, by somebody who may grant; `permissions` are 386 unless given. Or, with `invitation_token`, the calling user itself.",
    auth: { permissions: ["update"] }, body: JoinBody,
    responses: { 204: { description: "Added" } }, errors: ["not_found", "conflict", "permission_escalation", "invitation_invalid"],
    example: { body: { user_id: EXAMPLE_ID } },
  }),
  updateOrganizationUser: defineRoute({
    ...base, params: UserMemberParams, id: "updateOrganizationUser", method: "PUT", path: "/api/v1/organizations/:id/users/:user_id",
    summary: "Change a member's permissions", auth: { permissions: ["update"] }, body: UpdateMemberBody,
    responses: { 204: { description: "Changed" } }, errors: ["not_found", "last_granter", "permission_escalation"],
    example: { body: { permissions: 2 } },
  }),
  deleteOrganizationUser: defineRoute({
    ...base, params: UserMemberParams, id: "deleteOrganizationUser", method: "DELETE", path: "/api/v1/organizations/:id/users/:user_id",
    summary: "Remove a member, or leave", description: "Tokens of the organization that act for the member are void.", auth: { permissions: ["update"] },
    responses: { 204: { description: "Removed" } }, errors: ["not_found", "last_granter"],
  }),
  listOrganizationTokens: defineRoute({
    ...base, id: "listOrganizationTokens", method: "GET", path: "/api/v1/organizations/:id/tokens",
    summary: "List the tokens of an organization", auth: { permissions: ["read"] }, list: true,
    responses: { 200: { description: "Sessions and personal access tokens, oldest first", schema: TokenRowList } }, errors: onTenant,
  }),
  deleteOrganizationTokens: defineRoute({
    ...base, id: "deleteOrganizationTokens", method: "DELETE", path: "/api/v1/organizations/:id/tokens",
    summary: "Revoke every token of an organization", auth: { permissions: ["delete"] },
    responses: { 204: { description: "Revoked" } }, errors: onTenant,
  }),
} as const;
