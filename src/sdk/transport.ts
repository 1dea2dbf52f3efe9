/**
 * Sends requests with `fetch`: URL, headers, the token, attempts. Only what is safe to send twice is sent again: GET,
 * and POST with an Idempotency-Key, to which the server gives the first answer once more.
 */
import { backoffMs, delay } from "./delays.js";
import type { FileBody } from "./endpoints.js";
import { ApiError, ConnectionError, TimeoutError } from "./errors.js";

/** An access token, or what returns one when it is needed, such as a fresh one. */
export type TokenSource = string | (() => string | Promise<string>);

export interface TransportOptions {
  /** Scheme and authority, such as `https://localhost:8080`; a path before `/api/v1` is kept. */
  readonly baseUrl: string;
  /** Access token for `Authorization: bearer`. */
  readonly token?: TokenSource;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** More attempts after the first one; none unless given. */
  readonly retries?: number;
  /** Of one attempt, until the answer's head has come; as long as it takes unless given. */
  readonly timeoutMs?: number;
}

/** What every call may have beside its input. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Names a request, so that a repeat gets the first answer; for routes that create something. */
  readonly idempotencyKey?: string;
  /** `Prefer: wait=N`, for routes that answer 202. */
  readonly preferWaitSec?: number;
}

type Scalar = string | number | boolean;
/** Lists repeat the name; the members of an object are `name[key]`. */
type QueryValue = Scalar | readonly Scalar[] | Readonly<Record<string, Scalar | undefined>>;

/** A request whose route is not known to the compiler. */
export interface LooseRequest {
  readonly method: string;
  /** With `:name` for parameters. */
  readonly path: string;
  readonly params?: Readonly<Record<string, Scalar | undefined>>;
  readonly query?: Readonly<Record<string, QueryValue | undefined>>;
  readonly body?: unknown;
}

/** Longest Retry-After that is waited for; the caller hears of a longer one at once. */
const RETRY_AFTER_SEC_MAX = 60;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const STATUSES_TO_RETRY: readonly number[] = [429, 502, 503, 504];
/** These do not pass by themselves: somebody has to unseal the vault. */
const CODES_NOT_TO_RETRY: readonly string[] = ["vault_sealed"];
/** The first attempt is still being worked on. */
const IN_PROGRESS = "idempotency_in_progress";

/** Answers a body whole. Throws ConnectionError where it breaks off; the signal's reason where the caller gave up. */
export async function wholeBody(response: Response, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    signal?.throwIfAborted();
    throw new ConnectionError(`the answer broke off: ${reasonOf(error)}`, { cause: error });
  }
}

/** Sends requests to one server. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #base: string;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#base = options.baseUrl.replace(/\/+$/, "");
  }

  /** Tells whether the token is asked for at each request, so that an expired one is replaced. */
  get hasFreshTokens(): boolean {
    return typeof this.#options.token === "function";
  }

  /**
   * Returns an answer below 400.
   * @throws ApiError for any other answer
   * @throws ConnectionError, TimeoutError, or the signal's reason, when there is none
   */
  async send(request: LooseRequest, options: CallOptions = {}): Promise<Response> {
    const url = `${this.#base}${fillPath(request.path, request.params ?? {})}${queryText(request.query ?? {})}`;
    const isSafe = request.method === "GET" || options.idempotencyKey !== undefined;
    const attempts = isSafe ? (this.#options.retries ?? 0) : 0;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#attempt(url, request, options);
      } catch (error) {
        const waitMs = attempt < attempts ? retryDelayMs(error, attempt) : undefined;
        if (waitMs === undefined) throw error;
        await delay(waitMs, options.signal);
      }
    }
  }

  async #attempt(url: string, request: LooseRequest, options: CallOptions): Promise<Response> {
    const send = this.#options.fetch ?? globalThis.fetch;
    const { timeoutMs } = this.#options;
    const timer = new AbortController();
    const timeout =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => timer.abort(new TimeoutError(lateText(timeoutMs))), timeoutMs);
    const signals = [...(options.signal === undefined ? [] : [options.signal]), timer.signal];
    try {
      const headers = await this.#headers(request, options);
      const response = await send(url, {
        method: request.method,
        headers,
        // The API redirects nothing, and what is sent (passwords, inputs, the seal key) is for this server alone.
        redirect: "manual",
        signal: AbortSignal.any(signals),
        ...(request.body === undefined ? {} : { body: sentBody(request.body) }),
      });
      if (isRedirect(response)) throw redirected(response, url);
      if (response.status >= 400) throw await ApiError.read(response);
      return response;
    } catch (error) {
      if (error instanceof ApiError) throw error;
      if (timer.signal.aborted) throw timer.signal.reason;
      options.signal?.throwIfAborted();
      throw new ConnectionError(`${new URL(url).origin} cannot be reached: ${reasonOf(error)}`, { cause: error });
    } finally {
      clearTimeout(timeout);
    }
  }

  async #headers({ body }: LooseRequest, options: CallOptions): Promise<Record<string, string>> {
    const { token } = this.#options;
    const text = typeof token === "function" ? await token() : token;
    const type = isFile(body) ? "application/octet-stream" : "application/json";
    return {
      Accept: "application/json",
      ...(body === undefined ? {} : { "Content-Type": type }),
      ...(text === undefined ? {} : { Authorization: `bearer ${text}` }),
      ...(options.preferWaitSec === undefined ? {} : { Prefer: `wait=${String(options.preferWaitSec)}` }),
      ...(options.idempotencyKey === undefined ? {} : { "Idempotency-Key": options.idempotencyKey }),
      ...options.headers,
    };
  }
}

/** Returns how long to wait before the next attempt; undefined where none would help. */
function retryDelayMs(error: unknown, attempt: number): number | undefined {
  if (error instanceof ConnectionError) return backoffMs(attempt);
  if (!(error instanceof ApiError) || CODES_NOT_TO_RETRY.includes(error.code)) return undefined;
  if (!STATUSES_TO_RETRY.includes(error.status) && error.code !== IN_PROGRESS) return undefined;
  const { retryAfterSec } = error;
  if (retryAfterSec === undefined) return backoffMs(attempt);
  return retryAfterSec > RETRY_AFTER_SEC_MAX ? undefined : retryAfterSec * 1000;
}

/** Browsers tell a page nothing else of a redirect than its type. */
function isRedirect({ type, status }: Response): boolean {
  return type === "opaqueredirect" || REDIRECTS.includes(status);
}

function redirected({ status, headers }: Response, url: string): ApiError {
  const location = headers.get("Location");
  const target = location !== null && URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : "";
  return new ApiError({
    status,
    code: "redirected",
    message: `${new URL(url).origin} redirects${target}, which is not followed: set baseUrl to the server's own address`,
    errors: [],
    requestId: undefined,
    retryAfterSec: undefined,
  });
}

function lateText(timeoutMs: number): string {
  return `the server did not answer within ${String(timeoutMs / 1000)} s`;
}

/** What `fetch` says is "fetch failed"; the reason is in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}

function isFile(body: unknown): body is FileBody {
  return body instanceof Uint8Array || body instanceof Blob;
}

function sentBody(body: unknown): FileBody | string {
  return isFile(body) ? body : JSON.stringify(body);
}

function fillPath(path: string, params: NonNullable<LooseRequest["params"]>): string {
  return path.replace(/:([a-z_]+)/g, (_whole, name: string) => {
    const value = params[name];
    if (value === undefined || value === "") throw new TypeError(`the path parameter ${name} is missing`);
    // URLs take these for steps in the path, however they are encoded, and would lead to another route.
    if (value === "." || value === "..") throw new TypeError(`the path parameter ${name} must not be dots alone`);
    return encodeURIComponent(String(value));
  });
}

/** Undefined members are left out. */
function queryText(query: NonNullable<LooseRequest["query"]>): string {
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
