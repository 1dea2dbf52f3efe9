/**
 * A client with one method per route, made from the definitions of the routes: for programs that have them at hand,
 * such as the server's own tests and benches. It sends each request once.
 */
import type { Static, TSchema } from "typebox";
import type { RouteSpec } from "../platform/contract/route.js";
import type { RouteInput } from "./endpoints.js";
import { Transport, type CallOptions, type LooseRequest, type TransportOptions } from "./transport.js";

/** What a call of a route takes. */
export type CallInput<R extends RouteSpec> = RouteInput<R> & CallOptions;

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

const ACCEPTED = 202;
const PARTIAL_CONTENT = 206;

/**
 * Makes a client with one method per route, named as in `routes`. A call resolves to `{status, body | bytes, headers,
 * total?}` for the statuses that the route declares, and rejects as `Transport.send` does.
 * @example
 *   const api = createClient({ baseUrl: "http://127.0.0.1:8080", token }, proverRoutes);
 *   const { body } = await api.verify({ params: { id }, body: { proof, witness: { Y: "35" } } });
 */
export function createClient<const R extends Routes>(options: TransportOptions, routes: R): Client<R> {
  const transport = new Transport(options);
  const methods = Object.entries(routes).map(
    ([name, route]) =>
      [name, async (input?: LooseRequest & CallOptions) => await call(transport, route, input)] as const,
  );
  return Object.fromEntries(methods) as unknown as Client<R>;
}

async function call(transport: Transport, route: RouteSpec, input?: LooseRequest & CallOptions): Promise<unknown> {
  const response = await transport.send({ ...input, method: route.method, path: route.path }, input);
  // A part of a file is answered as the file is.
  const spec =
    route.responses[response.status === PARTIAL_CONTENT ? 200 : response.status] ??
    (response.status === ACCEPTED ? route.respondsAsync : undefined);
  if (spec === undefined) throw new Error(`${route.id} answered ${String(response.status)}, which it does not declare`);
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
