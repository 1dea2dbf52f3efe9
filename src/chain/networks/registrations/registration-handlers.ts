/** Binds the routes of oracles, bridges and prices. */
import { isoTimestamp, type Clock } from "../../../platform/clock.js";
import type { HandlersFor } from "../../../platform/contract/route.js";
import { newId } from "../../../platform/ids.js";
import type { Prices } from "./prices.js";
import type { registrationRoutes } from "./registration-routes.js";
import type { BridgeJson, OracleJson } from "./registration-schemas.js";
import type { Registrations } from "./registrations.js";

export interface RegistrationHandlersDependencies {
  readonly oracles: Registrations<OracleJson>;
  readonly bridges: Registrations<BridgeJson>;
  readonly prices: Prices;
  readonly clock: Clock;
}

export function registrationHandlers({
  oracles,
  bridges,
  prices,
  clock,
}: RegistrationHandlersDependencies): HandlersFor<typeof registrationRoutes> {
  const made = (applicationId: string): { id: string; created_at: string; application_id: string } => ({
    id: newId(),
    created_at: isoTimestamp(clock.nowMs()),
    application_id: applicationId,
  });
  return {
    listOracles: ({ principal, query }) => ({
      status: 200,
      ...oracles.list(principal.subject, query.network_id, query),
    }),
    createOracle: async ({ principal, body }) => {
      const { contract_id = null, feed_url = null, params = null, attachment_ids = [], ...rest } = body;
      return {
        status: 201,
        body: await oracles.create(principal.subject, {
          ...made(principal.subject.id),
          ...rest,
          contract_id,
          feed_url,
          params,
          attachment_ids,
        }),
      };
    },
    getOracle: ({ principal, params }) => ({ status: 200, body: oracles.get(principal.subject, params.id) }),
    deleteOracle: async ({ principal, params }) => {
      await oracles.delete(principal.subject, params.id);
      return { status: 204 };
    },
    listBridges: ({ principal, query }) => ({
      status: 200,
      ...bridges.list(principal.subject, query.network_id, query),
    }),
    createBridge: async ({ principal, body }) => {
      const {
        destination_network_id = null,
        contract_id = null,
        type = null,
        description = null,
        params = null,
        ...rest
      } = body;
      return {
        status: 201,
        body: await bridges.create(principal.subject, {
          ...made(principal.subject.id),
          ...rest,
          destination_network_id,
          contract_id,
          type,
          description,
          params,
        }),
      };
    },
    getBridge: ({ principal, params }) => ({ status: 200, body: bridges.get(principal.subject, params.id) }),
    deleteBridge: async ({ principal, params }) => {
      await bridges.delete(principal.subject, params.id);
      return { status: 204 };
    },
    getPrices: async () => ({ status: 200, body: await prices.read() }),
  };
}
