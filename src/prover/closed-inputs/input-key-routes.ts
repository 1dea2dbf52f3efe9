/** The routes of keys to which inputs of a prover are encrypted, as plain values. */
import { defineRoute } from "../../platform/contract/route.js";
import { ProverIdParams, ProverParams } from "../schemas.js";
import { CreateInputKey, InputKey, InputKeys } from "./input-key-schemas.js";

export const inputKeyRoutes = {
  createProverInputKey: defineRoute({
    id: "createProverInputKey",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers/:id/input_keys",
    summary: "Make a key to which inputs are encrypted",
    auth: { permissions: ["create"] },
    needsUnsealed: true,
    creates: true,
    keepsOnce: true,
    description:
      "A key for key agreement in the vault of an own prover, on X25519 or P-256, which `witness_jwe` of prove names by `kid`. Another one takes the place of none: tokens to the older keys are opened until those keys are disabled or deleted in the vault.",
    params: ProverIdParams,
    body: CreateInputKey,
    bodyOptional: true,
    responses: { 201: { description: "The public key", schema: InputKey } },
    errors: ["not_found", "conflict", "vault_sealed"],
  }),
  listProverInputKeys: defineRoute({
    id: "listProverInputKeys",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/input_keys",
    summary: "Get the keys to which inputs are encrypted",
    auth: { permissions: ["read"] },
    needsUnsealed: true,
    description:
      "A JSON Web Key Set for whoever may prove with the prover. Empty until its owner has made a key; keys that are disabled are left out.",
    params: ProverParams,
    responses: { 200: { description: "The key set", schema: InputKeys } },
    errors: ["not_found", "forbidden", "vault_sealed"],
  }),
} as const;
