/**
 * The front's driver over uWebSockets.js: a small app with one handler for every request. The library parses RFC 9112;
 * request/request-head.ts stops what it accepts by mistake.
 */
import { HEAD_BYTES_MAX } from "../../contract/head-limits.js";
import { StartError } from "../../start-error.js";
import { requireFreeAddress } from "./address-check.js";
import type { HandleRequest, HttpApp, HttpAppOptions, HttpDriver, SocketOptions, SocketSession } from "./driver.js";
import { loadUwsLibrary, type UwsApp, type UwsLibrary, type UwsListenSocket } from "./uws-library.js";

/** Shares the port: only in this mode a port that was in use a minute ago can be taken again. See address-check.ts. */
const SHARED_PORT = 0;

/** An idle connection is closed after this time; compiled into the library. */
export const UWS_KEEP_ALIVE_SEC = 10;

/**
 * Loads the library.
 * @throws UwsUnavailable when it has no binary for this Node, this system or its C library
 */
export function loadUws(): HttpDriver {
  // The library reads the variable when it is loaded.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEAD_BYTES_MAX);
  const library = loadUwsLibrary();
  return { name: "uws", createHttpApp: (options, handle) => createHttpApp(library, options, handle) };
}

function createHttpApp(library: UwsLibrary, options: HttpAppOptions, handle: HandleRequest): HttpApp {
  const { App, SSLApp, us_listen_socket_close, us_socket_local_port } = library;
  const app: UwsApp =
    options.tls === undefined
      ? App({})
      : SSLApp({ cert_file_name: options.tls.certFile, key_file_name: options.tls.keyFile });
  let connections = 0;
  let socket: UwsListenSocket | undefined;
  app.filter((response, change) => {
    connections += change;
    if (change > 0 && connections > options.connectionsMax) response.close();
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
        app.listen(host, port, SHARED_PORT, (opened) => {
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

function acceptSockets(app: UwsApp, options: SocketOptions, handle: HandleRequest): void {
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
              response.upgrade({ session }, key, protocol, extensions, context);
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
