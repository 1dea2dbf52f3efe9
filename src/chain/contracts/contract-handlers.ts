/** Binds the routes of contracts to their services. */
import { requireUnchanged } from "../../platform/contract/client-names.js";
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import type { contractRoutes } from "./contract-routes.js";
import type { ContractExecutions, Write } from "./executions.js";
import type { ContractCreation, CreatedContract } from "./contract-creation.js";
import type { TokenContract } from "./contract-schemas.js";
import type { ContractService } from "./contract-service.js";
import type { TokenContracts } from "./token-contracts.js";

/** Members that a contract has for good; its address, transaction and status come from the chain. */
const CONSTANT = [
  "id",
  "created_at",
  "application_id",
  "organization_id",
  "user_id",
  "network_id",
  "contract_id",
] as const;

/** Returns the handlers of all routes in contract-routes.ts. */
export function contractHandlers({
  contracts,
  creation,
  executions,
  tokens,
}: {
  readonly contracts: ContractService;
  readonly creation: ContractCreation;
  readonly executions: ContractExecutions;
  readonly tokens: TokenContracts;
}): HandlersFor<typeof contractRoutes> {
  return {
    listContracts: async ({ principal, query }) => ({ status: 200, ...(await contracts.list(principal, query)) }),
    createContract: async ({ principal, body, once }) =>
      createdAnswer(await creation.create(principal, body, keepingAnswer(once, createdAnswer))),
    createPublicContract: async ({ principal, body, once }) =>
      createdAnswer(await creation.createPublic(principal, body, keepingAnswer(once, createdAnswer))),
    getContract: ({ principal, params }) => ({ status: 200, body: contracts.get(principal.subject, params.id) }),
    updateContract: async ({ principal, params, body, sentBack }) => {
      requireUnchanged(sentBack, contracts.record(principal.subject, params.id), CONSTANT);
      await contracts.update(principal.subject, params.id, body);
      return { status: 204 };
    },
    deleteContract: async ({ principal, params }) => {
      await contracts.delete(principal.subject, params.id);
      return { status: 204 };
    },
    executeContract: async ({ principal, params, body, once }) => {
      const executed = await executions.execute(principal, params.id, body, keepingAnswer(once, writeAnswer));
      if (executed.kind === "read")
        return { status: 200, body: { confidence: null, ref: executed.ref, response: executed.response } };
      return writeAnswer(executed);
    },
    listTokenContracts: async ({ principal, query }) => ({
      status: 200,
      ...(await tokens.list(principal.subject, query)),
    }),
    createTokenContract: async ({ principal, body, once }) =>
      tokenAnswer(await tokens.create(principal, body, keepingAnswer(once, tokenAnswer))),
    getTokenContract: ({ principal, params }) => ({ status: 200, body: tokens.get(principal.subject, params.id) }),
  };
}

function createdAnswer({ contract, isBeingCompiled }: CreatedContract) {
  return {
    status: isBeingCompiled ? 202 : 201,
    body: contract,
    headers: { Location: `/api/v1/contracts/${contract.id}` },
  } as const;
}

function tokenAnswer(made: TokenContract) {
  return { status: 201, body: made, headers: { Location: `/api/v1/token_contracts/${made.id}` } } as const;
}

function writeAnswer({ ref, transactionId }: Write) {
  return {
    status: 202,
    body: { confidence: null, ref },
    headers: { Location: `/api/v1/transactions/${transactionId}` },
  } as const;
}
