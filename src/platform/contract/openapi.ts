/** Derives the OpenAPI 3.1 document from the route definitions. Nothing about a single route is written here. */
import type { TObject, TSchema } from "typebox";
import { PERMISSIONS } from "../auth/permissions.js";
import { ERROR_STATUS, type ErrorCode } from "../errors.js";
import { HEAD_BYTES_MAX, HEAD_FIELDS_MAX } from "./head-limits.js";
import { pascalCase, SharedFailures, SharedSchemas, type Json, type JsonObject } from "./openapi-components.js";
import type { Area, FilesBody, ResponseSpec, RouteSpec } from "./route.js";
import { ErrorBody, publishedForm } from "./schemas.js";
import { queryObject } from "./validate.js";

/** `info` of the document. */
export interface OpenApiInfo {
  readonly title: string;
  readonly version: string;
}

const JSON_MEDIA = "application/json";
const AREA_TEXT: Readonly<Record<Area, string>> = {
  prover: "Register provers, make proofs, verify proofs.",
  vault: "Keys and secrets that never leave the server unprotected.",
  chain: "Contracts, networks and connectors.",
  identity: "Users, applications and tokens.",
  service: "State and description of the server itself.",
};
const HEADERS = {
  "X-Request-Id": {
    description: "Id of the request; the client's X-Request-Id when it is 1 to 64 letters, digits and `._:-`",
    schema: { type: "string" },
  },
  "Retry-After": {
    description: "Seconds after which another attempt may succeed",
    schema: { type: "integer", minimum: 1 },
  },
  "X-Total-Results-Count": { description: "Results over all pages", schema: { type: "integer", minimum: 0 } },
  Link: { description: "Pages first, prev, next and last (RFC 8288)", schema: { type: "string" } },
  Location: { description: "Path of the new resource, where it has one", schema: { type: "string" } },
  ETag: { description: "SHA-256 of the file, quoted", schema: { type: "string" } },
} as const satisfies JsonObject;

/** Returns all codes that a route may answer: those of its kind, and those that it names itself. */
function errorCodes(route: RouteSpec): ErrorCode[] {
  const codes = new Set<ErrorCode>([
    "malformed_path",
    "malformed_request",
    "invalid_request",
    "unknown_member",
    "too_many_requests",
    "internal_error",
    "data_corrupt",
    "overloaded",
    "deadline_exceeded",
    "shutting_down",
    ...(route.errors ?? []),
  ]);
  if (route.auth !== "public") codes.add("unauthorized").add("forbidden");
  if (route.needsUnsealed === true) codes.add("vault_sealed");
  if (route.method !== "GET")
    codes
      .add("body_too_large")
      .add("request_timeout")
      .add("conflict")
      .add("storage_full")
      .add("storage_failed")
      .add("audit_unavailable");
  // A POST without a schema accepts an empty object, so any other body is checked too.
  if (route.body !== undefined || route.method === "POST" || route.method === "PUT")
    codes.add("unsupported_media_type").add(route.streamedBody === true ? "length_required" : "malformed_json");
  if (route.filesBody !== undefined) codes.add("files_invalid").add("files_too_large");
  if (route.creates === true) codes.add("idempotency_key_reused").add("idempotency_in_progress");
  return [...codes];
}

/**
 * Returns the document as plain JSON. Each route is an operation under its path and method; failures are listed by
 * status with their codes (`x-codes`), permissions as `x-permissions`.
 * @example
 * openApiDocument({ title: "Notes", version: "1.0.0" }, Object.values(noteRoutes));
 */
export function openApiDocument(info: OpenApiInfo, routes: readonly RouteSpec[]): JsonObject {
  const areas = [...new Set(routes.map(({ area }) => area))];
  const shared = { schemas: new SharedSchemas(), failures: new SharedFailures() };
  const counting: Placing = {
    schema: (schema) => {
      const plainSchema = plain(schema);
      shared.schemas.count(plainSchema);
      return plainSchema;
    },
    failure: (failure) => {
      shared.failures.count(failure);
      return failure;
    },
  };
  for (const route of routes) operation(route, counting);
  const placing: Placing = {
    schema: (schema, place) => shared.schemas.place(plain(schema), place),
    failure: (failure, status, codes) => shared.failures.place(failure, status, codes),
  };
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:([a-z_]+)/g, "{$1}");
    (paths[path] ??= {})[route.method.toLowerCase()] = operation(route, placing);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: info.title,
      version: info.version,
      description: `Zero-knowledge prover registry, key vault, chain and identity.\n\n${permissionTable()}`,
      license: { name: "GPL-3.0-or-later", identifier: "GPL-3.0-or-later" },
    },
    servers: [{ url: "/", description: "The server that sent this document" }],
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
      schemas: { Error: plain(ErrorBody), ...sorted(shared.schemas.components) },
      responses: sorted(shared.failures.components),
    },
    "x-permissions": { ...PERMISSIONS },
  };
}

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
  /** @param place PascalCase; names the schema where it becomes a component */
  schema(schema: TSchema, place: string): JsonObject;
  failure(failure: JsonObject, status: number, codes: readonly ErrorCode[]): JsonObject;
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
    security: auth === "public" ? [{}] : [{ bearer: [] }],
    ...(auth === "public" ? {} : { "x-permissions": auth.permissions }),
    parameters: [
      ...objectParameters(route.params, "path"),
      ...objectParameters(queryObject(route), "query"),
      ...headerParameters(route),
    ],
    ...(route.body === undefined ? {} : { requestBody: requestBody(route, route.body, placing) }),
    ...(route.streamedBody === true ? { requestBody: STREAMED_BODY } : {}),
    responses: { ...successes(route, placing), ...failures(route, placing) },
  };
}

function objectParameters(schema: TObject | undefined, place: "path" | "query"): Json[] {
  const required = new Set((schema as { required?: readonly string[] } | undefined)?.required ?? []);
  return Object.entries(schema?.properties ?? {}).map(([name, member]) => {
    const {
      description,
      default: byDefault,
      type,
    } = member as Readonly<Record<string, unknown>> & {
      readonly description?: string;
    };
    return {
      name,
      in: place,
      // `name[key]=value`
      ...(type === "object" ? { style: "deepObject", explode: true } : {}),
      required: place === "path" || (required.has(name) && byDefault === undefined),
      ...(description === undefined ? {} : { description }),
      schema: plain(member),
    };
  });
}

const STREAMED_BODY: JsonObject = {
  description: "The file, or the part of it that Content-Range names; of any media type, with a Content-Length",
  required: true,
  content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
};

function headerParameters(route: RouteSpec): Json[] {
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
    ...(route.responses[202] === undefined
      ? []
      : [
          {
            name: "Prefer",
            in: "header",
            required: false,
            description: "`wait=N`: wait up to N seconds for the end of the work",
            schema: text,
          },
        ]),
  ];
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
  for (const [status, spec] of Object.entries(route.responses)) {
    answers[status] = {
      description: spec.description,
      headers: successHeaders(route, Number(status), spec),
      ...successContent(spec, spec.schema && placing.schema(spec.schema, `${pascalCase(route.id)}${status}`)),
    };
    if (spec.file !== undefined) Object.assign(answers, fileAnswers(spec));
  }
  return answers;
}

/** @param schema of the body, or a reference to it */
function successContent(spec: ResponseSpec, schema?: JsonObject): JsonObject {
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
  return schema === undefined ? {} : { content: { [JSON_MEDIA]: { schema } } };
}

function successHeaders(route: RouteSpec, status: number, spec: ResponseSpec): JsonObject {
  return headers(
    "X-Request-Id",
    ...(isList(route, spec) ? (["X-Total-Results-Count"] as const) : []),
    ...(route.list === true ? (["Link"] as const) : []),
    ...(status === 201 || status === 202 ? (["Location"] as const) : []),
    ...(spec.file === undefined ? [] : (["ETag"] as const)),
    ...(status === 503 ? (["Retry-After"] as const) : []),
  );
}

/** True for an answer whose results are counted: a page of a list, or a list that has no pages. */
function isList(route: RouteSpec, { schema }: ResponseSpec): boolean {
  return route.list === true || (route.method === "GET" && (schema as { type?: string } | undefined)?.type === "array");
}

function headers(...names: readonly (keyof typeof HEADERS)[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function fileAnswers(spec: ResponseSpec): JsonObject {
  const common = headers("X-Request-Id");
  return {
    "206": { description: "The part requested by Range", headers: common, ...successContent(spec) },
    "304": { description: "Unchanged: the ETag is the one in If-None-Match", headers: common },
    "416": { description: "No byte of the file is in the range", headers: common },
  };
}

/** Answered before anything is known of the request, so it is no JSON. */
const HEAD_TOO_LARGE: JsonObject = {
  description: `The request line and the headers have more than ${String(HEAD_BYTES_MAX)} bytes, or there are more than ${String(HEAD_FIELDS_MAX)} headers`,
  content: {
    "text/html": { schema: { type: "string" } },
    "application/json": { schema: { $ref: "#/components/schemas/Error" } },
  },
};

/** Returns one response per status, with its codes listed. */
function failures(route: RouteSpec, placing: Placing): JsonObject {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorCodes(route).filter((each) => route.oauthErrors?.[each] === undefined)) {
    const status = ERROR_STATUS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const declared = new Set(Object.keys(route.responses).map(Number));
  const entries = [...byStatus].filter(([status]) => !declared.has(status)).sort(([a], [b]) => a - b);
  return {
    ...Object.fromEntries(
      entries.map(([status, codes]) => [String(status), placing.failure(failure(route, status, codes), status, codes)]),
    ),
    "431": placing.failure(HEAD_TOO_LARGE, 431, []),
  };
}

function failure(route: RouteSpec, status: number, codes: readonly ErrorCode[]): JsonObject {
  const added = Object.entries(route.errorMembers ?? {});
  const base = { $ref: "#/components/schemas/Error" };
  const schema: Json =
    added.length === 0
      ? base
      : {
          allOf: [
            base,
            {
              type: "object",
              required: added.map(([name]) => name),
              properties: Object.fromEntries(added.map(([name, value]) => [name, { const: value }])),
            },
          ],
        };
  return {
    description: codes.map((code) => `\`${code}\``).join(", "),
    headers: headers("X-Request-Id", ...(status === 429 || status === 503 ? (["Retry-After"] as const) : [])),
    content: { [JSON_MEDIA]: { schema }, "application/problem+json": { schema } },
    "x-codes": codes,
  };
}

/** By name, so that a component stays in its place when an operation before it changes. */
function sorted(components: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function plain(schema: TSchema): JsonObject {
  return publishedForm(schema) as JsonObject;
}
