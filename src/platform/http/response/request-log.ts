/** The last stage of a request: what the log and the metrics say of it. */
import type { Clock } from "../../clock.js";
import { HTTP_METHODS } from "../../contract/route.js";
import type { AppError } from "../../errors.js";
import type { Log, LogFields } from "../../log.js";
import type { Exchange } from "../request/exchange.js";

/** What is counted of requests. */
export interface HttpMetrics {
  /** @param status 0 when the client left before there was an answer */
  requestEnded(routeId: string, method: string, status: number, seconds: number): void;
  requestsInFlight(count: number): void;
}

export interface RequestLogDependencies {
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics?: HttpMetrics;
}

/** Label of requests that reached no route. */
const NO_ROUTE = "none";
/** Label of methods that no route has: clients must not be able to make labels. */
const OTHER_METHOD = "other";
const LABELLED_METHODS: ReadonlySet<string> = new Set([...HTTP_METHODS, "HEAD", "OPTIONS"]);
/** Statuses with which a gateway reports that an upstream server failed (RFC 9110, sections 15.6.3 and 15.6.5). */
const UPSTREAM_ERRORS: ReadonlySet<number> = new Set([502, 504]);

export interface RequestLogOptions {
  /** Writes a line for each request that ended, with the client's address. */
  readonly isAccessLogged: boolean;
}

export class RequestLog {
  readonly #isAccessLogged: boolean;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #metrics: HttpMetrics | undefined;

  constructor(options: RequestLogOptions, dependencies: RequestLogDependencies) {
    this.#isAccessLogged = options.isAccessLogged;
    this.#log = dependencies.log;
    this.#clock = dependencies.clock;
    this.#metrics = dependencies.metrics;
  }

  /** Reports how many requests are in flight. */
  inFlight(count: number): void {
    this.#metrics?.requestsInFlight(count);
  }

  /** Reports a request that ended, whichever way. */
  ended(exchange: Exchange): void {
    const { method } = exchange.head;
    const durationMs = this.#clock.monotonicMs() - exchange.startedMs;
    this.#metrics?.requestEnded(
      exchange.route?.route.id ?? NO_ROUTE,
      LABELLED_METHODS.has(method) ? method : OTHER_METHOD,
      exchange.status,
      durationMs / 1000,
    );
    const fields = (): LogFields => ({
      ...fieldsOf(exchange),
      method: LABELLED_METHODS.has(method) ? method : OTHER_METHOD,
      status: exchange.status,
      duration_ms: Math.round(durationMs * 1000) / 1000,
    });
    // The path stays out: it may have ids of records, and what a client sent in place of one.
    if (this.#isAccessLogged) this.#log.info("request", { ...fields(), address: exchange.address });
    else this.#log.debug("request", fields);
  }

  /** Reports a failure that becomes an answer; only those with a status of 500 and more are worth a line. */
  failed(exchange: Exchange, error: AppError, bug: Error | undefined): void {
    const { status, code } = error;
    // 501 and 505 say what the client asked for, not what the server failed at.
    if (status < 500 || code === "malformed_request") return;
    const fields = { ...fieldsOf(exchange), status, code };
    // The client of a user's own system logs when that system begins to fail; a line for each request would repeat it.
    if (UPSTREAM_ERRORS.has(status)) this.#log.debug("another system failed a request", () => fields);
    else if (status === 503) this.#log.warn("request refused", { ...fields, error: bug ?? error.cause });
    else this.#log.error("request failed", { ...fields, error: bug ?? error.cause });
  }

  /** Reports a failure of work whose request was already answered or abandoned. */
  failedAfterEnd(exchange: Exchange, error: AppError): void {
    this.#log.debug("work ended after its request", () => ({ ...fieldsOf(exchange), code: error.code }));
  }

  /** Reports that the answer to a failure could not be sent. */
  notSent(exchange: Exchange, bug: Error | undefined): void {
    this.#log.error("answer not sent", { ...fieldsOf(exchange), error: bug });
  }

  /** Reports a request that failed before there was an exchange. */
  notTaken(bug: Error | undefined): void {
    this.#log.error("request not taken", { error: bug });
  }
}

function fieldsOf(exchange: Exchange): { request_id: string; route: string; subject?: string } {
  return {
    request_id: exchange.requestId,
    route: exchange.route?.route.id ?? NO_ROUTE,
    ...(exchange.subject === undefined ? {} : { subject: exchange.subject }),
  };
}
