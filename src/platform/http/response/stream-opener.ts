/** Turns an answered request into a stream, over the transport that the client asked for: SSE or WebSocket. */
import { formatSubject } from "../../auth/principal.js";
import type { Clock } from "../../clock.js";
import type { StreamSource } from "../../contract/stream.js";
import { assert } from "../../errors.js";
import type { CompiledRoute } from "../compiled-route.js";
import { shuttingDown, type Admission } from "../limits/admission.js";
import type { InFlight } from "../limits/in-flight.js";
import type { Authenticate, CallerReader } from "../request/caller.js";
import type { Exchange } from "../request/exchange.js";
import { readProtocols, type FirstMessage } from "../socket-messages.js";
import { Sockets, type AdmittedStream } from "../sockets.js";
import type { UpgradeOffer } from "../drivers/driver.js";
import type { Freshness } from "../freshness.js";
import type { Answer } from "./answer.js";
import { StreamAnswer } from "./stream-answer.js";
import { Streams } from "./streams.js";

export interface StreamOpenerDependencies {
  readonly authenticate: Authenticate;
  /** In a node of a cluster. */
  readonly freshness?: Freshness;
  readonly callers: CallerReader;
  readonly admission: Admission;
  readonly inFlight: InFlight;
  readonly clock: Clock;
  /** Sends a text to every WebSocket of this server that joined the topic. */
  readonly publish: (topic: string, message: string) => void;
}

export class StreamOpener {
  readonly #dependencies: StreamOpenerDependencies;
  readonly #streams: Streams;
  readonly #sockets: Sockets;

  constructor(dependencies: StreamOpenerDependencies) {
    this.#dependencies = dependencies;
    this.#streams = new Streams(dependencies);
    this.#sockets = new Sockets({ ...dependencies, streams: this.#streams });
  }

  /**
   * Continues an admitted request as a stream. It no longer counts as a request in flight: it may last for days.
   * @param answer status and headers
   */
  open(exchange: Exchange, answer: Answer, source: StreamSource): void {
    const { callers, inFlight, clock } = this.#dependencies;
    const { route: compiled, principal } = exchange;
    const token = callers.tokenOf(exchange);
    if (!exchange.isOpen || compiled === undefined || principal === undefined || token === undefined) return;
    if (exchange.upgrade !== undefined) {
      this.#acceptSocket(exchange, exchange.upgrade, compiled, { principal, token, source });
      return;
    }
    inFlight.remove(exchange);
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
    stream.start(answer, source, { nowMs: clock.monotonicMs(), onClosed: release });
  }

  /**
   * Accepts a WebSocket whose token comes with its first message; nothing is looked up or revealed before. Returns what
   * the request is logged with.
   */
  openAnonymous(exchange: Exchange, compiled: CompiledRoute): Answer {
    if (exchange.upgrade !== undefined) this.#acceptSocket(exchange, exchange.upgrade, compiled, undefined);
    return { status: 101 };
  }

  /** Ends every stream, and those that are still to open. Returns how many there were. */
  endAll(): number {
    this.#sockets.endUnauthenticated();
    return this.#streams.endAll();
  }

  #acceptSocket(
    exchange: Exchange,
    upgrade: UpgradeOffer,
    compiled: CompiledRoute,
    admitted: AdmittedStream | undefined,
  ): void {
    if (!exchange.isOpen) return;
    const session = this.#sockets.session({
      compiled,
      admitted,
      admitByMessage: async (message) => await this.#admitByMessage(exchange, compiled, message),
      authenticate: (token) => this.#dependencies.authenticate(token, compiled.route.area),
    });
    exchange.finish(101);
    upgrade.accept(session, readProtocols(upgrade.protocols).protocol);
  }

  /** The checks of a request, for a WebSocket that sends its token and its query with the first message. */
  async #admitByMessage(
    exchange: Exchange,
    compiled: CompiledRoute,
    { token, query }: FirstMessage,
  ): Promise<AdmittedStream> {
    const { admission, authenticate, freshness } = this.#dependencies;
    if (admission.isDraining) throw shuttingDown();
    await freshness?.before(compiled.route, exchange.head);
    const principal = await authenticate(token, compiled.route.area);
    compiled.check?.(principal);
    admission.takeRate(compiled, formatSubject(principal.subject));
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
}
