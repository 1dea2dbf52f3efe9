/**
 * The one wrapper around all routes: every request goes through the same checks in the same order (401, 403, 429, 503
 * sealed, 400/413/415/422, handler) and leaves through the same answer writer. A handler cannot reach the response.
 */
import type { Principal } from "../auth/principal.js";
import { formatSubject } from "../auth/principal.js";
import type { Clock } from "../clock.js";
import type { AnyReply, Area, HttpMethod, RouteSpec } from "../contract/route.js";
import type { StreamSource } from "../contract/stream.js";
import { AppError, assert, type ErrorCode } from "../errors.js";
import { newId } from "../ids.js";
import type { Log } from "../log.js";
import { PerTickCache } from "../concurrency/per-tick-cache.js";
import { sendAnswer, type Answer } from "./response/answer.js";
import { BodyBudget, BodyCollector } from "./request/body.js";
import { readBody } from "./request/body-form.js";
import { asAppError, errorAnswer } from "./response/error-answer.js";
import type { TrustedProxies } from "../net/client-address.js";
import { Exchange, type CompiledRoute } from "./request/exchange.js";
import { FrontRequest } from "./request/handler-request.js";
import { checkedIdempotencyKey, hashRequest, runOnce, type IdempotencyStore } from "./limits/idempotency.js";
import { InFlight } from "./limits/in-flight.js";
import type { HttpLimits } from "./limits/limits.js";
import { RateLimiter } from "./limits/rate-limit.js";
import { PeerAddresses } from "../net/peer-address.js";
import { Places, type Place } from "./route-cache.js";
import { replyAnswer } from "./response/reply.js";
import { bearerToken, readBearer, readHead, saneRequestId } from "./request/request-head.js";
import type { Router } from "./router.js";
import { Sockets, readProtocols, type Admitted, type LateRequest } from "./sockets.js";
import { StreamAnswer } from "./response/stream-answer.js";
import { Streams } from "./response/streams.js";
import type { RawRequest, RawResponse, UpgradeOffer } from "./uws.js";

/** What the front reports of each request that ended; status 0 when the client left first. */
export interface HttpMetrics {
  requestEnded(routeId: string, method: string, status: number, seconds: number): void;
  requestsInFlight(count: number): void;
}

/** A request that was not let in, and by which code. */
export interface Refused {
  readonly route: RouteSpec;
  readonly code: ErrorCode;
  /** Known unless there was no good token. */
  readonly subject: string | undefined;
  readonly requestId: string;
  readonly address: string;
}

export interface DispatchDependencies {
  /** Throws or rejects with `unauthorized`. */
  readonly authenticate: (token: string, area: Area) => Principal | Promise<Principal>;
  readonly isUnsealed: () => boolean;
  readonly idempotency?: IdempotencyStore;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics?: HttpMetrics;
  /** Told of each request that is turned away before its handler. */
  readonly onRefused?: (refusal: Refused) => void;
  /** Sends a text to every WebSocket of this server that joined the topic. */
  readonly publish: (topic: string, message: string) => void;
}

export interface DispatchOptions {
  readonly limits: HttpLimits;
  /** 32 bytes for the hashes of idempotent requests; the same after a restart. */
  readonly requestHashKey: Uint8Array;
  readonly trustedProxies: TrustedProxies;
}

/** What a route gets of a request whose form was not looked at yet. */
interface Input {
  readonly place: Place;
  readonly body: BodyCollector | undefined;
}

/** Label of requests that reached no route. */
const NO_ROUTE = "none";
/** Statuses by which a gateway says that whoever it asked has failed (RFC 9110, sections 15.6.3 and 15.6.5). */
const BEYOND_US: ReadonlySet<number> = new Set([502, 504]);
const EMPTY = Buffer.alloc(0);
const METHODS: ReadonlySet<string> = new Set<HttpMethod>(["GET", "POST", "PUT", "DELETE"]);

export class Dispatcher {
  readonly inFlight: InFlight;
  readonly #peers = new PeerAddresses();
  readonly #streams: Streams;
  readonly #sockets: Sockets;
  readonly #options: DispatchOptions;
  readonly #dependencies: DispatchDependencies;
  readonly #places: Places;
  readonly #bearers = new PerTickCache(readBearer);
  readonly #budget: BodyBudget;
  readonly #rates: RateLimiter | undefined;
  #draining = false;

  constructor(options: DispatchOptions, dependencies: DispatchDependencies, router: Router<CompiledRoute>) {
    const { limits } = options;
    this.#options = options;
    this.#dependencies = dependencies;
    this.#places = new Places({}, { router });
    this.#budget = new BodyBudget(limits.bodiesInFlightBytesMax);
    this.#rates = limits.rateLimits ? new RateLimiter(limits, dependencies) : undefined;
    this.#streams = new Streams(dependencies);
    this.#sockets = new Sockets({ ...dependencies, streams: this.#streams });
    this.inFlight = new InFlight(
      {
        stallMs: limits.stallMs,
        perAddressMax: limits.rateLimits ? limits.requestsPerAddressMax : Number.POSITIVE_INFINITY,
      },
      {
        clock: dependencies.clock,
        onDeadline: (exchange) => {
          this.#giveUp(exchange, new AppError("deadline_exceeded", { message: "the work took longer than its time" }));
        },
      },
    );
  }

  /**
   * Serves one request. Never throws, never leaves a response without an abort handler: either would end the process.
   */
  handle(response: RawResponse, request: RawRequest, upgrade?: UpgradeOffer): void {
    let exchange: Exchange | undefined;
    response.onAborted(() => {
      exchange?.clientGone();
    });
    try {
      const head = readHead(request);
      if (head.ambiguous) {
        response.close();
        return;
      }
      const nowMs = this.#dependencies.clock.monotonicMs();
      exchange = new Exchange({
        response,
        head,
        requestId: saneRequestId(head) ?? newId(),
        address: this.#options.trustedProxies.clientOf(this.#peers.addressOf(response), head.forwardedFor),
        startedMs: nowMs,
        deadlineAtMs: nowMs + this.#options.limits.deadlineMs,
        upgrade,
        onDone: (done) => {
          this.#ended(done);
        },
      });
      void this.#serve(exchange);
    } catch (error) {
      this.#dependencies.log.error("request not taken", { error: asAppError(error, "").bug });
      response.close();
    }
  }

  /**
   * From now on new requests get 503, answers close their connections, and streams end. Returns how many streams there
   * were.
   */
  startDraining(): number {
    this.#draining = true;
    this.#sockets.endNameless();
    return this.#streams.endAll();
  }

  /** Answers everything that is still open with 503 and aborts its work. */
  abandonAll(): void {
    for (const exchange of this.inFlight.list()) {
      if (exchange.isOpen) this.#giveUp(exchange, shuttingDown());
      else exchange.abort();
    }
  }

  /** Ends without a rejection, whatever happens. */
  async #serve(exchange: Exchange): Promise<void> {
    try {
      const hasRoom = this.inFlight.add(exchange);
      this.#dependencies.metrics?.requestsInFlight(this.inFlight.size);
      const answer = exchange.head.method === "OPTIONS" ? { status: 204 } : await this.#answer(exchange, hasRoom);
      const sending = this.#send(exchange, answer);
      if (sending !== undefined) await sending;
    } catch (error) {
      await this.#fail(exchange, error);
    }
  }

  /**
   * Finds the route, and begins to collect the body before anything is awaited: bytes that nobody listens for are lost.
   */
  #answer(exchange: Exchange, hasRoom: boolean): Answer | Promise<Answer> {
    const { head } = exchange;
    const place = this.#places.find(head.method, head.url);
    const { compiled } = place;
    exchange.route = compiled;
    exchange.deadlineAtMs = exchange.startedMs + compiled.deadlineMs;
    if (this.#draining && compiled.route.area !== "service") throw shuttingDown();
    if (!hasRoom) throw new AppError("too_many_requests", { message: "too many requests at once from this address" });
    const body = head.hasBody
      ? new BodyCollector(
          { bytesMax: compiled.bodyBytesMax, declaredBytes: head.contentLength },
          { budget: this.#budget },
        ).attach(exchange.response)
      : undefined;
    if (body !== undefined)
      exchange.whenClosed(() => {
        body.abandon();
      });
    return this.#handled(exchange, compiled, { place, body });
  }

  /** The bearer token of the Authorization header, or of a WebSocket's subprotocols. */
  #tokenOf({ head, upgrade }: Exchange): string | undefined {
    const token = bearerToken(head, (authorization) => this.#bearers.get(authorization));
    return (
      token ??
      (upgrade === undefined || head.authorizationCount > 0 ? undefined : readProtocols(upgrade.protocols).token)
    );
  }

  /** Throws or rejects with `unauthorized`. Answers at once where the token is known. */
  #authenticate(exchange: Exchange, area: Area): Principal | Promise<Principal> {
    const token = this.#tokenOf(exchange);
    if (token === undefined) throw new AppError("unauthorized", { message: "unauthorized" });
    return this.#dependencies.authenticate(token, area);
  }

  /** Whether they may now: 403, 429, 503 sealed. */
  #admit(exchange: Exchange, compiled: CompiledRoute, principal: Principal | undefined): void {
    if (principal !== undefined) {
      exchange.subject = formatSubject(principal.subject);
      compiled.check?.(principal);
    }
    exchange.principal = principal;
    this.#takeRate(compiled, exchange.subject ?? exchange.address);
    if (compiled.route.needsUnsealed === true && !this.#dependencies.isUnsealed())
      throw new AppError("vault_sealed", { message: "the vault is sealed" });
  }

  #takeRate({ route }: CompiledRoute, caller: string): void {
    if (route.area === "service" || this.#rates === undefined) return;
    const waitSec = this.#rates.take(caller, route.method === "GET" ? "read" : "write");
    if (waitSec > 0)
      throw new AppError("too_many_requests", { message: "too many requests; slow down", retryAfterSec: waitSec });
  }

  /**
   * Who asks and whether they may, input checked, handler run, reply turned into an answer. Awaits nothing that is
   * there already: each promise would cost every request its share.
   */
  async #handled(exchange: Exchange, compiled: CompiledRoute, input: Input): Promise<Answer> {
    const { head } = exchange;
    const { route, validator } = compiled;
    let isLetIn = false;
    let bytes: Buffer = EMPTY;
    try {
      if (exchange.upgrade !== undefined && this.#tokenOf(exchange) === undefined && head.authorizationCount === 0)
        return this.#upgradeNameless(exchange, exchange.upgrade, compiled);
      const caller = compiled.check === undefined ? undefined : this.#authenticate(exchange, route.area);
      const principal = caller instanceof Promise ? await caller : caller;
      this.#admit(exchange, compiled, principal);
      isLetIn = true;
      const params = this.#places.paramsOf(input.place, head.method, head.url);
      if (input.body !== undefined) bytes = await input.body.whole();
      const { members, pairs } = validator.query(head.query);
      const body = readBody(compiled, head, bytes);
      const request = new FrontRequest(exchange, compiled, { params, query: members, body, principal });
      // The client left while its request was being checked: nothing may be changed for it any more.
      if (!exchange.isOpen) throw new AppError("deadline_exceeded", { message: "nobody waits for the answer" });
      const reply = await this.#once(exchange, compiled, input, bytes, request);
      const answer = replyAnswer(exchange, compiled, reply, { path: input.place.path, members, pairs });
      return answer instanceof Promise ? await answer : answer;
    } catch (error) {
      if (!isLetIn && error instanceof AppError)
        this.#dependencies.onRefused?.({
          route,
          code: error.code,
          subject: exchange.subject,
          requestId: exchange.requestId,
          address: exchange.address,
        });
      throw error;
    } finally {
      if (route.rawBody === true) bytes.fill(0);
      input.body?.release();
    }
  }

  /** Runs the handler, or gives the kept answer of the same request. */
  #once(
    exchange: Exchange,
    compiled: CompiledRoute,
    input: Input,
    bytes: Buffer,
    request: FrontRequest,
  ): AnyReply | Promise<AnyReply> {
    const key = exchange.head.headers["idempotency-key"];
    const { idempotency } = this.#dependencies;
    const { subject } = exchange;
    if (key === undefined || compiled.route.creates !== true || idempotency === undefined || subject === undefined)
      return compiled.handler(request as never);
    const requestHash = hashRequest(this.#options.requestHashKey, input.place.path, exchange.head.query, bytes);
    return runOnce(
      idempotency,
      { subject, routeId: compiled.route.id, key: checkedIdempotencyKey(key), requestHash },
      () => compiled.handler(request as never),
    );
  }

  /** A promise only where the answer goes out in pieces. */
  #send(exchange: Exchange, answer: Answer): Promise<void> | undefined {
    let sending: Promise<void> | undefined;
    try {
      if (answer.stream === undefined)
        sending = sendAnswer(exchange, this.#draining ? { ...answer, closes: true } : answer, this.#dependencies.clock);
      else this.#startStream(exchange, answer, answer.stream);
      return sending?.finally(() => {
        wipe(exchange, answer);
      });
    } finally {
      if (sending === undefined) wipe(exchange, answer);
    }
  }

  /**
   * Goes on as a stream, over the transport that the client asked for. It is no longer a request in flight then: it may
   * last for days.
   */
  #startStream(exchange: Exchange, answer: Answer, source: StreamSource): void {
    const { route: compiled, principal } = exchange;
    const token = this.#tokenOf(exchange);
    if (!exchange.isOpen || compiled === undefined || principal === undefined || token === undefined) return;
    if (exchange.upgrade !== undefined) {
      this.#acceptSocket(exchange, exchange.upgrade, compiled, { principal, token, source });
      return;
    }
    this.inFlight.remove(exchange);
    const stream = new StreamAnswer(exchange);
    const release = this.#streams.add({
      token,
      principal,
      area: compiled.route.area,
      check: (current) => {
        compiled.check?.(current);
      },
      end: (reason) => {
        stream.end(reason);
      },
    });
    stream.start(answer, source, { nowMs: this.#dependencies.clock.monotonicMs(), onClosed: release });
  }

  /** The token comes with the first message: nothing is told and nothing looked up before. */
  #upgradeNameless(exchange: Exchange, upgrade: UpgradeOffer, compiled: CompiledRoute): Answer {
    this.#acceptSocket(exchange, upgrade, compiled, undefined);
    return { status: 101 };
  }

  #acceptSocket(
    exchange: Exchange,
    upgrade: UpgradeOffer,
    compiled: CompiledRoute,
    admitted: Admitted | undefined,
  ): void {
    if (!exchange.isOpen) return;
    const session = this.#sockets.session({
      compiled,
      admitted,
      admitLate: async (request) => await this.#admitLate(exchange, compiled, request),
      authenticate: (token) => this.#dependencies.authenticate(token, compiled.route.area),
    });
    exchange.finish(101);
    upgrade.accept(session, readProtocols(upgrade.protocols).protocol);
  }

  /** The checks of a request, for a WebSocket that says by its first message who it is and what it wants. */
  async #admitLate(exchange: Exchange, compiled: CompiledRoute, { token, query }: LateRequest): Promise<Admitted> {
    if (this.#draining) throw shuttingDown();
    const principal = await this.#dependencies.authenticate(token, compiled.route.area);
    compiled.check?.(principal);
    this.#takeRate(compiled, formatSubject(principal.subject));
    const { members } = compiled.validator.query(query);
    const request = {
      params: {},
      query: members,
      body: undefined,
      principal,
      bearer: undefined,
      authorization: undefined,
      signal: exchange.signal,
      requestId: exchange.requestId,
      address: exchange.address,
      preferWaitSec: 0,
    };
    const { stream: source } = await compiled.handler(request as never);
    assert(source !== undefined, "a route that takes WebSockets answers a stream");
    return { principal, token, source };
  }

  /**
   * A failure becomes an answer, if one may still be given; only a bug or a broken file gets past that, into the log.
   */
  async #fail(exchange: Exchange, thrown: unknown): Promise<void> {
    const { error, bug } = asAppError(thrown, exchange.requestId);
    // A file that turns out broken half way is past an answer, but not past the log.
    if (exchange.isOpen || error.code === "data_corrupt") this.#logFailure(exchange, error, bug);
    else
      this.#dependencies.log.debug("work ended after its request", () => ({ ...fieldsOf(exchange), code: error.code }));
    try {
      const sending = this.#send(exchange, errorAnswer(exchange, error));
      if (sending !== undefined) await sending;
    } catch (second) {
      this.#dependencies.log.error("answer not sent", {
        ...fieldsOf(exchange),
        error: asAppError(second, "").bug,
      });
      if (exchange.isOpen || exchange.isSending) exchange.response.close();
    }
  }

  /** Answers now and aborts the work, whose own end comes too late to be sent. */
  #giveUp(exchange: Exchange, error: AppError): void {
    void this.#fail(exchange, error);
    exchange.abort();
  }

  #logFailure(exchange: Exchange, error: AppError, bug: Error | undefined): void {
    if (error.status < 500) return;
    const fields = {
      ...fieldsOf(exchange),
      status: error.status,
      code: error.code,
      error: bug ?? error.cause,
    };
    // A system that a user named, and that whoever talks to it tells of when it begins: each request in between is no
    // news.
    if (BEYOND_US.has(error.status))
      this.#dependencies.log.debug("another system failed a request", () => ({
        ...fieldsOf(exchange),
        status: error.status,
        code: error.code,
      }));
    else if (error.status === 503) this.#dependencies.log.warn("request refused", fields);
    else this.#dependencies.log.error("request failed", fields);
  }

  #ended(exchange: Exchange): void {
    this.inFlight.remove(exchange);
    const { log, clock, metrics } = this.#dependencies;
    const durationMs = clock.monotonicMs() - exchange.startedMs;
    const routeId = exchange.route?.route.id ?? NO_ROUTE;
    const method =
      METHODS.has(exchange.head.method) || exchange.isHead || exchange.head.method === "OPTIONS"
        ? exchange.head.method
        : "other";
    metrics?.requestEnded(routeId, method, exchange.status, durationMs / 1000);
    metrics?.requestsInFlight(this.inFlight.size);
    log.debug("request", () => ({
      ...fieldsOf(exchange),
      status: exchange.status,
      duration_ms: Math.round(durationMs * 1000) / 1000,
    }));
  }
}

/** The vault's bytes are secrets (the unsealer key); other areas may answer bytes that they keep. */
function wipe(exchange: Exchange, { body }: Answer): void {
  if (exchange.route?.route.area === "vault" && body instanceof Uint8Array) body.fill(0);
}

function shuttingDown(): AppError {
  return new AppError("shutting_down", { message: "the server is stopping; try again", retryAfterSec: 2 });
}

function fieldsOf(exchange: Exchange): { request_id: string; route: string; subject?: string } {
  return {
    request_id: exchange.requestId,
    route: exchange.route?.route.id ?? NO_ROUTE,
    ...(exchange.subject === undefined ? {} : { subject: exchange.subject }),
  };
}
