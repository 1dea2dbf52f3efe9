/** The cache of routes: it stores the checked parameters of paths with ids of records, and of no others. */
import Type from "typebox";
import { beforeEach, describe, expect, it } from "vitest";
import type { HttpMethod, RouteSpec } from "../../../src/platform/contract/route.js";
import { closed, Uuid } from "../../../src/platform/contract/schemas.js";
import { compileRoute } from "../../../src/platform/contract/validate.js";
import type { CompiledRoute } from "../../../src/platform/http/compiled-route.js";
import { RouteCache } from "../../../src/platform/http/route-cache.js";
import { Router } from "../../../src/platform/http/router.js";

const PATHS_MAX = 3;
const ID = "0d1f7c62-3f0b-4b3e-9d4e-6a2b8d9c0e1f";
const idOf = (index: number): string => `0d1f7c62-3f0b-4b3e-9d4e-${String(index).padStart(12, "0")}`;

const router = new Router<CompiledRoute>();
function add(method: HttpMethod, path: string, params?: RouteSpec["params"]): void {
  const route = { method, path, ...(params === undefined ? {} : { params }) } as RouteSpec;
  router.add(method, path, { route, validator: compileRoute(route) } as CompiledRoute);
}
add("GET", "/keys/:id", closed({ id: Uuid }));
add("DELETE", "/keys/:id", closed({ id: Uuid }));
add("GET", "/letters/:token", closed({ token: Type.String({ maxLength: 64 }) }));
add("GET", "/either/:id", closed({ id: Type.Union([Uuid, Type.String({ maxLength: 64 })]) }));

let routes: RouteCache;
beforeEach(() => {
  routes = new RouteCache({ pathsMax: PATHS_MAX }, { router });
});

function visit(method: string, url: string): unknown {
  const match = routes.find(method, url);
  return [match.compiled.route.method, match.path, routes.paramsOf(match, method, url)];
}

describe("paths that are kept", () => {
  it("gives the same for a path that comes again, as it was sent", () => {
    for (const url of [`/keys/${ID}`, `/keys/${ID.toUpperCase()}`, `/keys/${ID}/`]) {
      const first = visit("GET", url);
      expect(first).toEqual(["GET", url.endsWith("/") ? `/keys/${ID}` : url, { id: ID }]);
      expect(visit("GET", url)).toEqual(first);
      expect(routes.find("GET", url)).toBe(routes.find("GET", url));
    }
  });

  it("keeps the methods of a path apart", () => {
    for (let round = 0; round < 2; round += 1) {
      expect(visit("GET", `/keys/${ID}`)).toEqual(["GET", `/keys/${ID}`, { id: ID }]);
      expect(visit("HEAD", `/keys/${ID}`)).toEqual(["GET", `/keys/${ID}`, { id: ID }]);
      expect(visit("DELETE", `/keys/${ID}`)).toEqual(["DELETE", `/keys/${ID}`, { id: ID }]);
      expect(() => visit("PUT", `/keys/${ID}`)).toThrow("this path does not take this method");
    }
    expect(routes.size).toBe(3);
  });

  it("lets nobody change what others get", () => {
    visit("GET", `/keys/${ID}`);
    expect(Object.isFrozen(routes.find("GET", `/keys/${ID}`).params)).toBe(true);
  });

  it("keeps no path before its parameters were checked, and none that fails", () => {
    routes.find("GET", `/keys/${ID}`);
    for (let round = 0; round < 2; round += 1)
      expect(() => visit("GET", "/keys/seven")).toThrow(expect.objectContaining({ code: "malformed_path" }));
    expect(() => visit("GET", "/nothing")).toThrow(expect.objectContaining({ code: "not_found" }));
    expect(() => visit("GET", `/keys/../keys/${ID}`)).toThrow(expect.objectContaining({ code: "malformed_path" }));
    expect(routes.size).toBe(0);
  });

  it("keeps no path that may hold a token", () => {
    visit("GET", "/letters/secret");
    visit("GET", `/letters/${ID}`);
    visit("GET", "/either/secret");
    expect(routes.size).toBe(0);
    visit("GET", `/either/${ID}`);
    expect(routes.size).toBe(1);
  });

  it("evicts the path that was not asked for the longest", () => {
    for (let index = 0; index < PATHS_MAX; index += 1) visit("GET", `/keys/${idOf(index)}`);
    const first = routes.find("GET", `/keys/${idOf(0)}`);
    visit("GET", `/keys/${idOf(PATHS_MAX)}`);
    expect(routes.find("GET", `/keys/${idOf(0)}`)).toBe(first);
    expect(routes.find("GET", `/keys/${idOf(1)}`).params).toBeUndefined();
  });

  it("keeps no more than its limit", () => {
    for (let index = 0; index < 3 * PATHS_MAX; index += 1) {
      expect(visit("GET", `/keys/${idOf(index)}`)).toEqual(["GET", `/keys/${idOf(index)}`, { id: idOf(index) }]);
      expect(routes.size).toBeLessThanOrEqual(PATHS_MAX);
    }
    visit("GET", `/keys/${idOf(3 * PATHS_MAX - 1)}`);
    expect(routes.size).toBe(PATHS_MAX);
  });
});
