/** Identity behind the real HTTP front, at an issuer that is its own address, as OAuth clients need it. */
import { createServer as createNetServer, type AddressInfo } from "node:net";
import { identityRoutes } from "../../src/identity/routes.js";
import type { IdentityOptions } from "../../src/identity/create-identity.js";
import { createClient, type Client } from "../../src/client.js";
import { systemClock } from "../../src/platform/clock.js";
import { bindRoutes } from "../../src/platform/contract/route.js";
import { createServer, type Server } from "../../src/platform/http/server.js";
import { quietLog } from "../platform/auth/support.js";
import { PASSWORD, openHarness, type Harness } from "./support.js";

export type IdentityApi = Client<typeof identityRoutes>;

export interface HttpHarness extends Harness {
  readonly url: string;
  readonly server: Server;
  readonly anonymous: IdentityApi;
  readonly as: (token: string) => IdentityApi;
  /** Creates a user and logs in. */
  readonly newUser: (
    email: string,
    scope?: string,
  ) => Promise<{ id: string; token: string; refresh: string | undefined; api: IdentityApi }>;
}

/** A port that is free now: the issuer must be known before the server listens. */
async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createNetServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => {
        resolve(port);
      });
    });
  });
}

export async function openHttpHarness(options: Partial<IdentityOptions> = {}): Promise<HttpHarness> {
  const port = await freePort();
  const url = `http://127.0.0.1:${String(port)}`;
  const harness = await openHarness({ issuer: url, ...options });
  // OAuth libraries compare with the time of day.
  harness.clock.ms = Date.now();
  const { handlers, authenticate } = harness.identity;
  const server = createServer(
    { host: "127.0.0.1", port, limits: { rateLimits: false } },
    {
      routes: bindRoutes(identityRoutes, handlers),
      authenticate,
      isUnsealed: () => true,
      log: quietLog,
      clock: systemClock,
    },
  );
  await server.listen();
  const as = (token: string): IdentityApi => createClient({ baseUrl: url, token }, identityRoutes);
  const anonymous = createClient({ baseUrl: url }, identityRoutes);
  const newUser = async (email: string, scope?: string) => {
    const { body: user } = await anonymous.createUser({
      body: { email, first_name: "Ada", last_name: "Lovelace", password: PASSWORD },
    });
    const { body } = await anonymous.authenticate({
      body: { email, password: PASSWORD, ...(scope === undefined ? {} : { scope }) },
    });
    return {
      id: user.id,
      token: body.token.access_token,
      refresh: body.token.refresh_token,
      api: as(body.token.access_token),
    };
  };
  return { ...harness, url, server, anonymous, as, newUser };
}
