/**
 * Logging in on another device (RFC 8628): this program shows a short code, which the user enters where a browser is.
 */
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../../platform/clock.js";
import { StartError } from "../../../platform/start-error.js";
import { ApiError } from "../../../sdk/errors.js";
import { Proofwright } from "../../../sdk/proofwright.js";
import { CLIENT_SCOPE } from "./browser-login.js";
import { withoutControls } from "../print-result.js";

type Token = Awaited<ReturnType<Proofwright["tokens"]["create"]>>;

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
/** How much slower a hasty device gets (section 3.5). */
const SLOWER_SEC = 5;

/**
 * Prints the code and where it is entered, waits until the user has decided, and returns the token.
 * @param clientId of an application whose client may use the device flow
 * @throws StartError when the user denies it or the code expires
 * @throws ApiError `unauthorized_client` when the client may not use the flow
 */
export async function loginWithDevice(server: string, clientId: string): Promise<Token> {
  const client = new Proofwright({ baseUrl: server });
  const { body: codes } = await client.request("POST /api/v1/oauth/device_authorization", {
    body: { client_id: clientId, scope: CLIENT_SCOPE },
  });
  const address = withoutControls(codes.verification_uri);
  process.stderr.write(`Open ${address} in a browser and enter the code ${withoutControls(codes.user_code)}\n`);
  const endsAtMs = systemClock.nowMs() + codes.expires_in * 1000;
  let intervalSec = codes.interval;
  while (systemClock.nowMs() < endsAtMs) {
    await delay(intervalSec * 1000);
    try {
      return await client.tokens.create({
        ...{ grant_type: GRANT, device_code: codes.device_code, client_id: clientId },
      });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === "slow_down") intervalSec += SLOWER_SEC;
      else if (error.code === "access_denied") throw new StartError("the login was denied.", { cause: error });
      else if (error.code === "expired_token") break;
      else if (error.code !== "authorization_pending") throw error;
    }
  }
  throw new StartError("nobody entered the code in time; log in again.");
}
