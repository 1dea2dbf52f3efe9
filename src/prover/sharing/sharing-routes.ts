/** The routes by which owners share provers, and others find those that are shared with them; as plain values. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import { CreateProverGrant, GrantParams, ProverGrant, SharedProver } from "./sharing-schemas.js";

const READ = { permissions: ["read"] } as const;
const UPDATE = { permissions: ["update"] } as const;

export const sharingRoutes = {
  listProverGrants: defineRoute({
    id: "listProverGrants",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/grants",
    summary: "List who may use a prover",
    auth: READ,
    list: true,
    description: "The grants of an own prover, oldest first.",
    params: IdParams,
    responses: { 200: { description: "Grants", schema: Type.Array(ProverGrant) } },
    errors: ["not_found"],
  }),
  createProverGrant: defineRoute({
    id: "createProverGrant",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers/:id/grants",
    summary: "Share a prover",
    auth: UPDATE,
    creates: true,
    keepsOnce: true,
    description:
      "Lets another user, application or organization prove and verify with an own prover, or verify only; or lets every token of this server verify. A second grant to the same one takes the place of the first. Others never see keys, source, stores or records of the owner. Ids are not looked up: whether one exists would tell of other tenants.",
    params: IdParams,
    body: CreateProverGrant,
    responses: { 201: { description: "The grant", schema: ProverGrant } },
    errors: ["not_found", "grant_limit_reached"],
    example: { body: { user_id: "7a4c1f2e-1111-4222-8333-000000000001", may: "prove" } },
  }),
  deleteProverGrant: defineRoute({
    id: "deleteProverGrant",
    area: "prover",
    method: "DELETE",
    path: "/api/v1/provers/:id/grants/:grant_id",
    summary: "Stop sharing a prover",
    auth: UPDATE,
    description:
      "Takes effect at once, also on requests that are running. What was proved under the grant stays with those who proved it.",
    params: GrantParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found"],
  }),
  listSharedProvers: defineRoute({
    id: "listSharedProvers",
    area: "prover",
    method: "GET",
    path: "/api/v1/shared_provers",
    summary: "List provers that others share with the caller",
    auth: READ,
    list: true,
    description:
      "Provers with a grant to the token's subject, in the order of the grants. Those that anyone may verify with are not listed: they are known by their ids.",
    responses: { 200: { description: "Provers", schema: Type.Array(SharedProver) } },
  }),
  getSharedProver: defineRoute({
    id: "getSharedProver",
    area: "prover",
    method: "GET",
    path: "/api/v1/shared_provers/:id",
    summary: "Read another's prover that is shared",
    auth: READ,
    description:
      "Shared with the caller or with anyone. `POST /provers/:id/prove` and `/verify` take its id; `/provers/:id/artifacts` has verifying_key.json and verifier.sol, and interface.json for those who may prove. The proofs and notes that the caller makes are the caller's own.",
    params: IdParams,
    responses: { 200: { description: "The prover", schema: SharedProver } },
    errors: ["not_found"],
  }),
  leaveSharedProver: defineRoute({
    id: "leaveSharedProver",
    area: "prover",
    method: "DELETE",
    path: "/api/v1/shared_provers/:id",
    summary: "Give up another's prover",
    auth: { permissions: ["delete"] },
    needsUnsealed: true,
    description:
      "Deletes the grant to the caller, and the caller's proofs, notes and vault for this prover, which also remain when a grant or the prover is deleted. They are gone with the answer; many records are removed behind it, and until then a new grant lets nothing be proved: 409 `prover_busy`.",
    params: IdParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "prover_busy"],
  }),
} as const;
