/** Identity behind the real HTTP front, at an issuer that is its own address, as OAuth clients need it. */
import { createClient, type Client } from "../../src/sdk/client.js";
import { ApiError } from "../../src/sdk/errors.js";
import type { IdentityDependencies, IdentityOptions } from "../../src/identity/create-identity.js";
import { identityRoutes } from "../../src/identity/routes.js";
import type { Principal } from "../../src/platform/auth/principal.js";
import { systemClock } from "../../src/platform/clock.js";
import { bindRoutes, type Area, type HandlersFor } from "../../src/platform/contract/route.js";
import { createServer, type Server } from "../../src/platform/http/server.js";
import { testDriver } from "../support/http-driver.js";
import { quietLog } from "../platform/auth/support.js";
import { PASSWORD, openHarness, type Harness } from "./support.js";

export type IdentityApi = Client<typeof identityRoutes>;
export type TokenRequest = Parameters<IdentityApi["createToken"]>[0]["body"];

/** A user who has logged in. */
export interface Person {
  readonly id: string;
  readonly token: string;
  readonly refresh: string | undefined;
  readonly api: IdentityApi;
}

export interface HttpHarness extends Harness {
  readonly url: string;
  readonly server: Server;
  readonly anonymous: IdentityApi;
  readonly as: (token: string) => IdentityApi;
  /** Creates a user, confirms the address where that is required, and logs in. */
  readonly newUser: (email: string, scope?: string) => Promise<Person>;
  /** Creates a user who holds every permission, and logs in. */
  readonly newAdministrator: () => Promise<Person>;
  /** The status and code of a login, or "ok". */
  readonly logIn: (email: string, password: string) => Promise<string>;
  /** True for a token with which a request is accepted. */
  readonly isAlive: (token: string) => Promise<boolean>;
  /** The token in the latest mail with one to an address; undefined when none was sent. */
  readonly mailedToken: (to: string) => Promise<string | undefined>;
}

type Handlers = HandlersFor<typeof identityRoutes>;

/** The server listens before identity is built, because the issuer contains the port. */
async function listen(): Promise<{
  readonly server: Server;
  readonly url: string;
  readonly serve: (identity: Pick<Harness["identity"], "handlers" | "authenticate">) => void;
}> {
  let served: Pick<Harness["identity"], "handlers" | "authenticate"> | undefined;
  const names = Object.keys(identityRoutes) as (keyof Handlers)[];
  const handlers = Object.fromEntries(
    names.map((name) => [name, (request: never) => (served!.handlers[name] as (request: never) => unknown)(request)]),
  ) as unknown as Handlers;
  const server = createServer(
    { host: "127.0.0.1", port: 0, limits: { rateLimits: false } },
    {
      driver: testDriver,
      routes: bindRoutes(identityRoutes, handlers),
      authenticate: (token: string, area?: Area): Principal | Promise<Principal> => served!.authenticate(token, area),
      isUnsealed: () => true,
      log: quietLog,
      clock: systemClock,
    },
  );
  const { port } = await server.listen();
  return {
    server,
    url: `http://127.0.0.1:${String(port)}`,
    serve: (identity) => {
      served = identity;
    },
  };
}

export async function openHttpHarness(
  options: Partial<IdentityOptions> = {},
  changes: Partial<IdentityDependencies> = {},
): Promise<HttpHarness> {
  const { server, url, serve } = await listen();
  const harness = await openHarness({ issuer: url, ...options }, undefined, changes);
  // OAuth libraries compare with the time of day.
  harness.clock.ms = Date.now();
  serve(harness.identity);
  const as = (token: string): IdentityApi => createClient({ baseUrl: url, token }, identityRoutes);
  const anonymous = createClient({ baseUrl: url }, identityRoutes);
  const mailedToken = async (to: string): Promise<string | undefined> => {
    await harness.identity.services.outbox.idle();
    const tokens = harness.mails.flatMap((mail) =>
      mail.to === to ? [/^ {2}(p[a-z]{2}_\S+)$/m.exec(mail.text)?.[1] ?? []].flat() : [],
    );
    return tokens.at(-1);
  };
  const newUser = async (email: string, scope?: string): Promise<Person> => {
    await anonymous.createUser({ body: { email, first_name: "Ada", last_name: "Lovelace", password: PASSWORD } });
    if (options.emailConfirmation === "require")
      await anonymous.confirmEmail({ params: { token: (await mailedToken(email)) ?? "none" } });
    return logInPerson(email, scope);
  };
  const logInPerson = async (email: string, scope?: string): Promise<Person> => {
    const { body } = await anonymous.authenticate({
      body: { email, password: PASSWORD, ...(scope === undefined ? {} : { scope }) },
    });
    const { access_token: token, refresh_token: refresh } = body.token;
    return { id: body.user.id, token, refresh, api: as(token) };
  };
  return {
    ...harness,
    url,
    server,
    anonymous,
    as,
    newUser,
    newAdministrator: async () => {
      await newUser("root@example.com");
      await harness.identity.services.bootstrap.makeAdministrator("ROOT@example.com");
      return logInPerson("root@example.com");
    },
    logIn: async (email, password) => outcome(anonymous.authenticate({ body: { email, password } })),
    isAlive: async (token) => {
      try {
        await harness.identity.authenticate(token);
        return true;
      } catch {
        return false;
      }
    },
    mailedToken,
  };
}

/** Status and code of a call that must fail, or "ok". */
export async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "ok";
  } catch (error) {
    if (error instanceof ApiError) return `${String(error.status)} ${error.code}`;
    throw error;
  }
}
