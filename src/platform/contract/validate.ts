/**
 * Compiles the schemas of a route once, with the first request for it, and checks every request against them. A
 * rejection is explained in words, without repeating what was sent.
 */
import Type, { type TArray, type TObject, type TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { AppError, type ErrorDetail } from "../errors.js";
import { isUuid } from "../ids.js";
import { clientNames, type SentBody } from "./client-names.js";
import { explainRefusal } from "./explain.js";
import { RefusedItem } from "./refused-item.js";
import { QueryReader, paramReader, parseQuery, repeatedNames, type QueryPair } from "./query.js";
import type { RouteSpec } from "./route.js";
import { archiveQuery } from "./body-members.js";
import { PAGE_QUERY, closed } from "./schemas.js";

/** The compiled schemas of a route. All UUIDs that it returns are in lower case. */
export interface RouteValidator {
  /**
   * Checks the parameters of a path.
   * @param raw decoded segments by the parameter's name
   * @throws malformed_path
   */
  params(raw: Readonly<Record<string, string>>): Record<string, unknown>;
  /** True when every path parameter may be a UUID: a path that holds nothing else cannot hold a secret. */
  readonly takesIds: boolean;
  /**
   * Checks a query, and returns its members with defaults, and its pairs as sent; where the route says so, also the
   * names that are given more than once.
   * @param text the query without its `?`
   * @throws malformed_request, invalid_request or unknown_member
   */
  query(text: string): {
    readonly members: Record<string, unknown>;
    readonly pairs: readonly QueryPair[];
    readonly repeated?: readonly string[];
  };
  /**
   * Checks a parsed body and returns it under the names of its route, with what was sent back beside it. Only UUIDs at
   * its top level are turned into lower case. Where the route says so, refused items of a batch are replaced
   * (refused-item.ts).
   * @throws invalid_request or unknown_member
   */
  body(value: unknown): SentBody;
}

const NOTHING: TObject = closed({});
/** Refused items of a batch that are explained; a thousand explanations would hold up the event loop. */
const ITEMS_EXPLAINED_MAX = 100;
const UNEXPLAINED: readonly ErrorDetail[] = [
  {
    message: "the item: does not have the form that this route expects, as others before it",
    code: "invalid_request",
  },
];

/**
 * Returns the checks of a route. The schemas of its path, query and body are each compiled when they are first needed,
 * which takes a third of a millisecond: a server has some 250 routes, and many serve a few of them.
 * @example
 * const validator = compileRoute(noteRoutes.readNote);
 * validator.params({ id: "7A4C1F2E-1111-4222-8333-000000000001" }); // { id: "7a4c1f2e-..." }
 * validator.params({ id: "7" }); // throws malformed_path: "id: expected a UUID"
 */
export function compileRoute(route: RouteSpec): RouteValidator {
  const params = onFirstUse(() => compileParams(route.params ?? NOTHING));
  const query = onFirstUse(() => compileQuery(queryObject(route), { tellsRepeats: route.tellsRepeats }));
  const body = onFirstUse(() => compileBody(route));
  const takesIds = Object.values<UuidSource>((route.params ?? NOTHING).properties).every(isUuidSchema);
  return { params, takesIds, query, body };
}

/** Returns a function that is made when it is first called. */
function onFirstUse<Given, Value>(make: () => (given: Given) => Value): (given: Given) => Value {
  let made: ((given: Given) => Value) | undefined;
  return (given) => (made ??= make())(given);
}

/**
 * Returns the whole schema of a route's query: its own members, `page` and `rpp` when it is a list, and the members of
 * a body that may come as an archive.
 */
export function queryObject(route: RouteSpec): TObject {
  if (route.list !== true && route.filesBody === undefined) return route.query ?? NOTHING;
  const more = route.list === true ? PAGE_QUERY : archiveQuery(route);
  return Type.Object({ ...(route.query?.properties ?? {}), ...more }, { additionalProperties: false });
}

function compileParams(schema: TObject): RouteValidator["params"] {
  const validator = Compile(schema);
  const members = Object.entries<TSchema>(schema.properties).map(
    ([name, member]) => [name, paramReader(member)] as const,
  );
  const lowerCase = lowerCaseUuids(schema);
  return (raw) => {
    const value: Record<string, unknown> = {};
    for (const [name, read] of members) {
      const text = raw[name];
      if (text !== undefined) value[name] = read(text);
    }
    if (!validator.Check(value)) throw refusal("malformed_path", explainRefusal(schema, value, "the path"));
    return lowerCase(value);
  };
}

function compileQuery(
  schema: TObject,
  { tellsRepeats }: { readonly tellsRepeats: true | undefined },
): RouteValidator["query"] {
  const validator = Compile(schema);
  const reader = new QueryReader(schema, { keepsFirst: tellsRepeats });
  const lowerCase = lowerCaseUuids(schema);
  const takesNone = validator.Check(reader.read([]));
  return (text) => {
    if (text === "" && takesNone) return { members: reader.read([]), pairs: [] };
    const pairs = parseQuery(text);
    const members = reader.read(pairs);
    if (!validator.Check(members)) throw refusal("invalid_request", explainRefusal(schema, members, "the query"));
    return { members: lowerCase(members), pairs, ...(tellsRepeats === true ? { repeated: repeatedNames(pairs) } : {}) };
  };
}

function compileBody(route: RouteSpec): RouteValidator["body"] {
  const named = clientNames(route);
  const check = route.itemsFailAlone === true ? batchCheck(route.body) : bodyCheck(route.body ?? NOTHING);
  return (value) => {
    const sent = isObject(value) ? named(value) : { body: value, sentBack: {} };
    const body = check(sent.body);
    return body === sent.body ? sent : { ...sent, body };
  };
}

/** Checks a body and returns it. */
type BodyCheck = (value: unknown) => unknown;

function bodyCheck(schema: TSchema): BodyCheck {
  const validator = Compile(schema);
  const lowerCase = lowerCaseUuids(schema);
  return (value) => {
    if (!validator.Check(value)) throw refusal("invalid_request", explainRefusal(schema, value, "the body"));
    return isObject(value) ? lowerCase(value) : value;
  };
}

/** Checks the items of a batch one by one, and everything else as `bodyCheck` does. */
function batchCheck(schema: TSchema | undefined): BodyCheck {
  const { properties } = schema as TObject<{ batch: TArray }>;
  const { items } = properties.batch;
  const whole = bodyCheck({
    ...schema,
    properties: { ...properties, batch: { ...properties.batch, items: {} } },
  });
  const item = Compile(items);
  return (value) => {
    const body = whole(value) as { readonly batch?: readonly unknown[] };
    if (body.batch === undefined) return body;
    let explained = 0;
    const checked = (one: unknown): unknown => {
      if (item.Check(one)) return one;
      explained += 1;
      return new RefusedItem(explained > ITEMS_EXPLAINED_MAX ? UNEXPLAINED : explainRefusal(items, one, "the item"));
    };
    return { ...body, batch: body.batch.map(checked) };
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refusal(code: "malformed_path" | "invalid_request", details: readonly ErrorDetail[]): AppError {
  const first = details[0] ?? { message: "the request does not have the form that this route expects", code };
  const onlyUnknown = code === "invalid_request" && details.every((detail) => detail.code === "unknown_member");
  const named = code === "malformed_path" ? details.map((detail) => ({ ...detail, code })) : details;
  return new AppError(onlyUnknown ? "unknown_member" : code, { message: first.message, details: named });
}

/** Returns a function that turns the UUIDs of an object into lower case, so that each has one key in the store. */
function lowerCaseUuids(schema: TSchema): (value: Record<string, unknown>) => Record<string, unknown> {
  const properties = (schema as Partial<TObject>).properties ?? {};
  const names = Object.keys(properties).filter((name) => isUuidSchema(properties[name] as UuidSource));
  if (names.length === 0) return (value) => value;
  return (value) => {
    for (const name of names) {
      const text = value[name];
      // Where another text may stand in place of a UUID, its case has a meaning.
      if (typeof text === "string" && isUuid(text.toLowerCase())) value[name] = text.toLowerCase();
    }
    return value;
  };
}

interface UuidSource {
  readonly format?: string;
  readonly anyOf?: readonly UuidSource[];
}

function isUuidSchema(schema: UuidSource): boolean {
  return schema.format === "uuid" || (schema.anyOf?.some(isUuidSchema) ?? false);
}
