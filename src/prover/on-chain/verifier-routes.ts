/** The routes of verifiers on chain and of their registries, as plain values. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import {
  CheckVerifier,
  CreateVerifier,
  CreateVerifierRegistry,
  Verifier,
  VerifierParams,
  VerifierRegistryContract,
} from "./verifier-schemas.js";

/** The longest wait, in seconds, of `Prefer: wait=N`. */
export const VERIFIER_WAIT_SEC_MAX = 300;
const DEADLINE_MS = (VERIFIER_WAIT_SEC_MAX + 15) * 1000;

const READ = { permissions: ["read"] } as const;
const SPEND = { permissions: ["create", "vault_use"] } as const;
const verifierJson = { description: "The verifier", schema: Verifier } as const;
const KNOWN_ANSWER_ERRORS = [
  "proof_malformed",
  "witness_invalid",
  "known_answer_invalid",
  "prover_keys_missing",
  "artifact_corrupt",
  "vault_sealed",
  "overloaded",
  "storage_full",
] as const;
const EXAMPLE_NETWORK = "2fd61fde-5031-41f1-86b8-8a72e2945ead";
const EXAMPLE_ACCOUNT = "7a4c1f2e-1111-4222-8333-000000000001";

export const verifierRoutes = {
  listVerifiers: defineRoute({
    id: "listVerifiers",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/verifiers",
    summary: "List a prover's verifiers on chain",
    auth: READ,
    list: true,
    description: "Those of an own prover, oldest first.",
    params: IdParams,
    responses: { 200: { description: "Verifiers", schema: Type.Array(Verifier) } },
    errors: ["not_found"],
  }),
  createVerifier: defineRoute({
    id: "createVerifier",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers/:id/verifiers",
    summary: "Deploy a verifier contract",
    auth: SPEND,
    needsUnsealed: true,
    creates: true,
    keepsOnce: true,
    description:
      "Compiles the prover's verifier, deploys it with a key of the vault, waits for confirmations, compares the code on the chain with the compiled one, and asks it to accept a valid proof and to refuse wrong ones. All of that goes on after the answer and after a restart; with `Prefer: wait=N` the answer waits up to N seconds (at most 300) for its end. Groth16, PLONK and FFLONK over BN254; the EVM has no precompiles for what a proof over BLS12-381 takes here.",
    params: IdParams,
    body: CreateVerifier,
    deadlineMs: DEADLINE_MS,
    responses: { 202: verifierJson },
    errors: [
      "not_found",
      "prover_unsupported",
      "prover_not_provisioned",
      "contract_not_deployed",
      "signer_not_found",
      "verifier_limit_reached",
      "too_many_requests",
      ...KNOWN_ANSWER_ERRORS,
    ],
    example: { body: { network_id: EXAMPLE_NETWORK, account_id: EXAMPLE_ACCOUNT } },
  }),
  getVerifier: defineRoute({
    id: "getVerifier",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/verifiers/:verifier_id",
    summary: "Read a verifier on chain",
    auth: READ,
    params: VerifierParams,
    responses: { 200: verifierJson },
    errors: ["not_found"],
  }),
  checkVerifier: defineRoute({
    id: "checkVerifier",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers/:id/verifiers/:verifier_id/check",
    summary: "Repeat the checks of a verifier",
    auth: SPEND,
    needsUnsealed: true,
    creates: true,
    keepsOnce: true,
    description:
      "Looks at the deployment once more and repeats all checks, with another valid proof where one is given. A verifier that was ready or unproven can be asked meanwhile, and stays so where no node answers; `errors` says what is waited for. A registration that failed is tried again. `Prefer: wait=N` as for the deployment.",
    params: VerifierParams,
    body: CheckVerifier,
    bodyOptional: true,
    deadlineMs: DEADLINE_MS,
    responses: { 202: verifierJson },
    errors: ["not_found", "verifier_busy", "verifier_not_deployed", ...KNOWN_ANSWER_ERRORS],
    example: { body: {} },
  }),
  deleteVerifier: defineRoute({
    id: "deleteVerifier",
    area: "prover",
    method: "DELETE",
    path: "/api/v1/provers/:id/verifiers/:verifier_id",
    summary: "Delete the record of a verifier",
    auth: { permissions: ["delete"] },
    description: "The contract stays on its chain, its record under /contracts and its entry in a registry too.",
    params: VerifierParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "conflict"],
  }),
  createVerifierRegistry: defineRoute({
    id: "createVerifierRegistry",
    area: "prover",
    method: "POST",
    path: "/api/v1/verifier_registries",
    summary: "Deploy a registry of verifiers",
    auth: SPEND,
    needsUnsealed: true,
    creates: true,
    keepsOnce: true,
    description:
      "A contract that tells which contract verifies a prover's proofs now, and with which key; its source is `src/prover/on-chain/verifier-registry.sol`. Only its owner, the account that deploys it, changes entries; ownership moves in two steps. It is compiled and deployed as any contract: see /contracts/:id.",
    body: CreateVerifierRegistry,
    responses: { 202: { description: "The registry", schema: VerifierRegistryContract } },
    errors: [
      ...(["not_found", "signer_not_found", "contract_limit_reached", "too_many_requests"] as const),
      ...(["vault_sealed", "overloaded", "storage_full"] as const),
    ],
    example: { body: { network_id: EXAMPLE_NETWORK, account_id: EXAMPLE_ACCOUNT } },
  }),
} as const;
