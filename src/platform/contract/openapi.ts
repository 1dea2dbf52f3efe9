/** Derives the OpenAPI 3.1 document from the route definitions. Nothing about a single route is written here. */
import type { TObject, TSchema } from "typebox";
import { PERMISSIONS } from "../auth/permissions.js";
import { ERROR_STATUS } from "../errors.js";
import { pascalCase, SharedParts, SharedSchemas, type Json, type JsonObject } from "./openapi-components.js";
import { failures, type PlaceFailure } from "./openapi-failures.js";
import { HEADERS, headers } from "./openapi-headers.js";
import { readableForm } from "./readable-form.js";
import { answersOf, type Area, type FilesBody, type ResponseSpec, type RouteSpec } from "./route.js";
import { ErrorBody } from "./schemas.js";
import { queryObject } from "./validate.js";

/** `info` of the document, and the names of its components. */
export interface OpenApiInfo {
  readonly title: string;
  readonly version: string;
  /** Schemas by the names under which generated code knows them. */
  readonly schemas?: Readonly<Record<string, TSchema>>;
}

const JSON_MEDIA = "application/json";
const ABOUT =
  "Zero-knowledge prover registry, key vault, chain and identity.\n\nEvery answer has `X-Request-Id`. A failure's `errors[].code` is stable: the descriptions of an operation's failures list its codes, and `x-error-statuses` has the status of each.";
const AREA_TEXT: Readonly<Record<Area, string>> = {
  prover: "Register provers, make proofs, verify proofs.",
  vault: "Keys and secrets that never leave the server unprotected.",
  chain: "Contracts, networks and connectors.",
  identity: "Users, applications and tokens.",
  service: "State and description of the server itself.",
};
/**
 * Returns the document as plain JSON. Each route is an operation under its path and method; failures are listed by
 * status with their codes in the description, permissions as `x-permissions`.
 * @example
 * openApiDocument({ title: "Notes", version: "1.0.0" }, Object.values(noteRoutes));
 */
export function openApiDocument(info: OpenApiInfo, routes: readonly RouteSpec[]): JsonObject {
  const { paths, ...components } = placedPaths(info, routes);
  const areas = [...new Set(routes.map(({ area }) => area))];
  return {
    openapi: "3.1.0",
    info: {
      title: info.title,
      version: info.version,
      description: [ABOUT, permissionTable()].join("\n\n"),
      license: { name: "GPL-3.0-or-later", identifier: "GPL-3.0-or-later" },
    },
    servers: [{ url: "/", description: "The server that sent this document" }],
    security: [{ bearer: [] }],
    tags: areas.map((area) => ({ name: area, description: AREA_TEXT[area] })),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: "Access token of POST /api/v1/authenticate",
        },
      },
      headers: HEADERS,
      ...components,
    },
    "x-permissions": { ...PERMISSIONS },
    "x-error-statuses": { ...ERROR_STATUS },
  };
}

/** Returns the operations by path and method, and the components to which they refer. */
function placedPaths(info: OpenApiInfo, routes: readonly RouteSpec[]): Record<"paths" | SharedKind, JsonObject> {
  const named = Object.entries(info.schemas ?? {}).map(([name, schema]) => [name, readableForm(schema)] as const);
  const schemas = new SharedSchemas(Object.fromEntries(named));
  const parts = { parameters: new SharedParts("parameters"), responses: new SharedParts("responses") };
  const count: Placing["schema"] = (schema) => {
    const counted = readableForm(schema);
    schemas.count(counted);
    return counted;
  };
  const countPart = (kind: keyof typeof parts) => (part: JsonObject, name: string) => {
    parts[kind].count(part, name);
    return part;
  };
  const counting = { schema: count, parameter: countPart("parameters"), failure: countPart("responses") };
  for (const route of routes) operation(route, counting);
  const placing: Placing = {
    schema: (schema, name) => schemas.placeWhole(readableForm(schema), name),
    parameter: (parameter, name) => parts.parameters.place(parameter, name),
    failure: (failure, name, short) => parts.responses.place(failure, name, short),
  };
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:([a-z_]+)/g, "{$1}");
    (paths[path] ??= {})[route.method.toLowerCase()] = operation(route, placing);
  }
  return {
    paths,
    schemas: { Error: readableForm(ErrorBody), ...sorted(schemas.components) },
    parameters: sorted(parts.parameters.components),
    responses: sorted(parts.responses.components),
  };
}

type SharedKind = "schemas" | "parameters" | "responses";

function permissionTable(): string {
  const rows = Object.entries(PERMISSIONS).map(
    ([name, bit]) => `| ${name} | ${String(Math.log2(bit))} | ${String(bit)} |`,
  );
  return [
    "A token carries a bit-set of permissions. A route needs all of the permissions that it names.",
    "",
    "| Permission | Bit | Value |",
    "|---|---|---|",
    ...rows,
  ].join("\n");
}

/** How the parts of an operation become parts of the document: counted first, then placed or referred to. */
interface Placing {
  /** @param name PascalCase; names the schema where it becomes a component */
  readonly schema: (schema: TSchema, name: string) => JsonObject;
  readonly parameter: (parameter: JsonObject, name: string) => JsonObject;
  /** Also of other answers that are the same for many operations. */
  readonly failure: PlaceFailure;
}

function operation(route: RouteSpec, placing: Placing): JsonObject {
  const { auth } = route;
  const needs =
    auth === "public"
      ? "Needs no token."
      : `Needs the permissions: ${auth.permissions.join(", ")}.${auth.subjects === undefined ? "" : ` Tokens of: ${auth.subjects.join(", ")}.`}`;
  return {
    operationId: route.id,
    tags: [route.area],
    summary: route.summary,
    description: [route.description, needs].filter((part) => part !== undefined).join("\n\n"),
    ...(auth === "public" ? { security: [{}] } : { "x-permissions": auth.permissions }),
    ...operationParameters(route, placing),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route, route.body, placing) }),
    ...(route.streamedBody === true ? { requestBody: STREAMED_BODY } : {}),
    responses: { ...successes(route, placing), ...failures(route, placing.failure) },
  };
}

function operationParameters(route: RouteSpec, placing: Placing): JsonObject {
  const parameters = [
    ...objectParameters(route.params, "path"),
    ...objectParameters(queryObject(route), "query"),
    ...headerParameters(route),
  ];
  if (parameters.length === 0) return {};
  return {
    parameters: parameters.map((parameter) => placing.parameter(parameter, pascalCase(parameter.name as string))),
  };
}

function objectParameters(schema: TObject | undefined, place: "path" | "query"): JsonObject[] {
  const required = new Set((schema as { required?: readonly string[] } | undefined)?.required ?? []);
  return Object.entries(schema?.properties ?? {}).map(([name, member]) => {
    // The description stands at the parameter alone.
    const { description, ...schema } = readableForm(member);
    const { default: byDefault, type } = schema;
    return {
      name,
      in: place,
      // `name[key]=value`
      ...(type === "object" ? { style: "deepObject", explode: true } : {}),
      required: place === "path" || (required.has(name) && byDefault === undefined),
      ...(description === undefined ? {} : { description }),
      schema,
    };
  });
}

const STREAMED_BODY: JsonObject = {
  description: "The file, or the part of it that Content-Range names; of any media type, with a Content-Length",
  required: true,
  content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
};

function headerParameters(route: RouteSpec): JsonObject[] {
  const text = { type: "string" };
  return [
    ...(route.streamedBody === true
      ? [
          {
            name: "Content-Range",
            in: "header",
            required: false,
            description: "`bytes <first>-<last>/<total>`: the body is this part of the file; parts follow each other",
            schema: text,
          },
          {
            name: "Repr-Digest",
            in: "header",
            required: false,
            description: "`sha-256=:<base64>:` of the whole file (RFC 9530); another content is refused",
            schema: text,
          },
        ]
      : []),
    ...(route.creates === true
      ? [
          {
            name: "Idempotency-Key",
            in: "header",
            required: false,
            description: "A repeat with the same key and request within 24 h gets the first answer again",
            schema: { ...text, maxLength: 255 },
          },
        ]
      : []),
    ...((route.waits ?? answersOf(route)[202] !== undefined)
      ? [{ name: "Prefer", in: "header", required: false, description: preferText(route), schema: text }]
      : []),
  ];
}

function preferText({ respondsAsync }: RouteSpec): string {
  const wait = "`wait=N`: wait up to N seconds for the end of the work";
  return respondsAsync === undefined ? wait : `\`respond-async\`: answer 202 and go on as a job; with it, ${wait}`;
}

function requestBody(route: RouteSpec, body: TSchema, placing: Placing): JsonObject {
  const examples = Object.entries(route.examples ?? {}).map(
    ([name, { summary, body: value }]) => [name, { summary, value: value as Json }] as const,
  );
  const example = examples.length === 0 ? (route.example?.body as Json) : undefined;
  const schema = placing.schema(body, `${pascalCase(route.id)}Body`);
  const media = {
    schema,
    ...(example === undefined ? {} : { example }),
    ...(examples.length === 0 ? {} : { examples: Object.fromEntries(examples) }),
  };
  const description = bodyDescription(route);
  return {
    ...(description === "" ? {} : { description }),
    required: route.bodyOptional !== true,
    content: {
      [JSON_MEDIA]: media,
      ...(route.form === true ? { "application/x-www-form-urlencoded": media } : {}),
      ...(route.filesBody === undefined ? {} : filesMedia(route.filesBody, schema)),
    },
  };
}

function filesMedia({ member, part, extension }: FilesBody, body: Json): JsonObject {
  const file = { type: "string", format: "binary" };
  return {
    "multipart/form-data": {
      schema: {
        type: "object",
        description: `The members of the body as fields (texts as they are, others as JSON) or together as JSON in \`${part}\`; files as parts of any name with their relative path as filename, or a .tar.gz`,
        properties: {
          [part]: body,
          [member]: { type: "array", items: file, description: `${extension} files, or a .tar.gz of them` },
        },
      },
      encoding: { [part]: { contentType: JSON_MEDIA } },
    },
    "application/gzip": {
      schema: {
        ...file,
        description: `A .tar.gz, whose ${extension} files become \`${member}\`; the other members are in the query`,
      },
    },
  };
}

function bodyDescription({ anyCase, sendsBack }: RouteSpec): string {
  return [
    ...(anyCase === true || sendsBack !== undefined ? ["Names may also be in camel case, or with capitals."] : []),
    ...(sendsBack === undefined
      ? []
      : ["Members of the record that cannot change may be sent back; ids, owners and types only as they are."]),
  ].join(" ");
}

function successes(route: RouteSpec, placing: Placing): JsonObject {
  const answers: Record<string, Json> = {};
  for (const [status, spec] of Object.entries(answersOf(route))) {
    answers[status] = {
      description: spec.description,
      ...ifAny("headers", successHeaders(route, Number(status), spec)),
      ...successContent(spec, {
        schema: spec.schema && placing.schema(spec.schema, answerName(route, status)),
        example: Object.keys(answers).length === 0 ? (route.example?.answer as Json | undefined) : undefined,
      }),
    };
    if (spec.file !== undefined) Object.assign(answers, fileAnswers(spec, placing));
    if (spec.fixed === true) answers["304"] = placing.failure(UNCHANGED, "Unchanged");
  }
  return answers;
}

/** Such as `DeriveKeyAnswer`; with the status where the answers of several have bodies. */
function answerName(route: RouteSpec, status: string): string {
  const bodies = Object.values(answersOf(route)).filter(({ schema }) => schema !== undefined);
  return `${pascalCase(route.id)}Answer${bodies.length > 1 ? status : ""}`;
}

/** @param body its schema, or a reference to it, and an example */
function successContent(
  spec: ResponseSpec,
  body: { readonly schema?: JsonObject | undefined; readonly example?: Json | undefined } = {},
): JsonObject {
  const { schema, example } = body;
  if (spec.file !== undefined) return { content: { [spec.file]: { schema: { type: "string", format: "binary" } } } };
  if (spec.stream !== undefined)
    return {
      content: {
        [spec.stream]: {
          schema: {
            type: "string",
            description: "Server-sent events; over WebSocket the same messages as text frames",
          },
        },
      },
    };
  if (spec.bytes !== undefined)
    return {
      content: {
        [spec.bytes.split(";")[0] ?? spec.bytes]: {
          schema: schema ?? (spec.bytes.startsWith(JSON_MEDIA) ? { type: "object" } : { type: "string" }),
        },
      },
    };
  if (schema === undefined) return {};
  return { content: { [JSON_MEDIA]: { schema, ...(example === undefined ? {} : { example }) } } };
}

/** Without X-Request-Id, of which the document says once that every answer has it. */
function successHeaders(route: RouteSpec, status: number, spec: ResponseSpec): JsonObject {
  return headers(
    ...(isList(route, spec) ? (["X-Total-Results-Count"] as const) : []),
    ...(route.list === true ? (["Link"] as const) : []),
    ...(status === 201 || (status === 202 && route.waits !== false) ? (["Location"] as const) : []),
    ...(spec.file === undefined && spec.fixed === undefined ? [] : (["ETag"] as const)),
    ...(status === 503 ? (["Retry-After"] as const) : []),
  );
}

/** True for an answer whose results are counted: a page of a list, or a list that has no pages. */
function isList(route: RouteSpec, { schema }: ResponseSpec): boolean {
  return route.list === true || (route.method === "GET" && (schema as { type?: string } | undefined)?.type === "array");
}

const UNCHANGED: JsonObject = { description: "Unchanged: the ETag is the one in If-None-Match" };

const NO_SUCH_PART: JsonObject = { description: "No byte of the file is in the range" };

function fileAnswers(spec: ResponseSpec, placing: Placing): JsonObject {
  return {
    "206": { description: "The part requested by Range", ...successContent(spec) },
    "304": placing.failure(UNCHANGED, "Unchanged"),
    "416": placing.failure(NO_SUCH_PART, "NoSuchPart"),
  };
}

/** By name, so that a component stays in its place when an operation before it changes. */
function sorted(components: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function ifAny(name: string, members: JsonObject): JsonObject {
  return Object.keys(members).length === 0 ? {} : { [name]: members };
}
