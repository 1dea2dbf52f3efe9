/**
 * The routes as types alone: what an endpoint such as `GET /api/v1/provers/:id` takes and answers. Derived from the
 * definitions of the routes, of which nothing is loaded.
 */
import type { Static, TSchema } from "typebox";
import type { apiRoutes } from "../api.js";
import type { PageQuery, ParamsOf, RouteSpec } from "../platform/contract/route.js";

type ApiRoutes = typeof apiRoutes;
type EndpointOf<R extends RouteSpec> = `${R["method"]} ${R["path"]}`;
type RouteTable = { [Id in keyof ApiRoutes as EndpointOf<ApiRoutes[Id]>]: ApiRoutes[Id] };

/** Method and path of a route, as the documentation has it but with `:id` for parameters. */
export type Endpoint = keyof RouteTable;
/** The definition of the route at an endpoint. */
export type RouteAt<E extends Endpoint> = RouteTable[E];

type EndpointsWith<Part> = { [E in Endpoint]: RouteTable[E] extends Part ? E : never }[Endpoint];
/** Endpoints that answer a file or other bytes. */
export type BytesEndpoint = {
  [E in Endpoint]: Success<RouteTable[E]> extends { file: string } | { bytes: string } ? E : never;
}[Endpoint];
/** Endpoints that answer a stream. */
export type StreamEndpoint = {
  [E in Endpoint]: Success<RouteTable[E]> extends { stream: string } ? E : never;
}[Endpoint];
/** Endpoints that answer JSON or nothing. */
export type JsonEndpoint = Exclude<Endpoint, BytesEndpoint | StreamEndpoint>;
/** Endpoints of lists with pages. */
export type ListEndpoint = EndpointsWith<{ list: true }> & JsonEndpoint;
/** Endpoints that take an Idempotency-Key. */
export type CreateEndpoint = EndpointsWith<{ creates: true }>;

type SuccessStatus<R extends RouteSpec> = Extract<keyof R["responses"], 200 | 201 | 202 | 203 | 204 | 206>;
type Success<R extends RouteSpec> = R["responses"][SuccessStatus<R>];

type StaticOf<S> = S extends TSchema ? Static<S> : never;
/** A file: bytes in memory, or what Node's `openAsBlob` returns for one on disk. */
export type FileBody = Uint8Array<ArrayBuffer> | Blob;

/** Members with a default may be left out. */
export type QueryInput<R extends RouteSpec> = (R["query"] extends TSchema ? Partial<StaticOf<R["query"]>> : unknown) &
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

/** Parameters, query and body of a route. */
export type RouteInput<R extends RouteSpec> = ParamsInput<R> & BodyInput<R> & { readonly query?: QueryInput<R> };

/** What a call of an endpoint takes. */
export type InputAt<E extends Endpoint> = RouteInput<RouteAt<E>>;
/** JSON body that an endpoint takes. */
export type BodyAt<E extends Endpoint> = RouteAt<E> extends { body: infer S extends TSchema } ? Static<S> : never;
/** Query of an endpoint, without the members of pages. */
export type FiltersAt<E extends Endpoint> =
  RouteAt<E> extends { query: infer S extends TSchema } ? Partial<Static<S>> : never;
/** JSON that an endpoint answers; undefined where it answers none. */
export type AnswerAt<E extends Endpoint> =
  Success<RouteAt<E>> extends infer R ? (R extends { schema: infer S extends TSchema } ? Static<S> : undefined) : never;
/** One entry of the list that an endpoint answers. */
export type ItemAt<E extends Endpoint> = AnswerAt<E> extends readonly (infer T)[] ? T : never;
