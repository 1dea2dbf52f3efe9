/**
 * One connection of the driver over Node's http. Node reads the requests that a client pipelines all at once; here each
 * is served when the answer before it is sent, and none behind an answer that ends the connection.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { HandleRequest, RawRequest, Refusal, UpgradeOffer } from "./driver.js";
import { LastOutput } from "./node-output.js";
import { headRefusal, noRequest, rawRequest } from "./node-request.js";
import { NodeResponse, type ResponseConnection } from "./node-response.js";
import { addressBytes, addressText } from "./peer-bytes.js";

/** A request as Node hands it over. */
export interface TakenRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client waits for 100 before it sends the body. */
  readonly expectsContinue: boolean;
}

/** Something to do when the answers before it are sent. */
interface Waiting {
  readonly request: IncomingMessage | undefined;
  readonly start: () => void;
}

/** Time for the other side to take the last bytes and to close. */
const LAST_BYTES_MS = 1000;

export class NodeConnection implements ResponseConnection {
  readonly peer: Uint8Array<ArrayBuffer>;
  readonly peerText: string;
  readonly #socket: Socket;
  readonly #handle: HandleRequest;
  readonly #waiting: Waiting[] = [];
  #current: NodeResponse | undefined;
  /** Nothing that still comes is served. */
  #isEnding = false;

  constructor(socket: Socket, handle: HandleRequest) {
    this.#socket = socket;
    this.#handle = handle;
    this.peer = addressBytes(socket.remoteAddress ?? "");
    this.peerText = addressText(this.peer);
    // As in uWebSockets.js, a client that closes its side has left.
    for (const event of ["end", "close"]) {
      socket.once(event, () => {
        this.#leave();
      });
    }
    socket.on("error", () => undefined);
  }

  /** Serves a request in its turn. */
  take(taken: TakenRequest): void {
    const { request, response } = taken;
    if (this.#isEnding) {
      request.resume();
      return;
    }
    this.#enqueue({
      request,
      start: () => {
        this.#serve(taken);
      },
    });
    response.once("finish", () => {
      this.#next();
    });
  }

  /**
   * Serves a request whose connection Node has handed over: it becomes a WebSocket, or ends with the answer.
   * @param upgrade undefined where it cannot become one
   */
  takeDetached(request: IncomingMessage, upgrade: UpgradeOffer | undefined): void {
    if (this.#isEnding) return;
    this.#enqueue({
      request: undefined,
      start: () => {
        this.#answerLast(rawRequest(request, headRefusal(request)), upgrade);
      },
    });
  }

  /** Refuses what the parser could not read. */
  refuse(refusal: Refusal): void {
    if (this.#isEnding) return;
    const last = this.#waiting.at(-1);
    // The end of a request's body is broken, which nobody has begun to serve.
    if (last?.request?.complete === false) this.#waiting.pop();
    if (this.#waiting.length === 0 && this.#current?.awaitsBody === true) {
      this.#current.breakBody();
      return;
    }
    this.#enqueue({
      request: undefined,
      start: () => {
        this.#answerLast(noRequest(refusal));
      },
    });
  }

  /** Ends the connection behind what was written to it. What still comes is dropped, so that it resets nothing. */
  endSoon(): void {
    if (this.#isEnding) return;
    this.#end();
    this.#socket.end();
    this.#destroyIn(LAST_BYTES_MS);
    this.#socket.resume();
  }

  /** Closes the connection as soon as what was written to it is handed to the system. */
  close(): void {
    this.#end();
    this.#current?.abort();
    if (this.#socket.writableLength === 0) {
      this.#socket.destroy();
      return;
    }
    this.#socket.end(() => {
      this.#socket.destroy();
    });
    this.#destroyIn(LAST_BYTES_MS);
  }

  #enqueue(waiting: Waiting): void {
    if (this.#current === undefined && this.#waiting.length === 0) {
      waiting.start();
      return;
    }
    this.#waiting.push(waiting);
    // What was read already is parsed on; nothing more is read until it is served.
    this.#socket.pause();
  }

  #next(): void {
    this.#current = undefined;
    if (this.#isEnding) return;
    const next = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#socket.resume();
    next?.start();
  }

  #serve({ request, response, expectsContinue }: TakenRequest): void {
    const refusal = headRefusal(request);
    // Behind the head of a request that offers another protocol Node drops what came in the same packet, and reads on
    // somewhere in what follows.
    const isLast = refusal !== undefined || request.headers.upgrade !== undefined;
    const current = new NodeResponse({ request, output: response, connection: this, isLast });
    this.#current = current;
    if (expectsContinue && refusal === undefined) response.writeContinue();
    this.#handle(current, rawRequest(request, refusal));
    current.dropUnheardBody();
  }

  #answerLast(request: RawRequest, upgrade?: UpgradeOffer): void {
    const output = new LastOutput(this.#socket);
    this.#current = new NodeResponse({ request: undefined, output, connection: this, isLast: true });
    this.#handle(this.#current, request, upgrade);
  }

  #leave(): void {
    this.#end();
    this.#current?.abort();
    this.#socket.end();
    this.#destroyIn(LAST_BYTES_MS);
  }

  #end(): void {
    this.#isEnding = true;
    for (const { request } of this.#waiting.splice(0)) request?.resume();
  }

  #destroyIn(ms: number): void {
    const timer = setTimeout(() => {
      this.#socket.destroy();
    }, ms).unref();
    this.#socket.once("close", () => {
      clearTimeout(timer);
    });
  }
}
