/** A request to the API as a value: what is sent, and the same as curl and as code of the SDK, for people to read. */

export type Method = "GET" | "POST" | "PUT" | "DELETE";
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface Call {
  readonly method: Method;
  /** Path with its ids filled in. */
  readonly path: string;
  readonly query: Query;
  /** JSON; undefined for none. */
  readonly body: unknown;
  /** Method of the SDK, such as `keys.sign`; undefined where only `request` has it. */
  readonly sdk: string | undefined;
  /** As the API's document writes the path, such as `/api/v1/vaults/:id`. */
  readonly template: string;
  readonly ids: readonly string[];
  readonly isList: boolean;
  /** Members of the body that are shown as dots, because they are secrets. */
  readonly hides: readonly string[];
}

interface RouteOptions {
  readonly isList?: boolean;
  readonly hides?: readonly string[];
}

/** Makes the calls of one route. */
export type CallMaker = (ids?: readonly string[], body?: unknown, query?: Query) => Call;

/**
 * Returns what makes the calls of a route.
 * @param template path with `:name` parameters, filled in with the ids in order
 * @param sdk method of the SDK; undefined where only `request` has it
 */
export function route(method: Method, template: string, sdk?: string, options: RouteOptions = {}): CallMaker {
  return (ids = [], body, query = {}) => {
    let next = 0;
    const path = template.replace(/:[a-z_]+/g, () => encodeURIComponent(ids[next++] ?? ""));
    const { isList = false, hides = [] } = options;
    return { method, path, template, ids, query, body, sdk, isList, hides };
  };
}

/** Returns the query with its question mark; empty without members. */
export function queryText(query: Query): string {
  const members = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [String(value)]) members.append(name, one);
  }
  const text = members.toString();
  return text === "" ? "" : `?${text}`;
}

/** Returns the call as a command line; the token stands in a variable. */
export function asCurl(call: Call, origin: string): string {
  const parts = [
    `curl${call.method === "GET" ? "" : ` -X ${call.method}`} ${quoted(origin + call.path + queryText(call.query))}`,
  ];
  parts.push(`-H "Authorization: Bearer $TOKEN"`);
  if (call.body !== undefined) {
    parts.push(`-H "Content-Type: application/json"`, `-d ${quoted(JSON.stringify(shownBody(call), null, 2))}`);
  }
  return parts.join(" \\\n  ");
}

/** Returns the call as code of the SDK. */
export function asCode(call: Call, origin: string): string {
  return `import { Proofwright } from "proofwright";

const pw = new Proofwright({ baseUrl: ${literal(origin)}, token });

${statementOf(call)}`;
}

function statementOf(call: Call): string {
  const { sdk, ids, isList, query, template, method } = call;
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ""));
  const { page, rpp, ...filters } = given;
  const body = call.body === undefined ? [] : [literal(shownBody(call))];
  if (sdk === undefined) {
    const names = [...template.matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => name);
    const members = [
      ...(names.length === 0
        ? []
        : [`params: ${literal(Object.fromEntries(names.map((name, index) => [name, ids[index] ?? ""])))}`]),
      ...(Object.keys(given).length === 0 ? [] : [`query: ${literal(given)}`]),
      ...(call.body === undefined ? [] : [`body: ${literal(shownBody(call))}`]),
    ];
    const options = members.length === 0 ? "" : `, { ${members.join(", ")} }`;
    return `const { body } = await pw.request(${literal(`${method} ${template}`)}${options});`;
  }
  const args = [...ids.map(literal), ...body];
  if (sdk === "events.stream")
    return `for await (const event of pw.events.stream(${literal(given)})) console.log(event);`;
  if (!isList) {
    const more = Object.keys(given).length === 0 ? [] : [literal(given)];
    return `const answer = await pw.${sdk}(${[...args, ...more].join(", ")});`;
  }
  const named = Object.keys(filters).length === 0 ? args : [...args, literal(filters)];
  return `const { items, total } = await pw.${sdk}(${named.join(", ")}).page(${literal({ page: page ?? 1, rpp: rpp ?? 25 })});`;
}

/** The body as people may see it. */
function shownBody({ body, hides }: Call): unknown {
  if (hides.length === 0 || typeof body !== "object" || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, hides.includes(name) ? "…" : (value as unknown)]),
  );
}

/** A value as TypeScript writes it: names without quotes where they need none. */
function literal(value: unknown): string {
  if (value === undefined) return "undefined";
  return JSON.stringify(value, null, 2).replace(/^(\s*)"([A-Za-z_$][\w$]*)":/gm, "$1$2:");
}

/** A text as a shell takes it, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
