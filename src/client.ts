/**
 * A typed client derived from the routes: one method per route, with the input and output that the route declares. Uses
 * only `fetch`, so that it also runs in browsers. Imports no server code.
 */
import type { Static, TSchema } from "typebox";
import type { PageQuery, ParamsOf, RouteSpec } from "./platform/contract/route.js";

export interface ClientOptions {
  /** Scheme and authority, such as `https://localhost:8080`; a path before `/api/v1` is kept. */
  readonly baseUrl: string;
  /** Access token for `Authorization: bearer`. */
  readonly token?: string;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

interface CallExtras {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** `Prefer: wait=N`. */
  readonly preferWaitSec?: number;
  readonly idempotencyKey?: string;
}

type StaticOf<S> = S extends TSchema ? Static<S> : never;
/** Members with a default may be left out. */
type QueryInput<R extends RouteSpec> = (R["query"] extends TSchema ? Partial<StaticOf<R["query"]>> : unknown) &
  (R["list"] extends true ? Partial<PageQuery> : unknown);
type ParamsInput<R extends RouteSpec> = R["params"] extends TSchema
  ? { readonly params: ParamsOf<R> }
  : { readonly params?: undefined };
type BodyInput<R extends RouteSpec> = R["streamedBody"] extends true
  ? { readonly body: FileBody }
  : R["body"] extends TSchema
    ? R["bodyOptional"] extends true
      ? { readonly body?: StaticOf<R["body"]> }
      : { readonly body: StaticOf<R["body"]> }
    : { readonly body?: undefined };
/** A file: bytes in memory, or what Node's `openAsBlob` returns for one on disk. */
type FileBody = Uint8Array<ArrayBuffer> | Blob;

export type CallInput<R extends RouteSpec> = ParamsInput<R> &
  BodyInput<R> &
  CallExtras & { readonly query?: QueryInput<R> };

interface AnswerBase {
  readonly headers: Headers;
}
type AnswerPayload<S> = S extends { schema: infer T extends TSchema }
  ? { readonly body: Static<T> }
  : S extends { file: string } | { bytes: string }
    ? { readonly bytes: Uint8Array }
    : S extends { stream: string }
      ? { readonly stream: ReadableStream<Uint8Array> }
      : { readonly body?: undefined };
/** `total`: results over all pages, from X-Total-Results-Count. */
type AnswerTotal<R extends RouteSpec> = R["list"] extends true ? { readonly total: number } : unknown;

/** What a call resolves to: a union over the statuses that the route declares. */
export type CallAnswer<R extends RouteSpec> = {
  [S in keyof R["responses"] & number]: { readonly status: S } & AnswerBase &
    AnswerPayload<R["responses"][S]> &
    AnswerTotal<R>;
}[keyof R["responses"] & number];

type Routes = Readonly<Record<string, RouteSpec>>;
/** The input may be left out when nothing in it is required. */
type Method<R extends RouteSpec> =
  Partial<CallInput<R>> extends CallInput<R>
    ? (input?: CallInput<R>) => Promise<CallAnswer<R>>
    : (input: CallInput<R>) => Promise<CallAnswer<R>>;

export type Client<R extends Routes> = { readonly [Name in keyof R]: Method<R[Name]> };

export interface ApiErrorEntry {
  readonly message: string;
  readonly code: string;
  readonly path?: string;
  /** Why a contract refused a call: the error's name and arguments, as far as they are known, and its data. */
  readonly revert?: { readonly name: string | null; readonly args: unknown; readonly data: string };
}

/** An error response of the server. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** Code of the first entry of `errors`; `unknown` when the body is not of the API's error form. */
  readonly code: string;
  readonly errors: readonly ApiErrorEntry[];
  /** Identifies the request in the server's log. */
  readonly requestId: string | undefined;
  readonly retryAfterSec: number | undefined;

  constructor(init: {
    status: number;
    message: string;
    errors: readonly ApiErrorEntry[];
    requestId: string | undefined;
    retryAfterSec: number | undefined;
  }) {
    super(init.message);
    this.status = init.status;
    this.code = init.errors[0]?.code ?? "unknown";
    this.errors = init.errors;
    this.requestId = init.requestId;
    this.retryAfterSec = init.retryAfterSec;
  }
}

type Scalar = string | number | boolean;
/** Lists repeat the name; the members of an object are `name[key]`. */
type QueryValue = Scalar | readonly Scalar[] | Readonly<Record<string, Scalar | undefined>>;

interface LooseInput extends CallExtras {
  readonly params?: Readonly<Record<string, Scalar | undefined>>;
  readonly query?: Readonly<Record<string, QueryValue | undefined>>;
  readonly body?: unknown;
}

/**
 * Makes a client with one method per route, named as in `routes`. A call resolves to `{status, body | bytes, headers,
 * total?}` for the statuses that the route declares, and rejects with ApiError for all others; network failures reject
 * as `fetch` does.
 * @example
 *   const api = createClient({ baseUrl: "http://127.0.0.1:8080", token }, proverRoutes);
 *   const { body } = await api.verify({ params: { id }, body: { proof, witness: { Y: "35" } } });
 */
export function createClient<const R extends Routes>(options: ClientOptions, routes: R): Client<R> {
  const methods = Object.entries(routes).map(
    ([name, route]) => [name, async (input?: LooseInput) => await call(options, route, input ?? {})] as const,
  );
  return Object.fromEntries(methods) as unknown as Client<R>;
}

async function call(options: ClientOptions, route: RouteSpec, input: LooseInput): Promise<unknown> {
  const send = options.fetch ?? globalThis.fetch;
  const response = await send(
    `${options.baseUrl.replace(/\/+$/, "")}${fillPath(route.path, input.params ?? {})}${queryText(input.query ?? {})}`,
    {
      method: route.method,
      headers: requestHeaders(options, route, input),
      ...(input.body === undefined ? {} : { body: sentBody(route, input.body) }),
      ...(input.signal === undefined ? {} : { signal: input.signal }),
    },
  );
  const spec = route.responses[response.status];
  if (spec === undefined || response.status >= 400) throw await apiError(response);
  const base = {
    status: response.status,
    headers: response.headers,
    ...(route.list === true ? { total: Number(response.headers.get("X-Total-Results-Count")) } : {}),
  };
  if (spec.stream !== undefined) return { ...base, stream: response.body };
  if (spec.schema !== undefined) return { ...base, body: await response.json() };
  const bytes = new Uint8Array(await response.arrayBuffer());
  return spec.file === undefined && spec.bytes === undefined ? { ...base, body: undefined } : { ...base, bytes };
}

function sentBody(route: RouteSpec, body: unknown): FileBody | string {
  return route.streamedBody === true ? (body as FileBody) : JSON.stringify(body);
}

function requestHeaders(options: ClientOptions, route: RouteSpec, input: LooseInput): Record<string, string> {
  const type = route.streamedBody === true ? "application/octet-stream" : "application/json";
  return {
    Accept: "application/json",
    ...(input.body === undefined ? {} : { "Content-Type": type }),
    ...(options.token === undefined ? {} : { Authorization: `bearer ${options.token}` }),
    ...(input.preferWaitSec === undefined ? {} : { Prefer: `wait=${String(input.preferWaitSec)}` }),
    ...(input.idempotencyKey === undefined ? {} : { "Idempotency-Key": input.idempotencyKey }),
    ...input.headers,
  };
}

function fillPath(path: string, params: NonNullable<LooseInput["params"]>): string {
  return path.replace(/:([a-z_]+)/g, (_whole, name: string) => {
    const value = params[name];
    if (value === undefined || value === "") throw new TypeError(`the path parameter ${name} is missing`);
    return encodeURIComponent(String(value));
  });
}

/** Undefined members are left out. */
function queryText(query: NonNullable<LooseInput["query"]>): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const [key, entry] of queryEntries(name, value)) if (entry !== undefined) pairs.append(key, String(entry));
  }
  const text = pairs.toString();
  return text === "" ? "" : `?${text}`;
}

function queryEntries(name: string, value: QueryValue | undefined): (readonly [string, Scalar | undefined])[] {
  if (typeof value !== "object") return [[name, value]];
  if (isList(value)) return value.map((entry) => [name, entry]);
  return Object.entries(value).map(([key, entry]) => [`${name}[${key}]`, entry]);
}

function isList(value: object): value is readonly Scalar[] {
  return Array.isArray(value);
}

/** A body in another form than the API's (a proxy's page) becomes an ApiError with its status, too. */
async function apiError(response: Response): Promise<ApiError> {
  const text = await response.text();
  const parsed = parsedFailure(text);
  const retryAfter = response.headers.get("Retry-After");
  return new ApiError({
    status: response.status,
    message: parsed?.message ?? `the server answered ${String(response.status)}`,
    errors: parsed?.errors ?? [],
    requestId: response.headers.get("X-Request-Id") ?? undefined,
    retryAfterSec: retryAfter !== null && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined,
  });
}

function parsedFailure(text: string): { message: string; errors: readonly ApiErrorEntry[] } | undefined {
  try {
    const value = JSON.parse(text) as { message?: unknown; errors?: unknown } | null;
    if (typeof value?.message !== "string") return undefined;
    return { message: value.message, errors: Array.isArray(value.errors) ? (value.errors as ApiErrorEntry[]) : [] };
  } catch {
    return undefined;
  }
}
