/** The stage that answers a request: with a reply, with a stream, or with its failure. */
import type { Clock } from "../../clock.js";
import type { AppError } from "../../errors.js";
import type { Exchange } from "../request/exchange.js";
import type { Answer } from "./answer.js";
import { asAppError, errorAnswer } from "./error-answer.js";
import type { RequestLog } from "./request-log.js";
import { sendAnswer } from "./send-answer.js";
import type { StreamOpener } from "./stream-opener.js";

export interface ResponderDependencies {
  readonly clock: Clock;
  readonly requestLog: RequestLog;
  readonly streams: StreamOpener;
  /** While true, answers close their connections. */
  readonly isLeaving: () => boolean;
}

export class Responder {
  readonly #dependencies: ResponderDependencies;

  constructor(dependencies: ResponderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Sends an answer, unless the request was answered already or the client is gone. Returns a promise only where the
   * answer goes out in pieces: each promise would cost every request its share.
   */
  send(exchange: Exchange, answer: Answer): Promise<void> | undefined {
    const { clock, streams, isLeaving } = this.#dependencies;
    let sending: Promise<void> | undefined;
    // Once for all: the answer that is under way must not change its mind.
    if (exchange.isOpen && (answer.closes === true || isLeaving())) exchange.endsConnection = true;
    try {
      if (answer.stream === undefined) sending = sendAnswer(exchange, answer, clock);
      else streams.open(exchange, answer, answer.stream);
      return sending?.finally(() => {
        wipe(exchange, answer);
      });
    } finally {
      if (sending === undefined) wipe(exchange, answer);
    }
  }

  /** Answers with a failure, if an answer can still be given, and logs it. Never rejects. */
  async fail(exchange: Exchange, thrown: unknown): Promise<void> {
    const { requestLog } = this.#dependencies;
    const { error, bug } = asAppError(thrown, exchange.requestId);
    // A file that turns out broken half way comes too late for an answer; the log still needs to say so.
    if (exchange.isOpen || error.code === "data_corrupt") requestLog.failed(exchange, error, bug);
    else requestLog.failedAfterEnd(exchange, error);
    try {
      const sending = this.send(exchange, errorAnswer(exchange, error));
      if (sending !== undefined) await sending;
    } catch (second) {
      requestLog.notSent(exchange, asAppError(second, "").bug);
      exchange.closeUnlessDone();
    }
  }

  /** Answers with a failure now and aborts the work; what the work still returns or throws is not sent. */
  giveUp(exchange: Exchange, error: AppError): void {
    void this.fail(exchange, error);
    exchange.abort();
  }
}

/** Overwrites the vault's bytes, which are secrets (the unsealer key); other areas may answer bytes that they keep. */
function wipe(exchange: Exchange, { body }: Answer): void {
  if (exchange.route?.route.area === "vault" && body instanceof Uint8Array) body.fill(0);
}
