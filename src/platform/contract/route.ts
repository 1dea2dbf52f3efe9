/**
 * One definition per route. A route is a plain value; handler types, validators, OpenAPI, the typed client, the
 * permission matrix and the tests that walk all routes are derived from it and never restated. Imports no server code.
 */
import type { Static, TObject, TSchema } from "typebox";
import type { ErrorCode } from "../errors.js";
import type { PermissionName } from "../auth/permissions.js";
import type { Principal, SubjectKind } from "../auth/principal.js";
import type { StreamSource } from "./stream.js";
import type { JsonText } from "../json/json-text.js";

export const HTTP_METHODS = ["GET", "POST", "PUT", "DELETE"] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];
export type Area = "prover" | "vault" | "chain" | "identity" | "service";

/** Either nobody is asked, or a bearer token must hold every listed permission. */
export type AuthRule =
  | "public"
  | {
      readonly permissions: readonly PermissionName[];
      /** Kinds of subject that may call; all three when absent. */
      readonly subjects?: readonly SubjectKind[];
      /** Takes tokens that are limited to certain events too; every other route refuses them. */
      readonly limitedTokens?: true;
    };

/** What one status of a route answers: JSON of a schema, a stored file, raw bytes, a stream, or nothing. */
export interface ResponseSpec {
  readonly description: string;
  /** Beside `bytes`: the form of the JSON that the bytes spell. */
  readonly schema?: TSchema;
  /** Beside `schema`: the handler may answer JSON that is written already (json-text.ts). */
  readonly mayBeText?: true;
  /** Content type of a file answer (ETag, Range and HEAD are the front's business). */
  readonly file?: string;
  /**
   * Content type of an answer that the handler hands over as bytes, because no string of it may exist or because it is
   * text.
   */
  readonly bytes?: string;
  /**
   * Content type of an answer that goes on until one side ends it; over WebSocket the same messages come as text
   * frames.
   */
  readonly stream?: "text/event-stream";
}

/** OAuth's word and status for a failure. */
export type OAuthErrors = Readonly<Partial<Record<ErrorCode, { readonly status: 400 | 401; readonly error: string }>>>;

export interface RouteSpec {
  /** Unique; the operationId of OpenAPI and the method name of the typed client. */
  readonly id: string;
  readonly area: Area;
  readonly method: HttpMethod;
  /** Full path with `:name` parameters. */
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly auth: AuthRule;
  /**
   * While the vault is not unsealed the route answers 503 `vault_sealed`, after authentication and before anything
   * else.
   */
  readonly needsUnsealed?: boolean;
  readonly params?: TObject;
  readonly query?: TObject;
  readonly body?: TSchema;
  /** The body may be left out. */
  readonly bodyOptional?: boolean;
  /** The handler gets the body's bytes unparsed, because they hold a secret that must never become a string. */
  readonly rawBody?: boolean;
  /**
   * The body may come as `application/x-www-form-urlencoded`, whose members are texts; for OAuth and for plain HTML
   * forms.
   */
  readonly form?: boolean;
  /** Default 64 KiB; security: see limits.ts. */
  readonly bodyBytesMax?: number;
  /** How many JSON tokens the body may have. */
  readonly jsonTokensMax?: number;
  /** Time from the request's arrival to the answer; past it the front answers 503 and aborts the work. */
  readonly deadlineMs?: number;
  /** A POST that creates: takes Idempotency-Key. */
  readonly creates?: boolean;
  /** A list: takes page and rpp, answers X-Total-Results-Count and Link; the reply carries `total`. */
  readonly list?: boolean;
  /** Members added to the error form of this route, such as `proof: null`. */
  readonly errorMembers?: Readonly<Record<string, null | boolean>>;
  /**
   * Failures that this route answers in the form of OAuth (RFC 6749 section 5.2), wherever they come from; the others
   * keep the common form.
   */
  readonly oauthErrors?: OAuthErrors;
  readonly responses: { readonly [status: number]: ResponseSpec };
  /** Failures beyond those that every route may answer. */
  readonly errors?: readonly ErrorCode[];
  readonly example?: { readonly body?: unknown };
}

/** Keeps the literal types of a definition, so that handlers and client are checked against it. */
export function defineRoute<const R extends RouteSpec>(route: R): R {
  return route;
}

type StaticOr<S, Fallback> = S extends TSchema ? Static<S> : Fallback;
type None = Readonly<Record<never, never>>;

export type ParamsOf<R extends RouteSpec> = StaticOr<R["params"], None>;
export type PageQuery = { readonly page: number; readonly rpp: number };
export type QueryOf<R extends RouteSpec> = StaticOr<R["query"], None> & (R["list"] extends true ? PageQuery : None);
export type BodyOf<R extends RouteSpec> = R["rawBody"] extends true
  ? Buffer
  : R["bodyOptional"] extends true
    ? StaticOr<R["body"], undefined> | undefined
    : StaticOr<R["body"], undefined>;

/** What a handler gets: parsed and validated input, the caller, and a signal that fires when nobody waits any more. */
export interface HandlerRequest<R extends RouteSpec> {
  readonly params: ParamsOf<R>;
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
  readonly principal: R["auth"] extends "public" ? Principal | undefined : Principal;
  /**
   * The credential of the Authorization header as sent, unverified; on public routes only, for those that take one of
   * their own kind.
   */
  readonly bearer: R["auth"] extends "public" ? string | undefined : undefined;
  /** The whole Authorization header, for OAuth clients that prove themselves by HTTP Basic; on public routes only. */
  readonly authorization?: R["auth"] extends "public" ? string | undefined : undefined;
  /** Aborted when the client goes away, the deadline passes or the server gives up on stopping. */
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** Address of the peer's socket, for throttling; never taken from a header. */
  readonly address: string;
  /** Seconds of `Prefer: wait=N`, 0 when absent. */
  readonly preferWaitSec: number;
  /** The Last-Event-ID header, by which an EventSource goes on where it was cut off; as sent. */
  readonly lastEventId?: string | undefined;
}

/** A stored file to answer; the front serves ETag, If-None-Match and Range from it. */
export interface FileAnswer {
  readonly path: string;
  readonly bytes: number;
  /** Lower-case hex; becomes the ETag. */
  readonly sha256: string;
  readonly contentType?: string;
}

interface ReplyBase {
  readonly headers?: Readonly<Record<string, string>>;
}
type PayloadOf<S> = S extends { file: string }
  ? { readonly file: FileAnswer }
  : S extends { bytes: string }
    ? { readonly bytes: Uint8Array }
    : S extends { stream: string }
      ? { readonly stream: StreamSource }
      : S extends { schema: infer T extends TSchema }
        ? { readonly body: Static<T> | (S extends { mayBeText: true } ? JsonText<Static<T>> : never) }
        : { readonly body?: undefined };
type TotalOf<R extends RouteSpec> = R["list"] extends true ? { readonly total: number } : None;

/** What a handler may answer: exactly the statuses and bodies that its route declares. */
export type ReplyOf<R extends RouteSpec> = {
  [S in keyof R["responses"] & number]: { readonly status: S } & ReplyBase & PayloadOf<R["responses"][S]> & TotalOf<R>;
}[keyof R["responses"] & number];

export type Handler<R extends RouteSpec> = (request: HandlerRequest<R>) => ReplyOf<R> | Promise<ReplyOf<R>>;

/** Handlers for a group of routes: one for each, no more and no fewer. */
export type HandlersFor<Routes extends Readonly<Record<string, RouteSpec>>> = {
  readonly [Name in keyof Routes]: Handler<Routes[Name]>;
};

/** What the front sees of a reply, whichever route gave it. */
export interface AnyReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly file?: FileAnswer;
  /** Of the vault's routes: overwritten with zeros once sent. */
  readonly bytes?: Uint8Array;
  readonly stream?: StreamSource;
  readonly total?: number;
}

/**
 * A handler whose route is no longer known to the compiler; only the front calls it, with what its own route's
 * validators let through.
 */
export type AnyHandler = (request: never) => AnyReply | Promise<AnyReply>;

export interface BoundRoute {
  readonly route: RouteSpec;
  readonly handler: AnyHandler;
}

/** Pairs each route with its handler, as the server takes them. */
export function bindRoutes<const Routes extends Readonly<Record<string, RouteSpec>>>(
  routes: Routes,
  handlers: HandlersFor<Routes>,
): BoundRoute[] {
  return (Object.keys(routes) as (keyof Routes)[]).map((name) => ({
    route: routes[name] as RouteSpec,
    handler: handlers[name],
  }));
}
