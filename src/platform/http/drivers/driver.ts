/**
 * What the front needs of an HTTP library. Two drivers offer it: uws.ts and node.ts. A driver knows nothing of routes,
 * answers or errors.
 */

/** Why bytes are not served. */
export interface Refusal {
  readonly status: 400 | 408 | 413 | 431 | 501 | 505;
  /** In words, for the client. */
  readonly reason: string;
}

/** The part of the library's request that is used here. Valid only in the synchronous part of the handler. */
export interface RawRequest {
  getUrl(): string;
  /** Undefined when there is no `?`; the library's declarations do not say so. */
  getQuery(): string | undefined;
  /** As sent; method names are case-sensitive (RFC 9110 section 9.1). */
  getCaseSensitiveMethod(): string;
  /** Names in lower case, in the order of the head. */
  forEach(callback: (name: string, value: string) => void): void;
  /** Given by a driver that lets the front refuse what is no request in its own form; the connection ends then. */
  readonly fault?: Refusal | undefined;
}

/**
 * The part of the library's response that is used here. Touching it after an abort or after the end throws, and some
 * misuse ends the process. A header's value may hold further lines, each behind a CRLF; where it ends with a CRLF, it
 * ends the head.
 */
export interface RawResponse {
  onAborted(handler: () => void): unknown;
  /**
   * The library empties the chunk when the callback returns: copy it.
   * @param onBroken called where the rest of the body cannot be read, by a driver that lets the front answer that
   */
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void, onBroken: () => void): unknown;
  /** Stops reading the request's body; a piece that was read already may still come. */
  pause(): unknown;
  /** Goes on reading the request's body. To be called before the answer's end where `pause` was called. */
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
   * Writes a piece of an answer without a length (chunked), whose bytes never change. False when a part of it waits in
   * memory; `onWritable` is called when that part is sent.
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
  /** A connection on which no request comes for this long is closed; uWebSockets.js has 10 s of its own. */
  readonly keepAliveSec: number;
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

/**
 * Receives every request, whatever its method and path, with an offer where it may become a WebSocket. Must not throw.
 */
export type HandleRequest = (response: RawResponse, request: RawRequest, upgrade?: UpgradeOffer) => void;

/** An HTTP library behind the interface of this file. */
export interface HttpDriver {
  readonly name: "uws" | "node";
  /** Makes an app that does not listen yet. Throws when the certificate cannot be used. */
  createHttpApp(options: HttpAppOptions, handle: HandleRequest): HttpApp;
}
