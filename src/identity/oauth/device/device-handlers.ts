/** Handlers of the device flow: from a validated request to the service and back. No logic. */
import type { HandlersFor } from "../../../platform/contract/route.js";
import type { IdentityServices } from "../../services.js";
import { pageReply } from "../page-reply.js";
import type { DevicePageResult } from "./device-authorization.js";
import type { deviceRoutes } from "./device-routes.js";

/** Returns the handlers of the device flow. */
export function deviceHandlers({ deviceAuthorization }: IdentityServices): HandlersFor<typeof deviceRoutes> {
  return {
    authorizeDevice: async ({ body = {}, authorization, address }) => {
      const { client_id, client_secret, client_assertion, client_assertion_type, scope } = body;
      const credentials = { client_id, client_secret, client_assertion, client_assertion_type, authorization };
      return { status: 200, body: await deviceAuthorization.begin(credentials, scope, { address }) };
    },
    showDevice: async ({ query, address }) => {
      const result = await deviceAuthorization.show(query.user_code, address);
      return { status: result.outcome === "unknown_code" ? 404 : 200, ...pageReply(result.page) };
    },
    decideDevice: async ({ body, address }) => {
      const result = await deviceAuthorization.submit(body, address);
      return { status: STATUS_OF[result.outcome], ...pageReply(result.page) };
    },
  };
}

const STATUS_OF = {
  shown: 200,
  unknown_code: 404,
  login_failed: 401,
} as const satisfies Record<DevicePageResult["outcome"], number>;
