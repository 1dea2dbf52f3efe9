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
  components: Record<string, Record<string, unknown>>;
  "x-permissions": Record<string, number>;
}

const INFO = { title: "Proofwright", version: "1.2.3" };
const documentOf = (routes: Readonly<Record<string, RouteSpec>>): Document =>
  openApiDocument(INFO, Object.values(routes)) as unknown as Document;

const REFERENCE = /^#\/components\/(schemas|responses|headers)\/([A-Za-z0-9._-]+)$/;
/** Replaces the references to shared schemas and failures, but for those that every document has. */
function expanded(value: unknown, { components }: Document): unknown {
  if (Array.isArray(value)) return value.map((item) => expanded(item, { components } as Document));
  if (typeof value !== "object" || value === null) return value;
  const [, kind, name] = REFERENCE.exec((value as { $ref?: string }).$ref ?? "") ?? [];
  if (kind !== undefined && kind !== "headers" && name !== "Error") {
    const target = components[kind]![name!];
    expect(target, `${kind}/${name!}`).toBeDefined();
    return expanded(target, { components } as Document);
  }
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => [member, expanded(inner, { components } as Document)]),
  );
}
const whole = documentOf({ ...testRoutes, ...serviceRoutes });
const document = expanded(whole, whole) as Document;
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
    expect(names("/api/v1/things", "get")).toEqual([
      "query:name",
      "query:old",
      "query:tag",
      "query:meta",
      "query:page",
      "query:rpp",
    ]);
    expect(operation("/api/v1/things", "get").parameters.find(({ name }) => name === "meta")).toMatchObject({
      style: "deepObject",
      explode: true,
      schema: { type: "object" },
    });
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

  it("holds what repeats once, under names that last, and says the same as without references", () => {
    const all = documentOf(apiRoutes);
    const text = JSON.stringify(all);
    for (const kind of ["schemas", "responses"]) {
      for (const [name, part] of Object.entries(all.components[kind]!)) {
        const uses = text.split(`"#/components/${kind}/${name}"`).length - 1;
        const isTitled = typeof (part as { title?: string }).title === "string";
        expect(uses, `${kind}/${name}`).toBeGreaterThanOrEqual(isTitled || name === "Error" ? 1 : 2);
      }
    }
    expect(text.match(/"\$ref":"[^"]*"/g)!.length).toBeGreaterThan(1000);
    const open = expanded(all, all) as Document;
    for (const route of Object.values<RouteSpec>(apiRoutes)) {
      const found = open.paths[route.path.replace(/:([a-z_]+)/g, "{$1}")]![route.method.toLowerCase()]!;
      const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
      if (route.body !== undefined && !JSON.stringify(route.body).includes('"x-published-as"'))
        expect(found.requestBody!.content["application/json"]!.schema, route.id).toEqual(plain(route.body));
      for (const [status, { schema, bytes }] of Object.entries(route.responses)) {
        if (schema !== undefined && bytes === undefined)
          expect(found.responses[status]!.content!["application/json"]!.schema, route.id).toEqual(plain(schema));
      }
      for (const [status, failure] of Object.entries(found.responses))
        if (Number(status) >= 400 && route.responses[Number(status)] === undefined && !["416", "431"].includes(status))
          expect(failure, `${route.id} ${status}`).toHaveProperty("x-codes");
    }
  });

  it("keeps the names of components when a route is added before them", () => {
    const routes = Object.entries(apiRoutes);
    const names = (part: typeof routes): string[] =>
      Object.keys(documentOf(Object.fromEntries(part)).components["responses"]!);
    const all = new Set(names(routes));
    for (const name of names(routes.slice(20))) expect(all, name).toContain(name);
  });
});
