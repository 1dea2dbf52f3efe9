/** The OpenAPI document: passes a linter without an error, and says what the routes say. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import Type, { type TSchema } from "typebox";
import { describe, expect, it } from "vitest";
import { apiRoutes } from "../../../src/api.js";
import { apiSchemas } from "../../../src/api-schemas.js";
import { openApiDocument } from "../../../src/platform/contract/openapi.js";
import { errorCodes } from "../../../src/platform/contract/openapi-failures.js";
import { readableForm } from "../../../src/platform/contract/readable-form.js";
import { defineRoute, type RouteSpec } from "../../../src/platform/contract/route.js";
import { serviceRoutes } from "../../../src/platform/service/routes.js";
import { testRoutes } from "../http/support.js";

interface Operation {
  operationId: string;
  security?: unknown[];
  description: string;
  parameters?: { name: string; in: string; required: boolean; schema: { default?: unknown } }[];
  requestBody?: { required: boolean; content: Record<string, { schema: unknown; example?: unknown }> };
  responses: Record<
    string,
    {
      description: string;
      headers?: Record<string, unknown>;
      content?: Record<string, { schema: unknown }>;
    }
  >;
}
interface Document {
  openapi: string;
  info: { description: string };
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
  security: unknown[];
  "x-permissions": Record<string, number>;
  "x-error-statuses": Record<string, number>;
}

const INFO = { title: "Proofwright", version: "1.2.3" };
const documentOf = (routes: Readonly<Record<string, RouteSpec>>): Document =>
  openApiDocument({ ...INFO, schemas: apiSchemas }, Object.values(routes)) as unknown as Document;

const REFERENCE = /^#\/components\/(schemas|parameters|responses|headers)\/([A-Za-z0-9._-]+)$/;
/** Replaces the references to shared schemas and failures, but for those that every document has. */
function expanded(value: unknown, { components }: Document): unknown {
  if (Array.isArray(value)) return value.map((item) => expanded(item, { components } as Document));
  if (typeof value !== "object" || value === null) return value;
  const { $ref, ...own } = value as { $ref?: string };
  const [, kind, name] = REFERENCE.exec($ref ?? "") ?? [];
  if (kind !== undefined && kind !== "headers" && `${kind}/${name!}` !== "schemas/Error") {
    const target = components[kind]![name!];
    expect(target, `${kind}/${name!}`).toBeDefined();
    return { ...(expanded(target, { components } as Document) as object), ...own };
  }
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => [member, expanded(inner, { components } as Document)]),
  );
}
/** The codes of each status as the description of `default` lists them: lines such as "409: `conflict`, `storage_full`". */
function codesByStatus(description: string): Readonly<Record<string, readonly string[]>> {
  const lines = [...description.matchAll(/^(\d{3}): (`[a-z_]+`(?:, `[a-z_]+`)*)$/gm)];
  return Object.fromEntries(
    lines.map(([, status = "", codes = ""]) => [status, codes.replaceAll("`", "").split(", ")]),
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
    expect(document.security).toEqual([{ bearer: [] }]);
    expect(operation("/api/v1/things", "post")).not.toHaveProperty("security");
    expect(operation("/api/v1/things", "post").description).toContain("read, create");
    expect(operation("/api/v1/open", "post").security).toEqual([{}]);
    expect(document["x-permissions"].vault_use).toBe(65_536);
    expect(document.info.description).toContain("| vault_use | 16 | 65536 |");
  });

  it("has the parameters of path, query, pages and headers", () => {
    const names = (path: string, method: string): string[] =>
      (operation(path, method).parameters ?? []).map(
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
    expect(operation("/api/v1/things", "get").parameters!.find(({ name }) => name === "meta")).toMatchObject({
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
      "X-Total-Results-Count",
      "Link",
    ]);
    expect(Object.keys(operation("/api/v1/things", "post").responses["201"]!.headers!)).toContain("Location");
    expect(Object.keys(operation("/api/v1/file", "get").responses)).toEqual(
      expect.arrayContaining(["200", "206", "304", "416"]),
    );
  });

  it.each([
    ["sealing", "/api/v1/seal", "post", false],
    ["deleting a connector", "/api/v1/connectors/{id}", "delete", false],
    ["asking for a proof", "/api/v1/provers/{id}/prove", "post", true],
  ])(
    "promises `Prefer` and a `Location` with a 202 where there is a record of the work: %s",
    (_of, path, method, is) => {
      const all = documentOf(apiRoutes);
      const { parameters = [], responses } = (expanded(all, all) as Document).paths[path]![method]!;
      expect(parameters.some(({ name }) => name === "Prefer")).toBe(is);
      expect(Object.keys(responses["202"]!.headers ?? {}).includes("Location")).toBe(is);
    },
  );

  it("has every code that an operation may answer, by its status", () => {
    expect(operation("/api/v1/things/{id}", "delete").responses.default!.description).toContain("`vault_sealed`");
    for (const route of Object.values<RouteSpec>({ ...testRoutes, ...serviceRoutes })) {
      const { responses } = operation(route.path.replace(/:([a-z_]+)/g, "{$1}"), route.method.toLowerCase());
      const common = codesByStatus(responses.default!.description);
      for (const code of errorCodes(route)) {
        const status = document["x-error-statuses"][code]!;
        const isDeclared = route.responses[status] !== undefined || route.oauthErrors?.[code] !== undefined;
        const listed = responses[status]?.description.includes(`\`${code}\``) ?? common[status]?.includes(code);
        expect(isDeclared || listed, `${route.id} ${code}`).toBe(true);
      }
      for (const [status, { description }] of Object.entries(responses))
        if (Number(status) >= 400 && route.responses[Number(status)] === undefined && status !== "416")
          for (const code of common[status] ?? []) expect(description, route.id).toContain(`\`${code}\``);
    }
  });

  it("has the members that a route adds to its failures", () => {
    expect(operation("/api/v1/echo", "post").responses.default!.content!["application/json"]!.schema).toMatchObject({
      allOf: [{ $ref: "#/components/schemas/Error" }, { required: ["proof"], properties: { proof: { const: null } } }],
    });
  });

  it("names what callers hold in their hands, and every body and answer", () => {
    const all = documentOf(apiRoutes);
    const { schemas } = all.components as { schemas: Record<string, unknown> };
    for (const name of ["Prover", "Key", "Transaction", "Vault", "Network", "CreateProver", "ProveResult"])
      expect(schemas, name).toHaveProperty(name);
    const inPlace = (schema: unknown): boolean => (schema as { properties?: object }).properties !== undefined;
    for (const item of Object.values(all.paths))
      for (const { operationId, requestBody, responses } of Object.values(item)) {
        const media = [requestBody, ...Object.values(responses)].map((part) => part?.content?.["application/json"]);
        for (const part of media) if (part !== undefined) expect(inPlace(part.schema), operationId).toBe(false);
      }
    const text = JSON.stringify(schemas);
    expect(text).not.toContain('{"const":');
    expect(text).not.toMatch(/"anyOf":\[\{"type":"(string|integer|boolean)"[^{}]*\},\{"type":"null"\}\]/);
  });

  it("names components and the items of lists so that generated code reads well", () => {
    const all = documentOf(apiRoutes);
    const names = Object.keys(all.components["schemas"]!);
    expect(names.filter((name) => /(Option|Answer|Item|Body)\d+/.test(name))).toEqual([]);
    const numbered = names.filter((name) => /\d$/.test(name) && names.includes(name.replace(/\d+$/, "")));
    expect(numbered).toEqual([]);
    const inPlace = Object.values(all.paths)
      .flatMap((item) => Object.values(item))
      .filter(({ responses }) => {
        const schema = responses["200"]?.content?.["application/json"]?.schema as { items?: object } | undefined;
        return schema?.items !== undefined && !("$ref" in schema.items);
      });
    expect(inPlace.map(({ operationId }) => operationId)).toEqual([]);
  });

  it("refuses two schemas of one name, and names those in unions, lists and beside null by themselves", () => {
    const member = (text: string) => Type.Object({ a: Type.String({ description: text.repeat(200) }) });
    const route = (id: string, answer: TSchema) =>
      defineRoute({
        id,
        area: "service",
        method: "GET",
        path: `/${id}`,
        summary: id,
        auth: "public",
        responses: { 200: { description: id, schema: answer } },
      });
    const many = (part: TSchema) => Type.Object({ part });
    const framed = Type.Object({
      either: Type.Union([member("x"), member("y")]),
      maybe: Type.Union([member("z"), Type.Null()]),
      list: Type.Array(member("w")),
    });
    const routes = [route("one", framed), route("two", Type.Object({ ...framed.properties, more: Type.String() }))];
    const { components } = openApiDocument(INFO, routes) as unknown as Document;
    expect(Object.keys(components["schemas"]!).sort()).toEqual([
      "Error",
      "OneAnswer",
      "OneAnswerEither",
      "OneAnswerListItem",
      "OneAnswerMaybe",
      "TwoAnswer",
    ]);
    const titled = (text: string) => ({ ...member(text), title: "Same" });
    const clash = [route("one", many(titled("x"))), route("two", many(titled("y")))];
    expect(() => openApiDocument(INFO, clash)).toThrow(/component Same\. Name one of them in src\/api-schemas\.ts/);
  });

  it("holds what repeats once, under names that last, and says the same as without references", () => {
    const all = documentOf(apiRoutes);
    const text = JSON.stringify(all);
    for (const kind of ["schemas", "parameters", "responses"])
      for (const name of Object.keys(all.components[kind]!))
        expect(text.split(`"#/components/${kind}/${name}"`).length, `${kind}/${name}`).toBeGreaterThan(1);
    const open = expanded(all, all) as Document;
    for (const route of Object.values<RouteSpec>(apiRoutes)) {
      const found = open.paths[route.path.replace(/:([a-z_]+)/g, "{$1}")]![route.method.toLowerCase()]!;
      const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
      if (route.body !== undefined)
        expect(found.requestBody!.content["application/json"]!.schema, route.id).toEqual(
          plain(readableForm(route.body)),
        );
      for (const [status, { schema, bytes }] of Object.entries(route.responses)) {
        if (schema !== undefined && bytes === undefined)
          expect(found.responses[status]!.content!["application/json"]!.schema, route.id).toEqual(
            plain(readableForm(schema)),
          );
      }
    }
  });

  it("says what many operations answer in one place", () => {
    const all = documentOf(apiRoutes);
    const uses = new Map<string, number>();
    for (const { responses } of Object.values(all.paths).flatMap((item) => Object.values(item)))
      for (const answer of Object.values(responses)) {
        const text = JSON.stringify(answer);
        if (!/^\{"\$ref":"[^"]+"\}$/.test(text)) uses.set(text, (uses.get(text) ?? 0) + 1);
      }
    for (const [text, times] of uses)
      if (text.includes("/responses/") || text.length > 400) expect(times, text).toBeLessThan(10);
    expect(all.components.responses).toHaveProperty("NotFound.description", "`not_found`");
  });

  it("takes at most two kilobytes an operation", () => {
    const all = documentOf(apiRoutes);
    const operations = Object.values(all.paths).flatMap((item) => Object.values(item)).length;
    expect(JSON.stringify(all).length / operations).toBeLessThan(2000);
  });

  it("keeps the names of components when a route is added before them", () => {
    const routes = Object.entries(apiRoutes);
    const names = (part: typeof routes): string[] =>
      Object.keys(documentOf(Object.fromEntries(part)).components["responses"]!);
    const all = new Set(names(routes));
    for (const name of names(routes.slice(20))) expect(all, name).toContain(name);
  });
});
