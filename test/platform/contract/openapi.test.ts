/** The OpenAPI document: passes a linter without an error, and says what the routes say. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { describe, expect, it } from "vitest";
import { apiRoutes } from "../../../src/api.js";
import { openApiDocument } from "../../../src/platform/contract/openapi.js";
import type { RouteSpec } from "../../../src/platform/contract/route.js";
import { serviceRoutes } from "../../../src/platform/service/routes.js";
import { testRoutes } from "../http/support.js";

interface Operation {
  operationId: string;
  security: unknown[];
  description: string;
  parameters: { name: string; in: string; required: boolean; schema: { default?: unknown } }[];
  requestBody?: { required: boolean; content: Record<string, { schema: unknown; example?: unknown }> };
  responses: Record<
    string,
    { description: string; headers?: Record<string, unknown>; content?: Record<string, { schema: unknown }> }
  >;
}
interface Document {
  openapi: string;
  info: { description: string };
  paths: Record<string, Record<string, Operation>>;
  "x-permissions": Record<string, number>;
}

const INFO = { title: "Proofwright", version: "1.2.3" };
const documentOf = (routes: Readonly<Record<string, RouteSpec>>): Document =>
  openApiDocument(INFO, Object.values(routes)) as unknown as Document;
const document = documentOf({ ...testRoutes, ...serviceRoutes });
const operation = (path: string, method: string): Operation => document.paths[path]![method]!;

describe("the OpenAPI document", () => {
  it.each([
    ["the test routes", { ...testRoutes, ...serviceRoutes }],
    ["all routes of the server", apiRoutes],
  ])("passes the linter's recommended rules for %s", async (_name, routes) => {
    const problems = await lintFromString({
      source: JSON.stringify(documentOf(routes)),
      absoluteRef: "openapi.json",
      config: await createConfig({ extends: ["recommended"] }),
    });
    expect(
      problems
        .filter(({ severity }) => severity === "error")
        .map(({ ruleId, message, location }) => `${ruleId}: ${message} at ${String(location[0]?.pointer)}`),
    ).toEqual([]);
  });

  it("names each route once by its id", () => {
    const ids = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    );
    expect(ids.sort()).toEqual(
      Object.values({ ...testRoutes, ...serviceRoutes })
        .map(({ id }) => id)
        .sort(),
    );
  });

  it("says who may call, and which permissions there are", () => {
    expect(operation("/api/v1/things", "post").security).toEqual([{ bearer: [] }]);
    expect(operation("/api/v1/things", "post").description).toContain("read, create");
    expect(operation("/api/v1/open", "post").security).toEqual([{}]);
    expect(document["x-permissions"].vault_use).toBe(65_536);
    expect(document.info.description).toContain("| vault_use | 16 | 65536 |");
  });

  it("has the parameters of path, query, pages and headers", () => {
    const names = (path: string, method: string): string[] =>
      operation(path, method).parameters.map(
        (parameter) => `${parameter.in}:${parameter.name}${parameter.required ? "*" : ""}`,
      );
    expect(names("/api/v1/things/{id}", "get")).toEqual(["path:id*"]);
    expect(names("/api/v1/things", "get")).toEqual(["query:name", "query:old", "query:tag", "query:page", "query:rpp"]);
    expect(names("/api/v1/things", "post")).toEqual(["header:Idempotency-Key"]);
  });

  it("has bodies with their examples, required or not", () => {
    expect(operation("/api/v1/things", "post").requestBody).toMatchObject({
      required: true,
      content: { "application/json": { example: { name: "spoon" } } },
    });
    expect(operation("/api/v1/echo", "post").requestBody?.required).toBe(false);
    expect(operation("/api/v1/empty", "post").requestBody).toBeUndefined();
  });

  it("has every answer with its headers", () => {
    expect(Object.keys(operation("/api/v1/things", "get").responses["200"]!.headers!)).toEqual([
      "X-Request-Id",
      "X-Total-Results-Count",
      "Link",
    ]);
    expect(Object.keys(operation("/api/v1/things", "post").responses["201"]!.headers!)).toContain("Location");
    expect(Object.keys(operation("/api/v1/file", "get").responses)).toEqual(
      expect.arrayContaining(["200", "206", "304", "416"]),
    );
    const sealed = operation("/api/v1/things/{id}", "delete").responses["503"]!;
    expect(Object.keys(sealed.headers!)).toContain("Retry-After");
    expect(sealed.description).toContain("`vault_sealed`");
    expect(Object.keys(operation("/api/v1/things", "post").responses)).toEqual(
      expect.arrayContaining(["400", "401", "403", "409", "413", "415", "422", "429", "500", "503", "507"]),
    );
    expect(Object.keys(operation("/api/v1/empty", "post").responses)).toEqual(
      expect.arrayContaining(["400", "409", "413", "415", "507"]),
    );
    for (const status of ["409", "413", "415", "507"])
      expect(operation("/api/v1/things", "get").responses).not.toHaveProperty(status);
  });

  it("has the members that a route adds to its failures", () => {
    expect(operation("/api/v1/echo", "post").responses["422"]!.content!["application/json"]!.schema).toMatchObject({
      allOf: [{ $ref: "#/components/schemas/Error" }, { required: ["proof"], properties: { proof: { const: null } } }],
    });
  });
});
