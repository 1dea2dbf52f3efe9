/** A server on one address: compiles its routes, listens, and stops without losing what it has admitted. */
import { randomBytes } from "node:crypto";
import { authorizer } from "../auth/authorize.js";
import type { Area, BoundRoute } from "../contract/route.js";
import { compileRoute } from "../contract/validate.js";
import { TrustedProxies } from "../net/client-address.js";
import { Dispatcher, type DispatchDependencies } from "./dispatch.js";
import type { CompiledRoute } from "./request/exchange.js";
import {
  BODY_BYTES_DEFAULT,
  HTTP_LIMITS,
  JSON_DEPTH_MAX,
  JSON_KEY_BYTES_MAX,
  JSON_NUMBER_BYTES_MAX,
  JSON_TOKENS_DEFAULT,
  type HttpLimits,
} from "./limits/limits.js";
import { Router } from "./router.js";
import { SOCKET_LIMITS } from "./sockets.js";
import { createHttpApp, type TlsFiles } from "./uws.js";

export interface ServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly tls?: TlsFiles;
  /** Overrides single limits. */
  readonly limits?: Partial<HttpLimits>;
  /** Areas served here; all when absent. The service's own routes are always served. */
  readonly areas?: readonly Area[];
  /**
   * 32 bytes, the same after a restart: without it a repeat under an Idempotency-Key from before the restart is taken
   * for another request.
   */
  readonly requestHashKey?: Uint8Array;
  /** Addresses and CIDR networks whose X-Forwarded-For is believed; checked beforehand. */
  readonly trustedProxies?: readonly string[];
}

export interface ServerDependencies extends Omit<DispatchDependencies, "publish"> {
  readonly routes: readonly BoundRoute[];
}

export interface Server {
  /** Resolves when connections are taken. Rejects when the address or the certificate cannot be used. */
  listen(): Promise<{ readonly port: number }>;
  /**
   * Takes no new connections, lets admitted requests finish for up to `graceMs`, answers the rest 503 and aborts their
   * work, closes every connection. Resolves after that; it does not wait for handlers that ignore their signal.
   */
  stop(options: { readonly graceMs: number }): Promise<void>;
}

/** Answers that go out when the grace is over, and the ends of streams, get this long to leave. */
const LAST_ANSWERS_MS = 250;

/** Makes a server. Throws when two routes share method and path, or a schema does not compile. */
export function createServer(options: ServerOptions, dependencies: ServerDependencies): Server {
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const router = new Router<CompiledRoute>();
  const socketPaths: string[] = [];
  for (const bound of dependencies.routes) {
    const { route } = bound;
    const isServed = options.areas === undefined || route.area === "service" || options.areas.includes(route.area);
    if (!isServed) continue;
    router.add(route.method, route.path, compile(bound, limits));
    if (Object.values(route.responses).some(({ stream }) => stream !== undefined)) socketPaths.push(route.path);
  }
  const dispatcher = new Dispatcher(
    {
      limits,
      requestHashKey: options.requestHashKey ?? randomBytes(32),
      trustedProxies: new TrustedProxies(options.trustedProxies ?? []),
    },
    {
      ...dependencies,
      publish: (topic, message) => {
        app.publish(topic, message);
      },
    },
    router,
  );
  const app = createHttpApp(
    {
      connectionsMax: limits.connectionsMax,
      sockets: { ...SOCKET_LIMITS, paths: socketPaths },
      ...(options.tls === undefined ? {} : { tls: options.tls }),
    },
    (response, request, upgrade) => {
      dispatcher.handle(response, request, upgrade);
    },
  );
  return {
    listen: async () => await app.listen(options.host, options.port),
    stop: async ({ graceMs }) => {
      app.stopListening();
      const streams = dispatcher.startDraining();
      const lastWords =
        streams === 0
          ? undefined
          : new Promise((resolve) => {
              setTimeout(resolve, LAST_ANSWERS_MS);
            });
      const { inFlight } = dispatcher;
      if (!(await inFlight.empty(graceMs))) {
        dispatcher.abandonAll();
        await inFlight.empty(LAST_ANSWERS_MS);
      }
      inFlight.stop();
      // Closing sooner would take the reason why they ended from the readers of streams.
      await lastWords;
      // The last answer may have been given inside the library's own turn, and is not in the socket before that ends.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      app.close();
    },
  };
}

function compile(bound: BoundRoute, limits: HttpLimits): CompiledRoute {
  const { route } = bound;
  return {
    ...bound,
    validator: compileRoute(route),
    ...(route.auth === "public" ? {} : { check: authorizer(route.auth) }),
    bodyBytesMax: route.bodyBytesMax ?? BODY_BYTES_DEFAULT,
    jsonLimits: {
      depthMax: JSON_DEPTH_MAX,
      tokensMax: route.jsonTokensMax ?? JSON_TOKENS_DEFAULT,
      keyBytesMax: JSON_KEY_BYTES_MAX,
      numberBytesMax: JSON_NUMBER_BYTES_MAX,
    },
    deadlineMs: route.deadlineMs ?? limits.deadlineMs,
    noStore: route.area === "vault" || route.area === "identity",
  };
}
