/** Binds the routes of receipts to the keys that sign them. */
import { keepingAnswer } from "../../platform/contract/once.js";
import type { HandlersFor } from "../../platform/contract/route.js";
import { notFound } from "../../platform/errors.js";
import type { ProverRepository } from "../repository.js";
import { receiptSchemaText } from "./receipt-format.js";
import type { ReceiptKeys } from "./receipt-keys.js";
import type { receiptRoutes } from "./receipt-routes.js";
import type { SigningKey } from "./signing-key-schemas.js";

/** Returns the handlers of all routes in receipt-routes.ts. */
export function receiptHandlers(dependencies: {
  readonly keys: ReceiptKeys;
  readonly repository: Pick<ProverRepository, "find">;
}): HandlersFor<typeof receiptRoutes> {
  const { keys, repository } = dependencies;
  const schema = Buffer.from(receiptSchemaText(), "utf8");
  const ownProver = (...of: Parameters<ProverRepository["find"]>) => {
    const found = repository.find(...of);
    if (found === undefined) throw notFound("prover");
    return found.value;
  };
  return {
    getReceiptSchema: () => ({ status: 200, bytes: schema }),
    getReceiptKeySet: ({ params }) => ({ status: 200, body: keys.keySet(params.id) }),
    listReceiptKeys: ({ principal, params, query }) => {
      const { id } = ownProver(principal.subject, params.id);
      return { status: 200, ...keys.list(id, query) };
    },
    rotateReceiptKey: async ({ principal, params, once }) =>
      rotatedAnswer(await keys.rotate(ownProver(principal.subject, params.id), keepingAnswer(once, rotatedAnswer))),
    revokeReceiptKey: async ({ principal, params, body }) => ({
      status: 200,
      body: await keys.revoke(principal.subject, params.id, params.kid, body?.reason ?? null),
    }),
  };
}

function rotatedAnswer(key: SigningKey) {
  return { status: 201, body: key } as const;
}
