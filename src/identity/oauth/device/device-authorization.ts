/**
 * The device flow (RFC 8628): a program without a browser asks for codes, and a user approves it on a page. Both are
 * counted by network address, so that nobody finds codes by trying.
 */
import type { Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import type { Log } from "../../../platform/log.js";
import type { HourlyLimits } from "../../login/hourly-limit.js";
import type { HtmlPage } from "../../login/html-page.js";
import type { Login } from "../../login/login.js";
import { loginRefusal } from "../../login/login-refusal.js";
import { addressThrottleKey } from "../../login/throttle-keys.js";
import type { TenantRepository } from "../../tenants/tenant-repository.js";
import { CLIENT_SCOPES, grantedClientScope, isNamingNothing, scopeNames } from "../../tokens/scope.js";
import type { ClientAuthentication, ClientCredentials } from "../client-authentication.js";
import type { Clients } from "../clients.js";
import { requireDeviceFlow, type DeviceCodes, type WaitingDevice } from "./device-codes.js";
import { codePage, decidedPage, decisionPage } from "./device-page.js";
import { DEVICE_INTERVAL_SEC } from "./device-pace.js";
import type { DeviceAuthorizationJson, DeviceFormInput } from "./device-schemas.js";

export interface DeviceAuthorizationOptions {
  /** Address of the server, without slashes at its end. */
  readonly serviceUrl: string;
}

export interface DeviceAuthorizationDependencies {
  readonly tenants: TenantRepository;
  readonly clients: Clients;
  readonly clientAuthentication: ClientAuthentication;
  readonly deviceCodes: DeviceCodes;
  readonly limits: HourlyLimits;
  readonly login: Login;
  readonly clock: Clock;
  readonly log: Log;
}

/** A page, and how it came to it. */
export interface DevicePageResult {
  readonly page: HtmlPage;
  readonly outcome: "shown" | "unknown_code" | "login_failed";
}

const UNKNOWN_CODE = "This code is unknown, used or has expired. Check it, or start again on the device.";

export class DeviceAuthorization {
  readonly #verificationUri: string;
  readonly #dependencies: DeviceAuthorizationDependencies;

  constructor({ serviceUrl }: DeviceAuthorizationOptions, dependencies: DeviceAuthorizationDependencies) {
    this.#verificationUri = `${serviceUrl}/device`;
    this.#dependencies = dependencies;
  }

  /**
   * Begins the flow for a client.
   * @param caller.address network address, for throttling
   * @throws invalid_client; unauthorized_client unless the client may use the flow; permission_escalation for a scope
   *   of unknown words only; too_many_requests
   */
  async begin(
    credentials: ClientCredentials,
    scope: string | undefined,
    caller: { readonly address: string },
  ): Promise<DeviceAuthorizationJson> {
    const { clientAuthentication, deviceCodes, limits } = this.#dependencies;
    const client = await clientAuthentication.identify(credentials);
    requireDeviceFlow(client);
    if (isNamingNothing(scope ?? ""))
      throw new AppError("permission_escalation", {
        message: `scope: none of these is known; use some of ${CLIENT_SCOPES.join(", ")}`,
      });
    await limits.deviceCode.count(addressThrottleKey(caller.address));
    const { deviceCode, userCode, lifeSec } = await deviceCodes.issue(client, grantedClientScope(scope));
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: this.#verificationUri,
      verification_uri_complete: `${this.#verificationUri}?user_code=${userCode}`,
      expires_in: lifeSec,
      interval: DEVICE_INTERVAL_SEC,
    };
  }

  /**
   * Shows the page that asks for a code, or for a code the page on which the user decides.
   * @throws too_many_requests after many codes from one address, right or wrong
   */
  async show(userCode: string | undefined, address: string): Promise<DevicePageResult> {
    if (userCode === undefined || userCode === "") return { page: codePage(), outcome: "shown" };
    const device = await this.#find(userCode, address);
    return device === undefined ? unknownCode() : { page: this.#decisionPage(device), outcome: "shown" };
  }

  /**
   * Decides about a device with what the user put into the form. A wrong password, or an address that must be confirmed
   * first, shows the form again.
   * @throws too_many_requests
   */
  async submit(form: DeviceFormInput, address: string): Promise<DevicePageResult> {
    const { deviceCodes, login, clock, log } = this.#dependencies;
    const { user_code: userCode = "", email = "", password = "", decision } = form;
    const device = await this.#find(userCode, address);
    if (device === undefined) return unknownCode();
    if (decision === "deny") {
      const isDenied = await deviceCodes.decide(userCode, undefined);
      return isDenied ? { page: decidedPage("denied"), outcome: "shown" } : unknownCode();
    }
    try {
      const user = await login.check({ email, password }, address);
      const isApproved = await deviceCodes.decide(userCode, { userId: user.id, passwordAtMs: clock.nowMs() });
      if (!isApproved) return unknownCode();
      log.info("device approved", { subject: `user:${user.id}`, tenant: `application:${device.clientId}` });
      return { page: decidedPage("approved"), outcome: "shown" };
    } catch (error) {
      const message = loginRefusal(error);
      if (message === undefined) throw error;
      return { page: this.#decisionPage(device, { email, message }), outcome: "login_failed" };
    }
  }

  /**
   * Returns the device that waits under a code, unless its client may not use the flow any more or is gone. Counts
   * every code before it is looked up, so that guesses at once cannot outrun the count.
   */
  async #find(userCode: string, address: string): Promise<WaitingDevice | undefined> {
    const { limits, deviceCodes, clients } = this.#dependencies;
    await limits.userCode.count(addressThrottleKey(address));
    const device = deviceCodes.findWaiting(userCode);
    return device !== undefined && clients.find(device.clientId)?.device_flow === true ? device : undefined;
  }

  #decisionPage(
    { userCode, clientId, scope }: WaitingDevice,
    again: { readonly email?: string; readonly message?: string } = {},
  ): HtmlPage {
    const applicationName = this.#dependencies.tenants.applications.get([clientId])?.value.name ?? "";
    return decisionPage({ applicationName, userCode, scopes: scopeNames(scope), ...again });
  }
}

function unknownCode(): DevicePageResult {
  return { page: codePage(UNKNOWN_CODE), outcome: "unknown_code" };
}
