/**
 * The only importer of uWebSockets.js: a small app over it with one handler for every request. Knows nothing of routes,
 * answers or errors. The library parses RFC 9112; request/request-head.ts stops what it accepts by mistake.
 */
import { createRequire } from "node:module";
import type * as uWebSockets from "uWebSockets.js";
import type { HttpResponse, TemplatedApp, us_listen_socket } from "uWebSockets.js";
import { HEAD_BYTES_MAX } from "../contract/head-limits.js";
import { StartError } from "../start-error.js";
import { requireFreeAddress } from "./address-check.js";

// The library reads the variable when it is loaded, and a bundle loads all imports before any code: so it is required.
process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEAD_BYTES_MAX);
const { App, SSLApp, us_listen_socket_close, us_socket_local_port } = createRequire(import.meta.url)(
  "uWebSockets.js",
) as typeof uWebSockets;

/** The part of the library's request that is used here. Valid only in the synchronous part of the handler. */
export interface RawRequest {
  getUrl(): string;
  /** Undefined when there is no `?`; the library's declarations do not say so. */
  getQuery(): string | undefined;
  /** As sent; method names are case-sensitive (RFC 9110 section 9.1). */
  getCaseSensitiveMethod(): string;
  forEach(callback: (name: string, value: string) => void): void;
}

/**
 * The part of the library's response that is used here. Touching it after an abort or after the end throws, and some
 * misuse ends the process.
 */
export interface RawResponse {
  onAborted(handler: () => void): unknown;
  /** The library empties the chunk when the callback returns: copy it. */
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
  /**
   * Reads nothing more of the connection until `resume`. What was read already is still given to `onData`, its last
   * chunk too. Meanwhile no time limit of the library runs, and a client that leaves may go unnoticed.
   */
  pause(): unknown;
  resume(): unknown;
  onWritable(handler: (offset: number) => boolean): unknown;
  cork(write: () => void): unknown;
  writeStatus(status: string): unknown;
  writeHeader(name: string, value: string): unknown;
  end(body?: string | Uint8Array, closeConnection?: boolean): unknown;
  /** Declared without arguments: with a length, even an undefined one, the library waits for a body. */
  endWithoutBody(): unknown;
  tryEnd(chunk: Uint8Array, totalBytes: number): [boolean, boolean];
  /**
   * Writes a piece of an answer without a length (chunked). False when a part of it waits in memory; `onWritable` is
   * called when that part is sent.
   */
  write(chunk: string | Uint8Array): boolean;
  getWriteOffset(): number;
  close(): unknown;
  /** 4 bytes of IPv4 or 16 of IPv6; empty once the connection is closed. */
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
  /** Further connections are closed as they open. */
  readonly connectionsMax: number;
  readonly sockets?: SocketOptions;
}

/** The part of the library's WebSocket that is used here. Must not be touched after its session's `closed`. */
export interface RawSocket {
  /**
   * Returns 1 when the message is sent, 0 when a part of it waits in memory (`drained` is called when it is sent), 2
   * when it was dropped because too much is waiting already.
   */
  send(message: string): number;
  getBufferedAmount(): number;
  subscribe(topic: string): unknown;
  unsubscribe(topic: string): unknown;
  /** Sends a close frame and closes; `closed` is called before this returns. */
  end(code: number, reason: string): unknown;
}

/** Receives the library's events of one WebSocket connection. */
export interface SocketSession {
  opened(socket: RawSocket): void;
  /** @param text undefined for a binary message */
  message(text: string | undefined): void;
  drained(): void;
  /**
   * A published message was dropped, because too much was waiting already. Called while the library is sending: no
   * socket may be touched.
   */
  dropped(message: string): void;
  closed(): void;
}

/** A request that may become a WebSocket. */
export interface UpgradeOffer {
  /** Subprotocols that the client offers, as sent. */
  readonly protocols: string;
  /** Turns the connection into a WebSocket of this session. The response must not be touched afterwards. */
  accept(session: SocketSession, protocol: string): void;
}

export interface SocketOptions {
  /** Paths that take WebSockets. */
  readonly paths: readonly string[];
  readonly messageBytesMax: number;
  /** Messages to a socket with this many unsent bytes are dropped. */
  readonly backlogBytesMax: number;
  /** A peer that neither sends nor answers a ping for this long is disconnected. */
  readonly idleSec: number;
}

export interface HttpApp {
  /**
   * Starts to listen; port 0 takes a free one.
   * @throws StartError when the address cannot be listened on
   */
  listen(host: string, port: number): Promise<{ port: number }>;
  /** Accepts no new connections; open ones stay. */
  stopListening(): void;
  /** Sends a text message to every socket that subscribed to the topic. */
  publish(topic: string, message: string): void;
  /** Closes every connection. */
  close(): void;
}

/** Shares the port: only in this mode a port that was in use a minute ago can be taken again. See address-check.ts. */
const SHARED_PORT = 0;

/** The form of `listen` with all three arguments, which the library has and its declarations lack. */
interface ListensWithOptions {
  listen(host: string, port: number, options: number, callback: (socket: us_listen_socket | false) => void): unknown;
}

/**
 * Makes an app that passes every request to `handle`, whatever its method and path, with an offer when it may become a
 * WebSocket. Throws when the certificate cannot be used.
 * @param handle must not throw
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
  if (options.sockets !== undefined) acceptSockets(app, options.sockets, handle);
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

function acceptSockets(
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
        // Read now: the request cannot be read after this call.
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
