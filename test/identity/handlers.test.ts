/** What the identity routes declare and what their handlers answer are the same thing. */
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { beforeEach, describe, expect, it } from "vitest";
import { identityRoutes } from "../../src/identity/routes.js";
import type { HandlerRequest, RouteSpec } from "../../src/platform/contract/route.js";
import { ADDRESS, PASSWORD, openHarness, type Harness } from "./support.js";

const BODY = { email: "ada@example.com", first_name: "Ada", last_name: "Lovelace", password: PASSWORD };
let harness: Harness;

beforeEach(async () => {
  harness = await openHarness();
});

/** The part of a request that every handler gets. */
const BASE = {
  params: {},
  query: {},
  body: undefined,
  principal: undefined,
  bearer: undefined,
  signal: new AbortController().signal,
  requestId: "test",
  address: ADDRESS,
  preferWaitSec: 0,
};

function publicRequest<R extends RouteSpec>(_route: R, parts: Partial<HandlerRequest<R>>): HandlerRequest<R> {
  return { ...BASE, ...parts } as HandlerRequest<R>;
}

function expectDeclared(route: RouteSpec, reply: { readonly status: number; readonly body?: unknown }): void {
  const schema: TSchema | undefined = route.responses[reply.status]?.schema;
  expect(schema).toBeDefined();
  expect([...Compile(schema!).Errors(reply.body)]).toEqual([]);
}

describe("identity handlers", () => {
  it("answer what their routes declare, from signing up to the refreshed token", async () => {
    const { handlers, authenticate } = harness.identity;
    const created = await handlers.createUser(publicRequest(identityRoutes.createUser, { body: BODY }));
    expectDeclared(identityRoutes.createUser, created);
    expect(created).toMatchObject({ status: 201, headers: { location: `/api/v1/users/${created.body.id}` } });

    const loggedIn = await handlers.authenticate(
      publicRequest(identityRoutes.authenticate, {
        body: { email: BODY.email, password: PASSWORD, scope: "offline_access" },
      }),
    );
    expectDeclared(identityRoutes.authenticate, loggedIn);

    const bearer = loggedIn.body.token.refresh_token;
    const refreshed = await handlers.createToken(
      publicRequest(identityRoutes.createToken, { body: { grant_type: "refresh_token" }, bearer }),
    );
    expectDeclared(identityRoutes.createToken, refreshed);

    const principal = await authenticate(refreshed.body.access_token, "identity");
    const listed = await handlers.listUsers(
      publicRequest(identityRoutes.listUsers, { principal, query: { page: 1, rpp: 25 } }),
    );
    expectDeclared(identityRoutes.listUsers, listed);
    expect(listed.total).toBe(1);
    const got = await handlers.getUser(
      publicRequest(identityRoutes.getUser, { principal, params: { id: created.body.id } }),
    );
    expectDeclared(identityRoutes.getUser, got);
  });

  it("publish the keys as a set and as a bare array, without private parts", async () => {
    const jwks = await harness.identity.handlers.getJwks(publicRequest(identityRoutes.getJwks, {}));
    expectDeclared(identityRoutes.getJwks, jwks);
    const keys = await harness.identity.handlers.listPublishedKeys(publicRequest(identityRoutes.listPublishedKeys, {}));
    expectDeclared(identityRoutes.listPublishedKeys, keys);
    expect(keys.body.map(({ kid }) => kid)).toEqual(jwks.body.keys.map(({ kid }) => kid));
    expect(jwks.body.keys.flatMap((key) => Object.keys(key))).not.toContain("d");
  });
});

describe("identity routes", () => {
  it("describe what they do, without naming a document that clients do not have", () => {
    for (const route of Object.values(identityRoutes) as RouteSpec[])
      expect(JSON.stringify(route), route.id).not.toMatch(/\bSPEC\b|specification/i);
  });

  it("have examples that their own schemas take", () => {
    for (const route of Object.values(identityRoutes) as RouteSpec[]) {
      if (route.body === undefined || (route.bodyOptional === true && route.example === undefined)) continue;
      expect([...Compile(route.body).Errors(route.example?.body)], route.id).toEqual([]);
    }
  });
});
