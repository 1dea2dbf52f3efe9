/** The part of the composition root that makes the HTTP servers: which routes are served where, by which handlers. */
import { chainRoutes } from "../chain/routes.js";
import { consoleHandlers } from "../console/console-handlers.js";
import { consoleRoutes } from "../console/console-routes.js";
import { docsHandlers } from "../docs/docs-handlers.js";
import { docsRoutes } from "../docs/docs-routes.js";
import { identityRoutes } from "../identity/routes.js";
import { requireTenantBy } from "../identity/tenants/tenant-access.js";
import { auditHandlers } from "../platform/audit/audit-handlers.js";
import { auditRoutes } from "../platform/audit/audit-routes.js";
import { auditedRoutes } from "../platform/audit/audited-routes.js";
import { holdsAll, PERMISSIONS } from "../platform/auth/permissions.js";
import { listOf, parseAddress, type Config } from "../platform/config.js";
import { bindRoutes, type Area, type BoundRoute } from "../platform/contract/route.js";
import { eventHandlers } from "../platform/events/event-handlers.js";
import { eventRoutes } from "../platform/events/event-routes.js";
import { StoredIdempotency } from "../platform/http/limits/idempotency-store.js";
import type { HttpDriver } from "../platform/http/drivers/driver.js";
import { createServer, type Server } from "../platform/http/server.js";
import type { Metrics } from "../platform/metrics.js";
import type { LaneFigures } from "../platform/pool/lane.js";
import type { Tracing } from "../platform/tracing/open-telemetry.js";
import { webhookRoutes } from "../platform/webhooks/webhook-routes.js";
import { createServiceHandlers, type ReadinessCheck } from "../platform/service/handlers.js";
import { serviceRoutes } from "../platform/service/routes.js";
import type { WorkStatusJson } from "../platform/service/schemas.js";
import { serverVersion } from "../platform/service/server-version.js";
import { ceremonyPageHandlers } from "../prover/ceremony-page/ceremony-page-handlers.js";
import { ceremonyPageRoutes } from "../prover/ceremony-page/ceremony-page-routes.js";
import { proverRoutes } from "../prover/routes.js";
import { lifecycleRoutes } from "../vault/keys/lifecycle-routes.js";
import { organizationVaultHandlers } from "../vault/organization-vault-handlers.js";
import { organizationVaultRoutes } from "../vault/organization-vault-routes.js";
import { vaultRoutes } from "../vault/routes.js";
import { apiDocument, SERVICE_NAME } from "./api-document.js";
import { authenticate, type Areas } from "./open-areas.js";
import type { Platform } from "./open-platform.js";
import { sharedTokenRoutes } from "./shared-tokens.js";

/** All that a server is made of. */
export interface AppParts extends Platform, Areas {
  readonly metrics: Metrics;
  readonly requestHashKey: Buffer;
  readonly driver: HttpDriver;
  readonly tracing?: Tracing;
  /** Whether the server is about to stop: it says then that it is not ready. */
  readonly leaving: { readonly isBegun: boolean; begin(): void };
  /** Called with the reason when the server cannot go on. */
  readonly onFatal: (reason: string) => void;
  /** Everything that waits in turns of the owners, by the name of its lane. */
  readonly lanes: () => Readonly<Record<string, LaneFigures>>;
}

/** One address on which the server listens. */
export interface AreaServer {
  /** What is served there, in words. */
  readonly areas: string;
  readonly host: string;
  readonly server: Server;
}

interface Place {
  readonly words: string;
  readonly host: string;
  readonly port: number;
  /** All areas when absent. */
  readonly area?: Area;
}

/** Makes a server for the common address, and one for each area that has an address of its own. */
export function createServers(parts: AppParts): AreaServer[] {
  const routes = boundRoutes(parts);
  const idempotency = new StoredIdempotency(parts);
  return places(parts.config).map((place) => ({
    areas: place.words,
    host: place.host,
    server: createServerAt(place, routes, idempotency, parts),
  }));
}

function places(config: Config): Place[] {
  const own: readonly (readonly [Area, string, string | undefined])[] = [
    ["prover", "the prover registry", config.prover_listen],
    ["vault", "the vault", config.vault_listen],
    ["identity", "identity", config.identity_listen],
    ["chain", "the chain area", config.chain_listen],
  ];
  return [
    { words: "every area", host: config.host, port: config.port },
    ...own.flatMap(([area, words, address]) =>
      address === undefined ? [] : [{ words, area, ...parseAddress(address) }],
    ),
  ];
}

function createServerAt(
  { area, host, port }: Place,
  routes: readonly BoundRoute[],
  idempotency: StoredIdempotency,
  parts: AppParts,
): Server {
  const { config, clock, log, metrics, vault, audit, driver } = parts;
  const tls =
    config.tls_cert === undefined || config.tls_key === undefined
      ? {}
      : { tls: { certFile: config.tls_cert, keyFile: config.tls_key } };
  return createServer(
    {
      host,
      port,
      requestHashKey: parts.requestHashKey,
      limits: {
        rateLimits: config.rate_limits,
        connectionsMax: config.connections,
        keepAliveSec: config.keep_alive_seconds,
      },
      trustedProxies: listOf(config.trusted_proxies),
      isAccessLogged: config.access_log,
      ...(area === undefined ? {} : { areas: [area] }),
      ...tls,
    },
    {
      routes: routesAt(area, routes),
      driver,
      authenticate: (token, routeArea) => authenticate(parts, token, routeArea),
      isUnsealed: () => vault.service.isUnsealed(),
      idempotency,
      log,
      clock,
      metrics: metrics.forServer(),
      nodes: parts.nodes,
      onRefused: (refusal) => audit.refusals.note(refusal),
      ...(parts.membership === undefined ? {} : { freshness: parts.membership.freshness }),
    },
  );
}

/** Returns the routes of an address, with those of `/tokens` as its areas share them. */
function routesAt(area: Area | undefined, routes: readonly BoundRoute[]): readonly BoundRoute[] {
  if (area === "chain") return [...routes, ...tokenContractAliases(routes)];
  if (area !== undefined) return routes;
  return sharedTokenRoutes(routes);
}

/**
 * Existing clients ask the chain area for token contracts under /tokens, which on an address with every area is
 * identity's (shared-tokens.ts).
 */
function tokenContractAliases(routes: readonly BoundRoute[]): BoundRoute[] {
  return routes
    .filter(({ route }) => route.path.startsWith("/api/v1/token_contracts"))
    .map(({ route, handler }) => ({
      route: { ...route, path: route.path.replace("token_contracts", "tokens") },
      handler,
    }));
}

/** The conditions for accepting work. */
export function readinessOf({ leaving, store, vault, membership }: AppParts): readonly ReadinessCheck[] {
  return [
    { name: "staying", ok: !leaving.isBegun },
    { name: "store", ok: store.state === "ready" },
    { name: "vault_unsealed", ok: vault.service.isUnsealed() },
    ...(membership === undefined ? [] : [{ name: "cluster", ok: membership.isReady() }]),
  ];
}

/** What runs and waits, as /status tells it to operators. */
function workOf({ config, lanes }: AppParts): WorkStatusJson {
  const figures = Object.entries(lanes()).map(([name, { waitSeconds, ...counts }]) => {
    const { waiting, running, started, refused } = counts;
    return [name, { waiting, running, started, refused, wait_seconds: waitSeconds }] as const;
  });
  return { prove_threads: config.prove_threads, lanes: Object.fromEntries(figures) };
}

function boundRoutes(parts: AppParts): BoundRoute[] {
  const service = createServiceHandlers(
    { name: SERVICE_NAME, version: serverVersion() },
    {
      document: apiDocument,
      readiness: () => readinessOf(parts),
      sandbox: parts.sandbox,
      work: () => workOf(parts),
      kernels: () => parts.kernelForm.status,
      cluster: () => parts.membership?.status(),
      isOperator: async (token) => {
        const { permissions } = await authenticate(parts, token, "service");
        return holdsAll(permissions, PERMISSIONS.sudo);
      },
    },
  );
  return auditedRoutes(
    [
      ...bindRoutes(serviceRoutes, service),
      ...bindRoutes(consoleRoutes, consoleHandlers()),
      ...bindRoutes(docsRoutes, docsHandlers()),
      ...bindRoutes(identityRoutes, parts.identityParts.identity.handlers),
      ...bindRoutes(
        organizationVaultRoutes,
        organizationVaultHandlers({
          vault: parts.vault.service,
          requireMember: (principal, id, bits) => {
            parts.identityParts.identity.services.access.require(principal, { kind: "organization", id }, bits);
          },
        }),
      ),
      ...bindRoutes(
        vaultRoutes,
        parts.vault.handlers({ requireTenant: requireTenantBy(parts.identityParts.identity.services.access) }),
      ),
      ...bindRoutes(auditRoutes, auditHandlers({ audit: parts.audit.log })),
      ...bindRoutes(lifecycleRoutes, parts.vault.lifecycleHandlers),
      ...bindRoutes(proverRoutes, parts.provers.handlers, parts.provers.bodyLimits),
      ...bindRoutes(ceremonyPageRoutes, ceremonyPageHandlers()),
      ...bindRoutes(chainRoutes, parts.chain.handlers),
      ...bindRoutes(eventRoutes, eventHandlers({ events: parts.events })),
      ...bindRoutes(webhookRoutes, parts.webhooks.handlers),
    ],
    { trail: parts.audit.trail, audit: parts.audit.log },
  );
}
