/**
 * The order in which every request is served: head, route, caller (401), admission (403, 429, 503), input (400, 413,
 * 415, 422), handler, answer, log. Each stage is a file of request/, limits/ or response/. A handler cannot reach the
 * response.
 */
import type { Clock } from "../clock.js";
import type { RouteSpec } from "../contract/route.js";
import { AppError, type ErrorCode } from "../errors.js";
import { newId } from "../ids.js";
import type { Log } from "../log.js";
import type { TrustedProxies } from "../net/client-address.js";
import type { Nodes } from "../nodes/nodes.js";
import { PeerAddresses } from "../net/peer-address.js";
import type { CompiledRoute } from "./compiled-route.js";
import type { Freshness } from "./freshness.js";
import { Admission, shuttingDown } from "./limits/admission.js";
import { HandlerRunner } from "./limits/handler-runner.js";
import type { IdempotencyStore } from "./limits/idempotency.js";
import { InFlight } from "./limits/in-flight.js";
import { UNUSED_BODY_MS, type HttpLimits } from "./limits/limits.js";
import { formBearer, readBody, routeOfBody, type ReadBody } from "./request/body-form.js";
import { BodyStream, streamBody, streamedBodyOf } from "./request/body-stream.js";
import { isOfFiles, readFilesBody, requireJsonBody, type SentFiles } from "./request/files-body.js";
import { BodyBudget, collectBody, type BodyCollector } from "./request/body.js";
import { CallerReader, type Authenticate } from "./request/caller.js";
import { CheckedRequest } from "./request/checked-request.js";
import { Exchange } from "./request/exchange.js";
import { readHead, requireSoundHead, saneRequestId, type RequestHead } from "./request/request-head.js";
import type { Answer } from "./response/answer.js";
import { asAppError } from "./response/error-answer.js";
import { replyAnswer } from "./response/reply.js";
import { RequestLog, type HttpMetrics } from "./response/request-log.js";
import { Responder } from "./response/responder.js";
import { StreamOpener } from "./response/stream-opener.js";
import { isTraced } from "../tracing/steps.js";
import { traceRequest } from "./request-trace.js";
import { RouteCache, type RouteMatch } from "./route-cache.js";
import type { Router } from "./router.js";
import type { RawRequest, RawResponse, UpgradeOffer } from "./drivers/driver.js";

/** A request that was rejected before its handler ran. */
export interface RefusedRequest {
  readonly route: RouteSpec;
  readonly code: ErrorCode;
  /** Undefined when the request had no valid token. */
  readonly subject: string | undefined;
  readonly requestId: string;
  readonly address: string;
}

export interface DispatchDependencies {
  readonly authenticate: Authenticate;
  readonly isUnsealed: () => boolean;
  readonly idempotency?: IdempotencyStore;
  /** The nodes that share the rates of callers; without it there is no other. */
  readonly nodes?: Pick<Nodes, "serving">;
  /** In a node of a cluster. */
  readonly freshness?: Freshness;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics?: HttpMetrics;
  /** Called for every request rejected before its handler runs. */
  readonly onRefused?: (refusal: RefusedRequest) => void;
  /** Sends a text to every WebSocket of this server that joined the topic. */
  readonly publish: (topic: string, message: string) => void;
}

export interface DispatchOptions {
  readonly limits: HttpLimits;
  /** 32 bytes for the hashes of idempotent requests; the same after a restart. */
  readonly requestHashKey: Uint8Array;
  readonly trustedProxies: TrustedProxies;
  readonly isAccessLogged: boolean;
}

/** A request whose route is known and whose input has not been checked yet. */
interface Unchecked {
  readonly match: RouteMatch;
  readonly body: BodyCollector | BodyStream | undefined;
  /** The body's bytes and the token in them, where they were read first. */
  readonly bytes?: Buffer;
  readonly formToken?: string | undefined;
}

const EMPTY = Buffer.alloc(0);

export class Dispatcher {
  readonly inFlight: InFlight;
  readonly #options: DispatchOptions;
  readonly #dependencies: DispatchDependencies;
  readonly #peers = new PeerAddresses();
  readonly #routes: RouteCache;
  readonly #callers: CallerReader;
  readonly #admission: Admission;
  readonly #bodies: BodyBudget;
  readonly #runner: HandlerRunner;
  readonly #streams: StreamOpener;
  readonly #responder: Responder;
  readonly #requestLog: RequestLog;

  constructor(options: DispatchOptions, dependencies: DispatchDependencies, router: Router<CompiledRoute>) {
    const { limits } = options;
    const { clock } = dependencies;
    this.#options = options;
    this.#dependencies = dependencies;
    this.#routes = new RouteCache({}, { router });
    this.#callers = new CallerReader(dependencies);
    this.#admission = new Admission(limits, dependencies);
    this.#bodies = new BodyBudget(limits.bodiesInFlightBytesMax);
    this.#runner = new HandlerRunner(options, dependencies);
    this.#requestLog = new RequestLog(options, dependencies);
    this.inFlight = new InFlight(
      {
        stallMs: limits.stallMs,
        perAddressMax: limits.rateLimits ? limits.requestsPerAddressMax : Number.POSITIVE_INFINITY,
      },
      {
        clock,
        onDeadline: (exchange) => {
          endAfterUnreadStream(exchange);
          this.#responder.giveUp(exchange, deadlineExceeded("the work took longer than its time"));
        },
        onStalledBody: (exchange) => {
          endAfterUnreadStream(exchange);
          this.#responder.giveUp(exchange, bodyTimeout());
        },
      },
    );
    this.#streams = new StreamOpener({
      ...dependencies,
      callers: this.#callers,
      admission: this.#admission,
      inFlight: this.inFlight,
    });
    this.#responder = new Responder({
      clock,
      requestLog: this.#requestLog,
      streams: this.#streams,
      isLeaving: () => this.#admission.isLeaving,
    });
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
      exchange = this.#readHead(response, request, upgrade);
      const taken = exchange;
      if (isTraced()) traceRequest(taken, () => this.#serve(taken));
      else void this.#serve(taken);
    } catch (error) {
      this.#requestLog.notTaken(asAppError(error, "").bug);
      response.close();
    }
  }

  /** Closes the connection after each answer from now on, and serves everything as before. */
  startLeaving(): void {
    this.#admission.startLeaving();
  }

  /**
   * Answers new requests with 503 from now on, closes the connection after each answer, and ends the streams. Returns
   * how many streams there were.
   */
  startDraining(): number {
    this.#admission.startDraining();
    return this.#streams.endAll();
  }

  /** Answers everything that is still open with 503 and aborts its work. */
  abandonAll(): void {
    for (const exchange of this.inFlight.list()) {
      endAfterUnreadStream(exchange);
      if (exchange.isOpen) this.#responder.giveUp(exchange, shuttingDown());
      else exchange.abort();
    }
  }

  #readHead(response: RawResponse, request: RawRequest, upgrade: UpgradeOffer | undefined): Exchange {
    const head = readHead(request);
    const { limits, trustedProxies } = this.#options;
    const startedMs = this.#dependencies.clock.monotonicMs();
    return new Exchange({
      response,
      head,
      requestId: saneRequestId(head) ?? newId(),
      address: trustedProxies.clientOf(this.#peers.addressOf(response), head.forwardedFor),
      startedMs,
      deadlineAtMs: startedMs + limits.deadlineMs,
      upgrade,
      position: this.#dependencies.freshness?.position,
      onDone: (done) => {
        this.inFlight.remove(done);
        this.#requestLog.ended(done);
        this.#requestLog.inFlight(this.inFlight.size);
        done.endTrace?.();
      },
    });
  }

  /** Never rejects. */
  async #serve(exchange: Exchange): Promise<void> {
    try {
      const hasRoom = this.inFlight.add(exchange);
      this.#requestLog.inFlight(this.inFlight.size);
      requireSoundHead(exchange.head, { isUpgrade: exchange.upgrade !== undefined });
      const isPreflight = exchange.head.method === "OPTIONS";
      if (isPreflight && isUnlistened(exchange)) await this.#dropBody(exchange);
      const answer = isPreflight ? { status: 204 } : await this.#answerOf(exchange, { hasRoom });
      const sending = this.#responder.send(exchange, answer);
      if (sending !== undefined) await sending;
    } catch (error) {
      // Thrown before anything was awaited, as every failure is that leaves the body alone: no byte of it is missed.
      if (isUnlistened(exchange)) await this.#dropBody(exchange);
      await this.#responder.fail(exchange, error);
    }
  }

  /** Drops the body of a request that is answered without its route: a preflight, 404, 405, or one too many. */
  async #dropBody(exchange: Exchange): Promise<void> {
    const body = collectBody(exchange, { bodyBytesMax: 0 }, { budget: this.#bodies, pace: this.#options.limits });
    if (body !== undefined) await dropRest(exchange, body);
  }

  /**
   * Finds the route and starts to collect the body before anything is awaited: the library drops bytes that nothing
   * listens for.
   */
  #answerOf(exchange: Exchange, { hasRoom }: { readonly hasRoom: boolean }): Promise<Answer> {
    const match = this.#findRoute(exchange);
    const { compiled } = match;
    exchange.route = compiled;
    exchange.deadlineAtMs = exchange.startedMs + compiled.deadlineMs;
    this.#admission.requireServing(compiled);
    if (!hasRoom) throw new AppError("too_many_requests", { message: "too many requests at once from this address" });
    const taking = { budget: this.#bodies, pace: this.#options.limits };
    if (compiled.route.streamedBody === true)
      return this.#stages(exchange, compiled, { match, body: streamBody(exchange, taking) });
    const body = collectBody(exchange, this.#widest(exchange, compiled), taking);
    return compiled.readsBodyFirst && body !== undefined
      ? this.#bodyFirst(exchange, { match, body })
      : this.#stages(exchange, compiled, { match, body });
  }

  /** A body may be its sibling's only with a token; whose it is, `#narrowForStrangers` asks before it is waited for. */
  #widest(exchange: Exchange, compiled: CompiledRoute): Pick<CompiledRoute, "bodyBytesMax"> {
    const other = compiled.sibling?.compiled;
    if (other === undefined || this.#callers.tokenOf(exchange) === undefined) return compiled;
    return { bodyBytesMax: Math.max(compiled.bodyBytesMax, other.bodyBytesMax) };
  }

  /** Reads the body, which says which route is called or by whom, before the other stages. */
  async #bodyFirst(
    exchange: Exchange,
    { match, body }: { readonly match: RouteMatch; readonly body: BodyCollector },
  ): Promise<Answer> {
    const read = await this.#readFirst(exchange, { match, body });
    exchange.route = read.compiled;
    exchange.deadlineAtMs = exchange.startedMs + read.compiled.deadlineMs;
    return await this.#stages(exchange, read.compiled, { match, body, ...read });
  }

  async #readFirst(
    exchange: Exchange,
    { match, body }: { readonly match: RouteMatch; readonly body: BodyCollector },
  ): Promise<{ readonly compiled: CompiledRoute; readonly bytes: Buffer; readonly formToken: string | undefined }> {
    try {
      const { head } = exchange;
      await this.#narrowForStrangers(exchange, match.compiled, body);
      const bytes = await body.whole();
      const compiled = routeOfBody(match.compiled, head, bytes);
      return { compiled, bytes, formToken: compiled.route.bearerInForm === true ? formBearer(head, bytes) : undefined };
    } catch (error) {
      if (!body.isRead) await dropRest(exchange, body);
      body.release();
      throw error;
    }
  }

  /** Holds a body to the route's own limit unless its sender is known, so that nobody else may send its sibling's. */
  async #narrowForStrangers(exchange: Exchange, compiled: CompiledRoute, body: BodyCollector): Promise<void> {
    const other = compiled.sibling?.compiled;
    const { contentLength } = exchange.head;
    if (other === undefined || (contentLength !== undefined && contentLength <= compiled.bodyBytesMax)) return;
    try {
      await this.#dependencies.freshness?.before(compiled.route, exchange.head);
      await this.#callers.authenticate(exchange, other.route.area);
    } catch {
      body.narrow(compiled.bodyBytesMax);
    }
  }

  #findRoute(exchange: Exchange): RouteMatch {
    const { method, url } = exchange.head;
    try {
      return this.#routes.find(method, url);
    } catch (error) {
      exchange.errorMembers = this.#routes.meant(method, url)?.route.errorMembers;
      throw error;
    }
  }

  /** Caller, admission, input, handler, reply. Awaits only promises: an await costs every request its share. */
  async #stages(exchange: Exchange, compiled: CompiledRoute, unchecked: Unchecked): Promise<Answer> {
    const { head } = exchange;
    const { route, validator } = compiled;
    const { match, body, formToken } = unchecked;
    let isAdmitted = false;
    let bytes: Buffer = unchecked.bytes ?? EMPTY;
    try {
      if (this.#callers.isAnonymousUpgrade(exchange)) return this.#streams.openAnonymous(exchange, compiled);
      const caller = this.#callers.callerOf(exchange, compiled, formToken);
      const principal = caller instanceof Promise ? await caller : caller;
      this.#admission.admit(exchange, compiled, principal);
      isAdmitted = true;
      const params = this.#routes.paramsOf(match, head.method, head.url);
      const ownLimits = body === undefined ? undefined : compiled.bodyLimits?.(principal, params);
      if (isCollected(body)) {
        if (ownLimits !== undefined) body.narrow(ownLimits.bodyBytesMax);
        if (unchecked.bytes === undefined) bytes = await body.whole();
      }
      const { members: query, pairs, repeated } = validator.query(head.query);
      const reading = sentBody(compiled, head, { body, bytes, query, ownLimits });
      const sent = reading instanceof Promise ? await reading : reading;
      const input = { params, query, repeated, ...sent, principal };
      const request = new CheckedRequest(exchange, compiled, input);
      // The client left while its request was being checked: nothing may be changed for it any more.
      if (!exchange.isOpen) throw deadlineExceeded("the client left before its request was handled");
      const { path } = match;
      const meant = isOfFiles(route, head) ? () => Buffer.from(JSON.stringify(sent.body)) : bytes;
      const reply = await this.#runner.run({ exchange, compiled, path, meant, request });
      if (isUnread(body)) await dropRest(exchange, body);
      const answer = replyAnswer(exchange, compiled, reply, { path, members: query, pairs });
      return answer instanceof Promise ? await answer : answer;
    } catch (error) {
      if (!isAdmitted) this.#reportRefusal(exchange, route, error);
      if (isUnread(body)) await dropRest(exchange, body);
      throw error;
    } finally {
      if (route.rawBody === true) bytes.fill(0);
      body?.release();
    }
  }

  #reportRefusal(exchange: Exchange, route: RouteSpec, error: unknown): void {
    if (!(error instanceof AppError)) return;
    const { subject, requestId, address } = exchange;
    this.#dependencies.onRefused?.({ route, code: error.code, subject, requestId, address });
  }
}

/** True where a body follows that nobody listens for, on a connection that is to be kept. */
function isUnlistened({ head, body, isOpen, endsConnection }: Exchange): boolean {
  return head.hasBody && body === undefined && isOpen && !endsConnection;
}

/** What the handler gets of the body: a stream on routes that take one, else what the bytes mean. */
function sentBody(
  compiled: CompiledRoute,
  head: RequestHead,
  { body, ...sent }: Pick<Unchecked, "body"> & Omit<SentFiles, "body">,
): ReadBody | Promise<ReadBody> {
  const { route } = compiled;
  if (isOfFiles(route, head) && isCollected(body)) return readFilesBody(compiled, head, { body, ...sent });
  if (route.filesBody !== undefined) requireJsonBody(head, sent);
  if (route.streamedBody !== true) return readBody(compiled, head, sent.bytes, sent.ownLimits);
  const stream = body instanceof BodyStream ? body : undefined;
  return { body: streamedBodyOf(head, stream, sent.ownLimits ?? compiled), sentBack: {} };
}

function isCollected(body: Unchecked["body"]): body is BodyCollector {
  return body !== undefined && !(body instanceof BodyStream);
}

function isUnread(body: Unchecked["body"]): body is NonNullable<Unchecked["body"]> {
  return body?.isRead === false;
}

/** The connection of an answer that comes before the last byte of a stream ends with it, and is not left paused. */
function endAfterUnreadStream(exchange: Exchange): void {
  if (!(exchange.body instanceof BodyStream) || exchange.body.isRead) return;
  exchange.endsConnection = true;
  exchange.body.letGo();
}

/**
 * Reads and drops what is left of a body that will not be used, so that its sender sees the answer instead of a reset.
 * The connection of a body that does not end soon ends with the answer: the library sets no idle timeout on one whose
 * answer came before its request's last byte.
 */
async function dropRest(exchange: Exchange, body: BodyCollector | BodyStream): Promise<void> {
  await body.drop(UNUSED_BODY_MS);
  if (!body.isRead && exchange.isOpen) exchange.endsConnection = true;
}

function bodyTimeout(): AppError {
  return new AppError("request_timeout", { message: "the body came too slowly or ended early" });
}

function deadlineExceeded(message: string): AppError {
  return new AppError("deadline_exceeded", { message });
}
