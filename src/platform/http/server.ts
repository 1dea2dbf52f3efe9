/** A server on one address: compiles its routes, listens, and stops without losing admitted requests. */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { nextTurn } from "../concurrency/next-turn.js";
import type { Area, BoundRoute } from "../contract/route.js";
import { TrustedProxies } from "../net/client-address.js";
import { Dispatcher, type DispatchDependencies } from "./dispatch.js";
import { compileBoundRoute, type CompiledRoute } from "./compiled-route.js";
import { HTTP_LIMITS, type HttpLimits } from "./limits/limits.js";
import { Router } from "./router.js";
import { SOCKET_LIMITS } from "./sockets.js";
import type { HttpDriver, TlsFiles } from "./drivers/driver.js";

export interface ServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly tls?: TlsFiles;
  /** Overrides single limits. */
  readonly limits?: Partial<HttpLimits>;
  /** Areas served on this address; all when absent. The service's own routes are always served. */
  readonly areas?: readonly Area[];
  /**
   * 32 bytes, the same after a restart. Random when absent: then a repeat under an Idempotency-Key from before a
   * restart counts as another request.
   */
  readonly requestHashKey?: Uint8Array;
  /** Addresses and CIDR networks whose X-Forwarded-For is trusted; their form has been checked. */
  readonly trustedProxies?: readonly string[];
  /** Whether the log has a line for each request. */
  readonly isAccessLogged?: boolean;
}

export interface ServerDependencies extends Omit<DispatchDependencies, "publish"> {
  readonly routes: readonly BoundRoute[];
  readonly driver: HttpDriver;
}

export interface Server {
  /** Resolves when connections are accepted. Rejects when the address cannot be listened on. */
  listen(): Promise<{ readonly port: number }>;
  /**
   * Serves on, also on new connections, but ends each connection after its answer: the time in which a load balancer
   * notices that the server is no longer ready, and its connections move.
   */
  leave(): void;
  /**
   * Accepts no new connections, lets admitted requests finish for up to `graceMs`, answers the rest with 503 and aborts
   * their work, and closes every connection. Does not wait for handlers that ignore their signal.
   */
  stop(options: { readonly graceMs: number }): Promise<void>;
}

/** Time for the 503 answers after the grace period, and for the end messages of streams, to be sent. */
const LAST_ANSWERS_MS = 250;

/**
 * Makes a server, which does not listen yet.
 * @throws Error when two routes share method and path, or a schema does not compile
 */
export function createServer(options: ServerOptions, dependencies: ServerDependencies): Server {
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const router = new Router<CompiledRoute>();
  const socketPaths: string[] = [];
  for (const bound of dependencies.routes) {
    const { route } = bound;
    const isServed = options.areas === undefined || route.area === "service" || options.areas.includes(route.area);
    if (!isServed) continue;
    router.add(route.method, route.path, compileBoundRoute(bound, limits));
    if (Object.values(route.responses).some(({ stream }) => stream !== undefined)) socketPaths.push(route.path);
  }
  const dispatcher = new Dispatcher(
    {
      limits,
      requestHashKey: options.requestHashKey ?? randomBytes(32),
      trustedProxies: new TrustedProxies(options.trustedProxies ?? []),
      isAccessLogged: options.isAccessLogged === true,
    },
    {
      ...dependencies,
      publish: (topic, message) => {
        app.publish(topic, message);
      },
    },
    router,
  );
  const app = dependencies.driver.createHttpApp(
    {
      connectionsMax: limits.connectionsMax,
      keepAliveSec: limits.keepAliveSec,
      sockets: { ...SOCKET_LIMITS, paths: socketPaths },
      ...(options.tls === undefined ? {} : { tls: options.tls }),
    },
    (response, request, upgrade) => {
      dispatcher.handle(response, request, upgrade);
    },
  );
  return {
    listen: async () => await app.listen(options.host, options.port),
    leave: () => {
      dispatcher.startLeaving();
    },
    stop: async ({ graceMs }) => {
      app.stopListening();
      const streams = dispatcher.startDraining();
      const endMessages = streams === 0 ? undefined : delay(LAST_ANSWERS_MS);
      const { inFlight } = dispatcher;
      if (!(await inFlight.empty(graceMs))) {
        dispatcher.abandonAll();
        await inFlight.empty(LAST_ANSWERS_MS);
      }
      inFlight.stop();
      // Closing sooner would cut off the messages that say why the streams ended.
      await endMessages;
      // The last answer may have been written inside a callback of the library, and is sent only when that returns.
      await nextTurn();
      app.close();
    },
  };
}
