/**
 * The only importer of uWebSockets.js: a small app over it with one handler for every request. Knows nothing of routes,
 * answers or errors. RFC 9112 parsing is the library's; what it lets through by mistake is stopped in request-head.ts.
 */
import { App, SSLApp, us_listen_socket_close, us_socket_local_port } from "uWebSockets.js";
import { StartError } from "../start-error.js";
import type { HttpResponse, TemplatedApp, us_listen_socket } from "uWebSockets.js";
import { requireFreeAddress } from "./address-check.js";

/** What the front uses of a request. Valid only inside the handler's synchronous part. */
export interface RawRequest {
  getUrl(): string;
  /** Undefined when there is no `?`, whatever the library's declarations say. */
  getQuery(): string | undefined;
  /** As sent; method names are case-sensitive (RFC 9110 section 9.1). */
  getCaseSensitiveMethod(): string;
  forEach(callback: (name: string, value: string) => void): void;
}

/**
 * What the front uses of a response. Touching it after an abort or after the end throws, and some misuse ends the
 * process.
 */
export interface RawResponse {
  onAborted(handler: () => void): unknown;
  /** The chunk is emptied when the callback returns: copy it. */
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  onWritable(handler: (offset: number) => boolean): unknown;
  cork(write: () => void): unknown;
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  end(body?: string | Uint8Array, closeConnection?: boolean): unknown;
  /** Takes no arguments here: with a length, even an undefined one, the library waits for a body that never comes. */
  endWithoutBody(): unknown;
  tryEnd(chunk: Uint8Array, totalBytes: number): [boolean, boolean];
  /**
   * A piece of an answer without a length (chunked). False: the rest of it waits in memory, and `onWritable` tells when
   * it is gone.
   */
  write(chunk: string | Uint8Array): boolean;
  getWriteOffset(): number;
  close(): unknown;
  /** 4 bytes of IPv4 or 16 of IPv6; none once the connection is closed. */
  getRemoteAddress(): ArrayBuffer;
  getRemoteAddressAsText(): ArrayBuffer;
}

/** PEM files of the certificate chain and its private key. */
export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface HttpAppOptions {
  readonly tls?: TlsFiles;
  /** Connections beyond this many are closed as they open. */
  readonly connectionsMax: number;
  readonly sockets?: SocketOptions;
}

/** What the front uses of a WebSocket. Void once its session's `closed` was called. */
export interface RawSocket {
  /**
   * 1: sent; 0: a part of it waits in memory, `drained` tells when it is gone; 2: not taken, because too much waits
   * already.
   */
  send(message: string): number;
  getBufferedAmount(): number;
  subscribe(topic: string): unknown;
  unsubscribe(topic: string): unknown;
  /** Sends a close frame and closes; `closed` is called before this returns. */
  end(code: number, reason: string): unknown;
}

/** One WebSocket connection, as the library tells of it. */
export interface SocketSession {
  opened(socket: RawSocket): void;
  /** Undefined: a binary message. */
  message(text: string | undefined): void;
  drained(): void;
  /**
   * A published message was not taken, because too much waited already. Called in the middle of the library's sending:
   * touch no socket.
   */
  dropped(message: string): void;
  closed(): void;
}

/** A request that may become a WebSocket. */
export interface UpgradeOffer {
  /** Subprotocols that the client offers, as sent. */
  readonly protocols: string;
  /**
   * Turns the connection into a WebSocket of this session, if the client is still there. The response is void
   * afterwards.
   */
  accept(session: SocketSession, protocol: string): void;
}

export interface SocketOptions {
  /** Paths that take WebSockets. */
  readonly paths: readonly string[];
  readonly messageBytesMax: number;
  /** Beyond this much unsent, messages to a socket are dropped. */
  readonly backlogBytesMax: number;
  /** A peer that neither sends nor answers a ping for this long is gone. */
  readonly idleSec: number;
}

export interface HttpApp {
  /**
   * Starts to listen; port 0 takes a free one. Rejects when the address cannot be listened on or the certificate cannot
   * be used.
   */
  listen(host: string, port: number): Promise<{ port: number }>;
  /** Takes no new connections; those that are open stay. */
  stopListening(): void;
  /** Sends a text message to every socket that subscribed to the topic. */
  publish(topic: string, message: string): void;
  /** Ends every connection. */
  close(): void;
}

/**
 * Shares the port; the only mode in which a port that was in use a minute ago can be taken again. See address-check.ts.
 */
const SHARED_PORT = 0;

/** The form of listen that takes all three; the library has it, its declarations don't. */
interface ListensWithOptions {
  listen(host: string, port: number, options: number, callback: (socket: us_listen_socket | false) => void): unknown;
}

/**
 * Makes an app that hands every request, whatever its method and path, to `handle`, with an offer when it may become a
 * WebSocket; `handle` must not throw.
 */
export function createHttpApp(
  options: HttpAppOptions,
  handle: (response: RawResponse, request: RawRequest, upgrade?: UpgradeOffer) => void,
): HttpApp {
  const app: TemplatedApp =
    options.tls === undefined
      ? App({})
      : SSLApp({ cert_file_name: options.tls.certFile, key_file_name: options.tls.keyFile });
  let connections = 0;
  let socket: us_listen_socket | undefined;
  app.filter((response, change) => {
    connections += Number(change);
    if (Number(change) > 0 && connections > options.connectionsMax) response.close();
  });
  if (options.sockets !== undefined) takeSockets(app, options.sockets, handle);
  app.any("/*", (response, request) => {
    handle(response, request);
  });
  const stopListening = (): void => {
    if (socket !== undefined) us_listen_socket_close(socket);
    socket = undefined;
  };
  return {
    listen: async (host, port) => {
      if (port !== 0) await requireFreeAddress(host, port);
      return await new Promise((resolve, reject) => {
        (app as unknown as ListensWithOptions).listen(host, port, SHARED_PORT, (opened) => {
          if (opened === false) {
            reject(
              new StartError(
                `cannot listen on ${host} port ${String(port)}: the address is not this machine's, or the port needs more rights`,
              ),
            );
            return;
          }
          socket = opened;
          resolve({ port: us_socket_local_port(opened) });
        });
      });
    },
    stopListening,
    publish: (topic, message) => {
      app.publish(topic, message);
    },
    close: () => {
      stopListening();
      app.close();
    },
  };
}

interface SocketData {
  readonly session: SocketSession;
}

function takeSockets(
  app: TemplatedApp,
  options: SocketOptions,
  handle: (response: HttpResponse, request: RawRequest, upgrade: UpgradeOffer) => void,
): void {
  for (const path of options.paths) {
    app.ws<SocketData>(path, {
      maxPayloadLength: options.messageBytesMax,
      maxBackpressure: options.backlogBytesMax,
      idleTimeout: options.idleSec,
      sendPingsAutomatically: true,
      upgrade: (response, request, context) => {
        // Read now: the request is gone after this turn.
        const [key, protocols, extensions] = [
          request.getHeader("sec-websocket-key"),
          request.getHeader("sec-websocket-protocol"),
          request.getHeader("sec-websocket-extensions"),
        ];
        handle(response, request, {
          protocols,
          accept: (session, protocol) => {
            response.cork(() => {
              response.upgrade<SocketData>({ session }, key, protocol, extensions, context);
            });
          },
        });
      },
      open: (socket) => {
        socket.getUserData().session.opened(socket);
      },
      message: (socket, message, isBinary) => {
        socket.getUserData().session.message(isBinary ? undefined : Buffer.from(message).toString("utf8"));
      },
      drain: (socket) => {
        if (socket.getBufferedAmount() === 0) socket.getUserData().session.drained();
      },
      dropped: (socket, message) => {
        socket.getUserData().session.dropped(Buffer.from(message).toString("utf8"));
      },
      close: (socket) => {
        socket.getUserData().session.closed();
      },
    });
  }
}
