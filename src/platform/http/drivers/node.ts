/**
 * The front's driver over Node's own http and https, for systems that have no binary of uWebSockets.js. Node's parser
 * reads RFC 9112 strictly; node-request.ts stops what it accepts and this front does not.
 */
import { readFileSync } from "node:fs";
import http, { type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import https from "node:https";
import { Server as NetServer, Socket, type AddressInfo } from "node:net";
import { HEAD_BYTES_MAX } from "../../contract/head-limits.js";
import { StartError } from "../../start-error.js";
import type { HandleRequest, HttpApp, HttpAppOptions, HttpDriver } from "./driver.js";
import { NodeConnection } from "./node-connection.js";
import { offersWebSocket, refusalOf } from "./node-request.js";
import { NodeSockets } from "./node-sockets.js";

/** The driver that needs nothing but Node and npm ws. */
export const nodeDriver: HttpDriver = { name: "node", createHttpApp };

/** Time for a request's head, and for the handshake of TLS. */
const HEAD_MS = 10_000;
const HEAD_CHECK_MS = 1000;

function createHttpApp(options: HttpAppOptions, handle: HandleRequest): HttpApp {
  const sockets = options.sockets === undefined ? undefined : new NodeSockets(options.sockets);
  const connections = new Map<Socket, NodeConnection>();
  const connectionOf = (socket: Socket): NodeConnection => {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const connection = new NodeConnection(socket, handle);
    connections.set(socket, connection);
    socket.once("close", () => {
      connections.delete(socket);
    });
    return connection;
  };
  const opened = new Set<Socket>();
  const server = createServer(options, (socket) => {
    opened.add(socket);
    socket.once("close", () => {
      opened.delete(socket);
    });
  });
  serveRequests(server, connectionOf, sockets);
  return {
    listen: async (host, port) => await listen(server, host, port),
    stopListening: () => {
      // Not by the method of http: it would also close idle connections, whose next request gets an answer yet.
      NetServer.prototype.close.call(server);
    },
    publish: (topic, message) => sockets?.publish(topic, message),
    close: () => {
      server.close();
      sockets?.close();
      for (const connection of connections.values()) connection.close();
      for (const socket of opened) if (!connections.has(socket)) socket.destroy();
    },
  };
}

function createServer(options: HttpAppOptions, onConnection: (socket: Socket) => void): Server {
  const { keepAliveSec, tls, connectionsMax, sockets } = options;
  const settings: ServerOptions = {
    IncomingMessage: requestClass(sockets?.paths ?? []),
    insecureHTTPParser: false,
    // Counted by connectionOf: an answer of Node's own would let later requests of the connection pass.
    requireHostHeader: false,
    maxHeaderSize: HEAD_BYTES_MAX,
    headersTimeout: HEAD_MS,
    connectionsCheckingInterval: HEAD_CHECK_MS,
    // The pace of bodies is the front's.
    requestTimeout: 0,
    keepAliveTimeout: keepAliveSec * 1000,
    noDelay: true,
  };
  const server =
    tls === undefined
      ? http.createServer(settings)
      : https.createServer({
          ...settings,
          cert: readFileSync(tls.certFile),
          key: readFileSync(tls.keyFile),
          minVersion: "TLSv1.2",
          handshakeTimeout: HEAD_MS,
        });
  // Without it Node drops the fields behind the two thousandth in silence.
  server.maxHeadersCount = 0;
  server.maxConnections = connectionsMax;
  server.on("connection", onConnection);
  return server;
}

/** Requests that Node takes for the beginning of another protocol only where this driver will speak it. */
function requestClass(paths: readonly string[]): typeof IncomingMessage {
  return class extends http.IncomingMessage {
    #asks = false;

    /** Read by Node once the head is complete. Without an override any `Upgrade` would detach the connection. */
    get upgrade(): boolean {
      return this.#asks && (this.method === "CONNECT" || offersWebSocket(this, paths));
    }

    set upgrade(asks: boolean | null) {
      // Node's constructor sets it before the field exists.
      if (#asks in this) this.#asks = asks === true;
    }
  };
}

function serveRequests(
  server: Server,
  connectionOf: (socket: Socket) => NodeConnection,
  sockets: NodeSockets | undefined,
): void {
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    connectionOf(request.socket).take({ request, response, expectsContinue: false });
  };
  server.on("request", serve);
  // RFC 9110 section 10.1.1: another expectation may be ignored.
  server.on("checkExpectation", serve);
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    connectionOf(request.socket).take({ request, response, expectsContinue: true });
  });
  server.on("connect", (request) => {
    connectionOf(request.socket).takeDetached(request, undefined);
  });
  server.on("upgrade", (request, socket, head) => {
    connectionOf(request.socket).takeDetached(request, sockets?.offer(request, socket, head));
  });
  server.on("clientError", (error: NodeJS.ErrnoException & { rawPacket?: Buffer; bytesParsed?: number }, socket) => {
    const refusal = refusalOf(error);
    if (!(socket instanceof Socket) || !socket.writable) socket.destroy();
    // Nothing was sent at all: an answer would be the first word.
    else if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.bytesRead === 0) socket.destroy();
    else if (refusal === undefined) connectionOf(socket).close();
    else connectionOf(socket).refuse(refusal);
  });
}

async function listen(server: Server, host: string, port: number): Promise<{ port: number }> {
  return await new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      const reason =
        error.code === "EADDRINUSE"
          ? "another program listens there; stop it or choose another port"
          : "the address is not this machine's, or the port needs more rights";
      reject(new StartError(`cannot listen on ${host} port ${String(port)}: ${reason}`));
    };
    server.once("error", fail);
    server.listen({ host, port }, () => {
      server.off("error", fail);
      // A connection that cannot be accepted (no file descriptor is left) must not end the process.
      server.on("error", () => undefined);
      resolve({ port: (server.address() as AddressInfo).port });
    });
  });
}
