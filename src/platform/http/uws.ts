/**
 * The only importer of uWebSockets.js: a small app over it with one handler for every request. Knows nothing of routes, answers
 * or errors. RFC 9112 parsing is the library's; what it lets through by mistake is stopped in request-head.ts.
 */
import { App, SSLApp, us_listen_socket_close, us_socket_local_port } from "uWebSockets.js";
import { StartError } from "../start-error.js";
import type { TemplatedApp, us_listen_socket } from "uWebSockets.js";
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

/** What the front uses of a response. Touching it after an abort or after the end throws, and some misuse ends the process. */
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
  getWriteOffset(): number;
  close(): unknown;
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
}

export interface HttpApp {
  /** Starts to listen; port 0 takes a free one. Rejects when the address cannot be listened on or the certificate cannot be used. */
  listen(host: string, port: number): Promise<{ port: number }>;
  /** Takes no new connections; those that are open stay. */
  stopListening(): void;
  /** Ends every connection. */
  close(): void;
}

/** Shares the port; the only mode in which a port that was in use a minute ago can be taken again. See address-check.ts. */
const SHARED_PORT = 0;

/** The form of listen that takes all three; the library has it, its declarations don't. */
interface ListensWithOptions {
  listen(host: string, port: number, options: number, callback: (socket: us_listen_socket | false) => void): unknown;
}

/** Makes an app that hands every request, whatever its method and path, to `handle`; `handle` must not throw. */
export function createHttpApp(options: HttpAppOptions, handle: (response: RawResponse, request: RawRequest) => void): HttpApp {
  const app: TemplatedApp = options.tls === undefined ? App({}) : SSLApp({ cert_file_name: options.tls.certFile, key_file_name: options.tls.keyFile });
  let connections = 0;
  let socket: us_listen_socket | undefined;
  app.filter((response, change) => {
    connections += Number(change);
    if (Number(change) > 0 && connections > options.connectionsMax) response.close();
  });
  app.any("/*", handle);
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
            reject(new StartError(`cannot listen on ${host} port ${String(port)}: the address is not this machine's, or the port needs more rights`));
            return;
          }
          socket = opened;
          resolve({ port: us_socket_local_port(opened) });
        });
      });
    },
    stopListening,
    close: () => {
      stopListening();
      app.close();
    },
  };
}
