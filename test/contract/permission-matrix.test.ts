/**
 * Every route of the interface x {no token, forged token, a missing bit, the wrong kind of subject, the wrong tenant,
 * own parent with a foreign child, right}, over HTTP against the real server. Generated from the declarations: a route
 * whose parameters are not known here fails the test, so that none is left out.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROUTE_LIST } from "../../src/api.js";
import { PERMISSIONS, holdsAll, permissionBits } from "../../src/platform/auth/permissions.js";
import type { RouteSpec } from "../../src/platform/contract/route.js";
import { ceremonyRoutes } from "../../src/prover/ceremonies/ceremony-routes.js";
import { startAnvil, type Anvil } from "../support/anvil.js";
import { textOf } from "../support/response.js";
import { startServer, type Api, type TestServer } from "../support/server.js";
import {
  bodyOf,
  idOf,
  idParameters,
  inWorkableOrder,
  newTenant,
  PASSWORD,
  pathOf,
  type Tenant,
} from "../support/tenants.js";

interface Answer {
  readonly total: string | null;
  readonly isList: boolean;
  readonly status: number;
  readonly code: string | undefined;
  readonly message: string | undefined;
}

let server: TestServer;
let anvil: Anvil;
let ada: Tenant;
let eve: Tenant;
let root: { readonly token: string; readonly api: Api };
/** Personal access tokens by owner and bits: one per combination, not one per route. */
const cutTokens = new Map<string, Promise<string>>();

beforeAll(async () => {
  anvil = await startAnvil();
  server = await startServer();
  root = await administrator();
  ada = await newTenant({ server, anvil }, "ada@example.com");
  eve = await newTenant({ server, anvil }, "eve@example.com");
});

afterAll(async () => {
  await server.dispose();
  await anvil.stop("SIGKILL");
});

async function administrator(): Promise<{ token: string; api: Api }> {
  const bootstrap = readFileSync(join(server.dataDir, "bootstrap-token"), "utf8").trim();
  const credentials = { email: "root@example.com", password: PASSWORD };
  await server.as(bootstrap).createUser({ body: { ...credentials, first_name: "R", last_name: "T" } });
  const { body } = await server.anonymous.authenticate({ body: credentials });
  return { token: body.token.access_token, api: server.as(body.token.access_token) };
}

/** The token of a tenant that is of a kind that the route takes. */
function tokenFor(tenant: Tenant, route: Guarded): string {
  return isForUsers(route) ? tenant.token : tenant.applicationToken;
}

function isForUsers({ auth }: Guarded): boolean {
  return auth.subjects?.includes("user") !== false;
}

async function call(route: RouteSpec, path: string, token: string | undefined, body: unknown): Promise<Answer> {
  const response = await fetch(server.url + path + queryOf(route), {
    method: route.method,
    redirect: "manual",
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await textOf(response);
  const parsed =
    response.status >= 400 && text.startsWith("{")
      ? (JSON.parse(text) as { message?: string; errors?: readonly { code: string }[] })
      : {};
  const total = response.headers.get("x-total-results-count");
  return {
    status: response.status,
    total,
    isList: text.startsWith("["),
    code: parsed.errors?.[0]?.code,
    message: parsed.message,
  };
}

function queryOf(route: RouteSpec): string {
  return route.id === "authorize"
    ? `?response_type=code&client_id=${ada.ids["applications:id"] ?? ""}&redirect_uri=https://app.example.com/cb&code_challenge=${"a".repeat(43)}&code_challenge_method=S256`
    : "";
}

async function cutToken(owner: { readonly token: string; readonly api: Api }, permissions: number): Promise<string> {
  const name = `${owner.token.slice(-8)} ${String(permissions)}`;
  const made =
    cutTokens.get(name) ??
    owner.api.createPersonalToken({ body: { name: "cut", permissions } }).then(({ body }) => body.access_token);
  cutTokens.set(name, made);
  return made;
}

type Guarded = RouteSpec & { readonly auth: Exclude<RouteSpec["auth"], "public"> };
const GUARDED = ROUTE_LIST.filter((route): route is Guarded => route.auth !== "public");
const PUBLIC = ROUTE_LIST.filter((route) => route.auth === "public");
const NESTED = GUARDED.filter((route) => idParameters(route).length > 1);
const named = (routes: readonly RouteSpec[]): [string, RouteSpec][] =>
  routes.map((route) => [`${route.method} ${route.path}`, route]);

/** Every list says how many results it has, whether it has pages or not. */
function expectCount(route: RouteSpec, { status, isList, total }: Answer): void {
  const declared =
    route.list === true || (route.responses[200]?.schema as { type?: string } | undefined)?.type === "array";
  if (status !== 200) return;
  if (isList) expect(declared, `${route.id}: is declared as a list`).toBe(true);
  if (declared) expect(total, `${route.id}: X-Total-Results-Count`).toMatch(/^[0-9]+$/);
}

describe("a guarded route", () => {
  it.each(named(GUARDED))(
    "%s: 401 without a token, with a forged one, and with a refresh token's or client's text",
    async (_name, route) => {
      const path = pathOf(route, (name) => idOf(route, name, ada.ids));
      const [header, payload] = ada.token.split(".");
      for (const token of [
        undefined,
        `${header ?? ""}.${payload ?? ""}.${"A".repeat(86)}`,
        "prt_none",
        "pcs_none",
        "ppt_none",
      ]) {
        expect(await call(route, path, token, bodyOf({ anvil }, route, ada.ids))).toMatchObject({
          status: 401,
          code: "unauthorized",
        });
      }
    },
  );

  it.each(named(GUARDED))("%s: 403 when any one bit that it needs is missing", async (_name, route) => {
    const { permissions } = (route as Guarded).auth;
    const path = pathOf(route, (name) => idOf(route, name, ada.ids));
    for (const permission of permissions) {
      const holder = holdsAll(ada.permissions, PERMISSIONS[permission]) ? ada : root;
      const token = await cutToken(
        holder,
        (holder === ada ? ada.permissions : permissionBits(permissions)) & ~PERMISSIONS[permission],
      );
      const answer = await call(route, path, token, bodyOf({ anvil }, route, ada.ids));
      expect(answer, permission).toMatchObject({ status: 403, code: "forbidden" });
      expect(answer.message).toContain(permission);
    }
  });

  it.each(named(GUARDED.filter((route) => route.auth.subjects?.includes("application") === false)))(
    "%s: 403 for a token of an application",
    async (_name, route) => {
      const path = pathOf(route, (name) => idOf(route, name, ada.ids));
      expect(await call(route, path, ada.applicationToken, bodyOf({ anvil }, route, ada.ids))).toMatchObject({
        status: 403,
        code: "forbidden",
      });
    },
  );

  it.each(named(GUARDED.filter((route) => !isForUsers(route))))(
    "%s: 403 for a token of a user",
    async (_name, route) => {
      const path = pathOf(route, (name) => idOf(route, name, ada.ids));
      expect(await call(route, path, ada.token, bodyOf({ anvil }, route, ada.ids))).toMatchObject({
        status: 403,
        code: "forbidden",
      });
    },
  );

  it.each(named(GUARDED.filter((route) => idParameters(route).length > 0)))(
    "%s: 404 for another tenant, in the words for an id that is nobody's",
    async (_name, route) => {
      const body = bodyOf({ anvil }, route, eve.ids);
      const absent = await call(
        route,
        pathOf(route, (name) => (idParameters(route).includes(name) ? randomUUID() : idOf(route, name, ada.ids))),
        tokenFor(eve, route as Guarded),
        body,
      );
      const applicationOfEve = await call(
        route,
        pathOf(route, (name) => idOf(route, name, ada.ids)),
        eve.applicationToken,
        body,
      );
      const foreign = await call(
        route,
        pathOf(route, (name) => idOf(route, name, ada.ids)),
        tokenFor(eve, route as Guarded),
        body,
      );
      expect(foreign).toEqual(absent);
      expect(foreign).toMatchObject({ status: 404, code: "not_found" });
      expect(applicationOfEve.status).toBe(404);
    },
  );

  it.each(named(NESTED))("%s: 404 for a foreign child under an own parent", async (_name, route) => {
    const [parent] = idParameters(route);
    for (const child of idParameters(route).slice(1)) {
      const path = pathOf(route, (name) => idOf(route, name, name === child && name !== parent ? ada.ids : eve.ids));
      expect(
        await call(route, path, tokenFor(eve, route as Guarded), bodyOf({ anvil }, route, eve.ids)),
        child,
      ).toMatchObject({ status: 404, code: "not_found" });
    }
  });

  it("serves the right caller of each route", async () => {
    for (const route of inWorkableOrder(GUARDED)) {
      const caller =
        route.id === "deleteUser"
          ? (await server.anonymous.authenticate({ body: { email: "ada@example.com", password: PASSWORD } })).body.token
              .access_token
          : route.auth.permissions.every((permission) => holdsAll(ada.permissions, PERMISSIONS[permission]))
            ? tokenFor(ada, route)
            : root.token;
      const answer = await call(
        route,
        pathOf(route, (name) => idOf(route, name, ada.ids)),
        caller,
        bodyOf({ anvil }, route, ada.ids),
      );
      // The server of the test has no folder of published files, without which there is no ceremony.
      const isMissing =
        ["getReferenceString", "deleteReferenceString"].includes(route.id) || route.id in ceremonyRoutes;
      const missing = isMissing ? [] : ["not_found"];
      expect(
        ["unauthorized", "forbidden", "permission_escalation", ...missing],
        `${route.method} ${route.path}: ${String(answer.status)} ${answer.message ?? ""}`,
      ).not.toContain(answer.code);
      expect(answer.status, route.id).toBeLessThan(500);
      expectCount(route, answer);
    }
  });
});

describe("a public route", () => {
  it.each(named(PUBLIC))("%s needs no bearer token", async (_name, route) => {
    const answer = await call(
      route,
      pathOf(route, (name) => idOf(route, name, eve.ids)),
      undefined,
      bodyOf({ anvil }, route, eve.ids),
    );
    expect(answer.code).not.toBe("unauthorized");
    expect(answer.status).toBeLessThan(500);
    expectCount(route, answer);
  });
});

describe("the matrix", () => {
  it("covers every route, and every route declares what it needs", () => {
    expect(GUARDED.length + PUBLIC.length).toBe(ROUTE_LIST.length);
    // Every token may ask for its own subject; nothing else is open to a token without permissions.
    expect(GUARDED.filter((route) => route.auth.permissions.length === 0).map(({ id }) => id)).toEqual([
      "getUserInfo",
      "postUserInfo",
    ]);
  });
});
