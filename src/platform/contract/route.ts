/**
 * One definition per route. A route is a plain value, from which everything else is derived: the types of its handler,
 * its validators, its operation in OpenAPI, its method of the typed client, and the tests that run over all routes.
 * Imports no server code.
 */
import type { Static, TObject, TSchema } from "typebox";
import type { ErrorCode } from "../errors.js";
import type { PermissionName } from "../auth/permissions.js";
import type { Principal, SubjectKind } from "../auth/principal.js";
import type { SentBack } from "./client-names.js";
import type { Once } from "./once.js";
import type { WithRefusedItems } from "./refused-item.js";
import type { StaticBytes } from "./static-bytes.js";
import type { StreamSource } from "./stream.js";
import type { StreamedBody } from "./streamed-body.js";
import type { JsonText } from "../json/json-text.js";

/** Methods that a route may have. HEAD is answered like GET without the body, OPTIONS with 204. */
export const HTTP_METHODS = ["GET", "POST", "PUT", "DELETE"] as const;
export type HttpMethod = (typeof HTTP_METHODS)[number];

/** Part of the service that a route belongs to. An address may serve one area only; `service` is served on all. */
export type Area = "prover" | "vault" | "chain" | "identity" | "service";

/** Who may call a route: everyone, or the bearers of a token with every listed permission. */
export type AuthRule =
  | "public"
  | {
      readonly permissions: readonly PermissionName[];
      /** Kinds of subject that may call; all when absent. */
      readonly subjects?: readonly SubjectKind[];
      /** Also accepts tokens that are limited to certain events, which every other route rejects. */
      readonly limitedTokens?: true;
    };

/**
 * The answer of a route with one status: JSON (`schema`), a stored file (`file`), raw bytes (`bytes`), a stream
 * (`stream`), or no body when all four are absent.
 */
export interface ResponseSpec {
  readonly description: string;
  /** Schema of the JSON body; beside `bytes`, the schema of the JSON that the bytes are. */
  readonly schema?: TSchema;
  /** With `schema`: the handler may return a JsonText (json/json-text.ts) in place of a value. */
  readonly mayBeText?: true;
  /** Content type of a stored file. The server handles ETag, If-None-Match, Range and HEAD. */
  readonly file?: string;
  /** Content type of a body that the handler returns as bytes: a secret that must never become a string, or a page. */
  readonly bytes?: string;
  /**
   * With `bytes`: they stay the same until the server stops, and everybody may read them. The server handles ETag,
   * If-None-Match and gzip.
   */
  readonly fixed?: true;
  /** Content type of a stream, which lasts until one side ends it. The route also accepts WebSockets. */
  readonly stream?: "text/event-stream";
}

/**
 * A body that may also come as `multipart/form-data`, or as a `.tar.gz` of the type `application/gzip`. Both become the
 * JSON body before its schema checks it. Members of the body are fields of the form, or parameters of the query beside
 * an archive: texts as they are, anything else as JSON.
 */
export interface FilesBody {
  /** Member of the body that is an object of path -> text; the files become it. */
  readonly member: string;
  /** Part of the form that may hold the body's other members as one JSON object. */
  readonly part: string;
  /** Files with other names are left out of an archive. */
  readonly extension: string;
  /** Bytes of all files together, unless `BodyLimits` says less. */
  readonly bytesMax: number;
  readonly filesMax: number;
}

/** OAuth's error code and status for each failure that a route answers in OAuth's form. */
export type OAuthErrors = Readonly<Partial<Record<ErrorCode, { readonly status: 400 | 401; readonly error: string }>>>;

/** Definition of a route; see `defineRoute`. */
export interface RouteSpec {
  /** Unique name; also the operationId of OpenAPI and the method of the typed client. */
  readonly id: string;
  readonly area: Area;
  readonly method: HttpMethod;
  /** Full path with `:name` parameters, such as `/api/v1/vaults/:id`. */
  readonly path: string;
  /** One line for OpenAPI. */
  readonly summary: string;
  /** Markdown for OpenAPI. */
  readonly description?: string;
  readonly auth: AuthRule;
  /** Reads nothing of the store, so that a node of a cluster answers it while the database is away. */
  readonly withoutStore?: true;
  /** Answers 503 `vault_sealed` while the vault is sealed, after authentication and before reading the input. */
  readonly needsUnsealed?: boolean;
  /** Schema of the path's parameters. UUIDs are accepted in any case and passed on in lower case. */
  readonly params?: TObject;
  /** Schema of the query. Texts are converted to the integers, numbers, booleans and lists that it names. */
  readonly query?: TObject;
  /** Schema of the JSON body. Without one, POST and PUT accept no body or an empty object. */
  readonly body?: TSchema;
  /** An item of the body's `batch` that breaks its schema reaches the handler as a RefusedItem and fails alone. */
  readonly itemsFailAlone?: true;
  /**
   * The record that a PUT changes, as its GET answers it. Existing clients send back the whole record: its members that
   * `body` has not got are set aside unchecked, as the handler's `sentBack`. Also has the meaning of `anyCase`.
   */
  readonly sendsBack?: TObject;
  /**
   * Also takes the body's members, at its top level, in camel case or with capitals, as existing clients write them.
   * Not for routes that sign or pay, or that take, show or use a key; those that only make one inside may have it.
   */
  readonly anyCase?: true;
  /** The body may be absent. */
  readonly bodyOptional?: boolean;
  /** The handler gets the bytes of the body unparsed, because they hold a secret that must never become a string. */
  readonly rawBody?: boolean;
  /**
   * The handler gets a StreamedBody (streamed-body.ts): a file of any length, taken piece by piece and never held in
   * memory. It needs a Content-Length; its media type does not matter.
   */
  readonly streamedBody?: true;
  /** The body may also come as files: in a form, or as an archive. */
  readonly filesBody?: FilesBody;
  /** Also accepts `application/x-www-form-urlencoded`, with text members only; for OAuth and plain HTML forms. */
  readonly form?: boolean;
  /** Also takes the token from the member `access_token` of a form (RFC 6750 section 2.2). */
  readonly bearerInForm?: true;
  /**
   * Members of the query or form that are given more than once reach the handler as `repeated`, with their first
   * values. Elsewhere they are 422.
   */
  readonly tellsRepeats?: true;
  /** Longest body in bytes; 64 KiB when absent (http/limits/limits.ts says why). */
  readonly bodyBytesMax?: number;
  /** Most names and values of the JSON body; 20,000 when absent. */
  readonly jsonTokensMax?: number;
  /**
   * Names below the top level of the body are the caller's own (signals of a circuit, paths of files): any name is
   * allowed there, `constructor` and `__proto__` too, and longer ones than elsewhere.
   */
  readonly userNames?: true;
  /** Time from the request's arrival to the answer; after it the server answers 503 and aborts the work. */
  readonly deadlineMs?: number;
  /** A POST that creates something: accepts Idempotency-Key. Not for answers with secrets, which would be stored. */
  readonly creates?: boolean;
  /**
   * The handler keeps `request.once` with the first commit, or before the first call to the outside, that must not be
   * repeated. A repeat of a request that a crash cut off is then answered or run again; of other routes it is refused,
   * as its outcome is not known.
   */
  readonly keepsOnce?: true;
  /** A list: accepts `page` and `rpp`, answers X-Total-Results-Count and Link. The handler's reply has `total`. */
  readonly list?: boolean;
  /** Members added to the failures of this route, such as `proof: null`, because existing clients read them. */
  readonly errorMembers?: Readonly<Record<string, null | boolean>>;
  /** Failures that this route answers in the form of OAuth (RFC 6749 section 5.2); the others keep the common form. */
  readonly oauthErrors?: OAuthErrors;
  /** Answers of the handler by status. */
  readonly responses: { readonly [status: number]: ResponseSpec };
  /**
   * The answer 202 to `Prefer: respond-async` (RFC 7240 section 4.1), with the job that goes on. Apart from
   * `responses`, so that callers who do not ask for it have no other answer to expect.
   */
  readonly respondsAsync?: ResponseSpec;
  /**
   * Heeds `Prefer: wait=N` though it never answers 202: it reads what changes by itself. False: does not, though it may
   * answer 202, and has no record that `Location` could name.
   */
  readonly waits?: boolean;
  /** Failures of this route beyond those that every route may answer. */
  readonly errors?: readonly ErrorCode[];
  /** A body, and the first answer of `responses` to it on a new server; a test compares both with a real server. */
  readonly example?: { readonly body?: unknown; readonly answer?: unknown };
  /** Bodies by name that OpenAPI shows in place of `example`. */
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly body: unknown }>>;
}

/**
 * Returns a route definition unchanged, with its literal types: the handler and the client are checked against them.
 *
 * @example
 * export const noteRoutes = {
 *   readNote: defineRoute({
 *     id: "readNote",
 *     area: "prover",
 *     method: "GET",
 *     path: "/api/v1/notes/:id",
 *     summary: "Read a note",
 *     auth: { permissions: ["read"] },
 *     params: closed({ id: Uuid }),
 *     responses: { 200: { description: "The note", schema: closed({ id: Uuid, text: Type.String() }) } },
 *     errors: ["not_found"],
 *   }),
 * } as const;
 *
 * // The compiler knows `params.id` and the form of the reply.
 * const handlers: HandlersFor<typeof noteRoutes> = {
 *   readNote: ({ params }) => ({ status: 200, body: notes.read(params.id) }),
 * };
 * createServer(options, { ...dependencies, routes: bindRoutes(noteRoutes, handlers) });
 */
export function defineRoute<const R extends RouteSpec>(route: R): R {
  return route;
}

/** Returns all answers of a route by status, also those that only some callers ask for. */
export function answersOf({ responses, respondsAsync }: RouteSpec): RouteSpec["responses"] {
  return respondsAsync === undefined ? responses : { ...responses, 202: respondsAsync };
}

type StaticOr<S, Fallback> = S extends TSchema ? Static<S> : Fallback;

/** Checked path parameters of a route. */
export type ParamsOf<R extends RouteSpec> = StaticOr<R["params"], object>;

/** Members of the query of every list. */
export interface PageQuery {
  /** 1-based. */
  readonly page: number;
  /** Results per page. */
  readonly rpp: number;
}

/** Checked query of a route, with `page` and `rpp` when it is a list. */
export type QueryOf<R extends RouteSpec> = StaticOr<R["query"], object> &
  (R["list"] extends true ? PageQuery : unknown);

/** Checked body of a route; the bytes themselves with `rawBody`, a stream of them with `streamedBody`. */
export type BodyOf<R extends RouteSpec> = R["streamedBody"] extends true
  ? StreamedBody
  : R["rawBody"] extends true
    ? Uint8Array
    : R["bodyOptional"] extends true
      ? CheckedBody<R> | undefined
      : CheckedBody<R>;
type CheckedBody<R extends RouteSpec> = R["itemsFailAlone"] extends true
  ? WithRefusedItems<StaticOr<R["body"], undefined>>
  : StaticOr<R["body"], undefined>;

/** What a handler gets: checked input, the caller, and a signal that aborts when the answer is no longer wanted. */
export type HandlerRequest<R extends RouteSpec> = RequestMembers<R> &
  (R["sendsBack"] extends TObject ? SendsBackMember : unknown);

interface SendsBackMember {
  /** Members of the record that cannot change, not checked: see `requireUnchanged` (client-names.ts). */
  readonly sentBack: SentBack;
}

interface RequestMembers<R extends RouteSpec> {
  readonly params: ParamsOf<R>;
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
  /** Names of members that were given more than once; only where the route has `tellsRepeats`. */
  readonly repeated?: readonly string[] | undefined;
  readonly principal: R["auth"] extends "public" ? Principal | undefined : Principal;
  /** Bearer token as sent, not verified; only on public routes, for those that accept tokens of their own kind. */
  readonly bearer: R["auth"] extends "public" ? string | undefined : undefined;
  /** The whole Authorization header; only on public routes, for OAuth clients that authenticate by HTTP Basic. */
  readonly authorization?: R["auth"] extends "public" ? string | undefined : undefined;
  /** Aborted when the client leaves, the deadline passes, or the server stops and its grace period is over. */
  readonly signal: AbortSignal;
  readonly requestId: string;
  /** Address of the client, for throttling: the peer's, or the one that a trusted proxy names. */
  readonly address: string;
  /** Seconds of `Prefer: wait=N`, 0 when absent. */
  readonly preferWaitSec: number;
  /** Whether the client sent `Prefer: respond-async`; only routes with `respondsAsync` may heed it. */
  readonly prefersAsync?: boolean;
  /** Present when the request has an Idempotency-Key; only for routes with `keepsOnce`. */
  readonly once?: Once | undefined;
  /** The Last-Event-ID header as sent, with which an EventSource continues after an interruption. */
  readonly lastEventId?: string | undefined;
}

/** A stored file to answer with. */
export interface FileAnswer {
  readonly path: string;
  /** Its length; an answer with another length than the file's fails with `data_corrupt`. */
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
  : S extends { bytes: string; fixed: true }
    ? { readonly fixed: StaticBytes }
    : S extends { bytes: string }
      ? { readonly bytes: Uint8Array }
      : S extends { stream: string }
        ? { readonly stream: StreamSource }
        : S extends { schema: infer T extends TSchema }
          ? { readonly body: Static<T> | (S extends { mayBeText: true } ? JsonText<Static<T>> : never) }
          : { readonly body?: undefined };
type TotalOf<R extends RouteSpec> = R["list"] extends true ? { readonly total: number } : unknown;

/** What a handler may return: exactly the statuses and bodies that its route declares. */
export type ReplyOf<R extends RouteSpec> =
  | {
      [S in keyof R["responses"] & number]: { readonly status: S } & ReplyBase &
        PayloadOf<R["responses"][S]> &
        TotalOf<R>;
    }[keyof R["responses"] & number]
  | AsyncReplyOf<R["respondsAsync"]>;
type AsyncReplyOf<S> = S extends ResponseSpec ? { readonly status: 202 } & ReplyBase & PayloadOf<S> : never;

/** Handler of a route. It fails by throwing an AppError. */
export type Handler<R extends RouteSpec> = (request: HandlerRequest<R>) => ReplyOf<R> | Promise<ReplyOf<R>>;

/** One handler for each route of a group. */
export type HandlersFor<Routes extends Readonly<Record<string, RouteSpec>>> = {
  readonly [Name in keyof Routes]: Handler<Routes[Name]>;
};

/** A reply whose route is not known to the compiler. */
export interface AnyReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly file?: FileAnswer;
  /** Overwritten with zeros after sending when the route belongs to the vault. */
  readonly bytes?: Uint8Array;
  readonly fixed?: StaticBytes;
  readonly stream?: StreamSource;
  /** Results over all pages of a list. */
  readonly total?: number;
}

/**
 * A handler whose route is not known to the compiler. Only the server calls it, with input that the validators of its
 * route have checked.
 */
export type AnyHandler = (request: never) => AnyReply | Promise<AnyReply>;

/** A route with its handler. */
export interface BoundRoute {
  readonly route: RouteSpec;
  readonly handler: AnyHandler;
  readonly bodyLimits?: BodyLimitsOf;
  readonly sibling?: SiblingRoute;
}

/**
 * Another route under the same method and path, which serves the bodies that it knows as its own. From then on the
 * request is that route's: its caller, rate, limits, schema and idempotency.
 */
export interface SiblingRoute {
  readonly bound: BoundRoute;
  /** @param body parsed, not checked by any schema */
  readonly isMeant: (body: unknown) => boolean;
}

/** What the body of one request may have. */
export interface BodyLimits {
  readonly bodyBytesMax: number;
  readonly jsonTokensMax: number;
  /** Of a body that comes as files, after unpacking. */
  readonly files?: Pick<FilesBody, "bytesMax" | "filesMax">;
}

/**
 * Returns the limits of a body by what the path names, within those of the route; undefined for the route's own. Called
 * after the caller is known and before the body is read.
 */
export type BodyLimitsOf = (
  principal: Principal | undefined,
  params: Readonly<Record<string, unknown>>,
) => BodyLimits | undefined;

/**
 * Pairs each route of a group with its handler.
 * @param bodyLimits limits of single bodies, by the name of the route
 * @returns what `createServer` takes as `routes`
 */
export function bindRoutes<const Routes extends Readonly<Record<string, RouteSpec>>>(
  routes: Routes,
  handlers: HandlersFor<Routes>,
  bodyLimits?: Readonly<Partial<Record<keyof Routes, BodyLimitsOf>>>,
): BoundRoute[] {
  return (Object.keys(routes) as (keyof Routes)[]).map((name) => {
    const limits = bodyLimits?.[name];
    return {
      route: routes[name] as RouteSpec,
      handler: handlers[name],
      ...(limits === undefined ? {} : { bodyLimits: limits }),
    };
  });
}
