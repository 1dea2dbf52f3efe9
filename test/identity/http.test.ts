/** Identity through the real HTTP front, as strangers, existing clients and forgers meet it. */
import { Ident, identClientFactory } from "provide-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { identityRoutes } from "../../src/identity/routes.js";
import { systemClock } from "../../src/platform/clock.js";
import { bindRoutes } from "../../src/platform/contract/route.js";
import { createServer, type Server } from "../../src/platform/http/server.js";
import { testDriver } from "../support/http-driver.js";
import { quietLog } from "../platform/auth/support.js";
import { PASSWORD, openHarness, type Harness } from "./support.js";

const ADA = { email: "ada@example.com", first_name: "Ada", last_name: "Lovelace", password: PASSWORD };
let harness: Harness;
let server: Server;
let base: string;
let host: string;

beforeEach(async () => {
  harness = await openHarness();
  const { handlers, authenticate } = harness.identity;
  const routes = bindRoutes(identityRoutes, handlers);
  server = createServer(
    { host: "127.0.0.1", port: 0 },
    { driver: testDriver, routes, authenticate, isUnsealed: () => false, log: quietLog, clock: systemClock },
  );
  const { port } = await server.listen();
  host = `127.0.0.1:${port}`;
  base = `http://${host}`;
});

afterEach(async () => {
  await server.stop({ graceMs: 0 });
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

async function call(
  method: string,
  path: string,
  options: { readonly body?: unknown; readonly bearer?: string } = {},
): Promise<Answer> {
  const answer = await fetch(base + path, {
    method,
    headers: {
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...(options.bearer === undefined ? {} : { authorization: `bearer ${options.bearer}` }),
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
}

async function logInOverHttp(): Promise<{ access: string; refresh: string; userId: string }> {
  const created = await call("POST", "/api/v1/users", { body: ADA });
  expect(created.status).toBe(201);
  const { body } = await call("POST", "/api/v1/authenticate", {
    body: { email: ADA.email, password: PASSWORD, scope: "offline_access" },
  });
  const token = body["token"] as { access_token: string; refresh_token: string };
  return { access: token.access_token, refresh: token.refresh_token, userId: created.body["id"] as string };
}

describe("identity over HTTP", () => {
  it("serves an existing client unchanged: create, log in, list, detail, refresh", async () => {
    Object.assign(process.env, { IDENT_API_SCHEME: "http", IDENT_API_HOST: host });
    const created = await Ident.createUser(ADA);
    const answer = (await Ident.authenticate({
      email: ADA.email,
      password: PASSWORD,
      scope: "offline_access",
    })) as unknown as { user: { id: string }; token: { access_token: string; refresh_token: string } };
    expect(answer.user.id).toBe((created as { id?: string }).id);
    const client = identClientFactory(answer.token.access_token, "http", host);
    expect(await client.fetchUsers()).toMatchObject({ totalResultsCount: 1, results: [{ id: answer.user.id }] });
    expect(await client.fetchUserDetails(answer.user.id)).toMatchObject({
      id: answer.user.id,
      firstName: "Ada",
      metadata: { email_verified: false },
    });
    const refreshed = await identClientFactory(answer.token.refresh_token, "http", host).createToken({
      grant_type: "refresh_token",
    });
    expect(refreshed).toMatchObject({ expiresIn: 900 });
  });

  it("takes a refresh token nowhere but at the token route, and an access token nowhere as a refresh token", async () => {
    const { access, refresh, userId } = await logInOverHttp();
    expect((await call("GET", "/api/v1/users", { bearer: refresh })).status).toBe(401);
    expect((await call("GET", `/api/v1/users/${userId}`, { bearer: refresh })).status).toBe(401);
    expect(
      (await call("POST", "/api/v1/tokens", { body: { grant_type: "refresh_token" }, bearer: access })).status,
    ).toBe(401);
    expect((await call("POST", "/api/v1/tokens", { body: { grant_type: "refresh_token" } })).status).toBe(401);
    expect(
      (await call("POST", "/api/v1/tokens", { body: { grant_type: "refresh_token" }, bearer: refresh })).status,
    ).toBe(201);
  });

  it("answers for another user's id exactly as for an unknown id", async () => {
    const { access } = await logInOverHttp();
    const other = await call("POST", "/api/v1/users", { body: { ...ADA, email: "eve@example.com" } });
    const foreign = await call("GET", `/api/v1/users/${String(other.body["id"])}`, { bearer: access });
    const absent = await call("GET", `/api/v1/users/${crypto.randomUUID()}`, { bearer: access });
    expect([foreign.status, foreign.body]).toEqual([404, absent.body]);
    expect(absent.status).toBe(404);
  });

  it("names an unknown member, and rejects permissions in the request", async () => {
    const { status, body } = await call("POST", "/api/v1/users", { body: { ...ADA, permissions: 2 ** 29 } });
    expect([status, body["errors"]]).toEqual([
      403,
      [{ message: "not able to assert permissions", code: "permission_escalation", path: "permissions" }],
    ]);
    const unknown = await call("POST", "/api/v1/users", { body: { ...ADA, email_verified: true } });
    expect([unknown.status, (unknown.body["errors"] as { path: string }[])[0]!.path]).toEqual([422, "email_verified"]);
  });

  it("says how long to wait after too many failures", async () => {
    await call("POST", "/api/v1/users", { body: ADA });
    const wrong = { email: ADA.email, password: "wrong guess" };
    for (let i = 0; i < 5; i++) expect((await call("POST", "/api/v1/authenticate", { body: wrong })).status).toBe(401);
    const { status, headers } = await call("POST", "/api/v1/authenticate", { body: wrong });
    expect([status, headers.get("retry-after")]).toEqual([429, "1"]);
  });

  it("keeps tokens out of caches, and publishes both signing keys", async () => {
    await call("POST", "/api/v1/users", { body: ADA });
    expect(
      (await call("POST", "/api/v1/authenticate", { body: { email: ADA.email, password: PASSWORD } })).headers.get(
        "cache-control",
      ),
    ).toBe("no-store");
    const keys = await call("GET", "/.well-known/jwks.json");
    expect((keys.body["keys"] as unknown[]).length).toBe(2);
  });
});
