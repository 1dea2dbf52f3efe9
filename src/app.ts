/**
 * Composition root: the only file that wires areas, platform, pools and the HTTP front together. Makes no decision of
 * its own beyond the order of start and stop.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ROUTE_LIST } from "./api.js";
import { openChain } from "./app-chain.js";
import { openIdentity, type IdentityParts } from "./app-identity.js";
import type { Chain } from "./chain/create-chain.js";
import { chainRoutes } from "./chain/routes.js";
import { identityRoutes } from "./identity/routes.js";
import type { OwnerPurge } from "./identity/subject-deletion.js";
import { openAuditKey } from "./platform/audit/audit-log.js";
import { auditedRoutes } from "./platform/audit/audited-routes.js";
import { createAudit, type Audit } from "./platform/audit/create-audit.js";
import { holdsAll, permissionBits, PERMISSIONS } from "./platform/auth/permissions.js";
import type { Principal } from "./platform/auth/principal.js";
import type { Clock } from "./platform/clock.js";
import { listOf, parseAddress, UNREACHABLE_ISSUER, type Config } from "./platform/config.js";
import { bindRoutes, type Area, type BoundRoute } from "./platform/contract/route.js";
import { EventBus } from "./platform/events/event-bus.js";
import { eventHandlers } from "./platform/events/event-handlers.js";
import { eventRoutes } from "./platform/events/event-routes.js";
import { SubscriptionTokens } from "./platform/events/subscription-token.js";
import { StoredIdempotency } from "./platform/http/limits/idempotency-store.js";
import { createMetricsServer } from "./platform/http/metrics-server.js";
import { createServer, type Server } from "./platform/http/server.js";
import { Jobs } from "./platform/jobs/jobs.js";
import type { Log } from "./platform/log.js";
import { Metrics } from "./platform/metrics.js";
import { PACKAGE_ROOT } from "./platform/files/package-root.js";
import { ProcessTasks } from "./platform/pool/process-task.js";
import { openSandbox, type Sandbox } from "./platform/pool/sandbox.js";
import { ComputePools } from "./prover/compute/compute-pools.js";
import { PooledCompute } from "./prover/compute/pooled-compute.js";
import { ResidentBytes } from "./prover/compute/resident-bytes.js";
import { createPrivateFile, readPrivateFile } from "./platform/files/private-file.js";
import { StartError } from "./platform/start-error.js";
import { createServiceHandlers } from "./platform/service/handlers.js";
import { serviceRoutes } from "./platform/service/routes.js";
import { openArtifacts, type Artifacts } from "./platform/store/artifacts.js";
import { openStore, type DurableStore } from "./platform/store/lmdb/lmdb-store.js";
import { createProverRegistry, type ProverRegistry } from "./prover/create-prover-registry.js";
import { proverRoutes } from "./prover/routes.js";
import { createVault, type Vault } from "./vault/create-vault.js";
import { auditHandlers } from "./platform/audit/audit-handlers.js";
import { auditRoutes } from "./platform/audit/audit-routes.js";
import { lifecycleRoutes } from "./vault/keys/lifecycle-routes.js";
import { organizationVaultHandlers } from "./vault/organization-vault-handlers.js";
import { organizationVaultRoutes } from "./vault/organization-vault-routes.js";
import { vaultRoutes } from "./vault/routes.js";

export interface Listening {
  /** What is served there, in words. */
  readonly areas: string;
  readonly host: string;
  readonly port: number;
}

export interface App {
  /** Listens and starts the background work. */
  start(): Promise<readonly Listening[]>;
  /** Drains and closes everything; safe to call once. */
  stop(options: { readonly graceMs: number }): Promise<void>;
  /**
   * Called when the server can no longer keep its promises, such as after a failed sync: end the process and start
   * anew.
   */
  onFatal(listener: (reason: string) => void): void;
  /** What the operator should know at start, one sentence a line. */
  readonly notes: readonly string[];
}

export interface AppDependencies {
  readonly log: Log;
  readonly clock: Clock;
}

const REQUEST_KEY_BYTES = 32;
/**
 * Verification takes milliseconds: one thread serves a few hundred a second, and a short queue keeps the wait short.
 */
const INTERACTIVE_THREADS = 1;
const INTERACTIVE_QUEUE_MAX = 512;
/** A thread that dies under a proof loses its workspace until the key is opened again, which the next proof sees to. */
const SPARE_WORKSPACES = 2;
/** Vault operations take microseconds; this bounds memory, not time. */
const VAULT_QUEUE_MAX = 4096;
const MIB = 1024 * 1024;

interface Parts {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly store: DurableStore;
  readonly artifacts: Artifacts;
  readonly jobs: Jobs;
  readonly pools: ComputePools;
  readonly sandbox: Sandbox;
  readonly metrics: Metrics;
  readonly identity: IdentityParts["identity"];
  readonly identityParts: IdentityParts;
  readonly vault: Vault;
  readonly provers: ProverRegistry;
  readonly chain: Chain;
  readonly requestHashKey: Buffer;
  readonly audit: Audit;
  readonly events: EventBus;
  readonly subscriptionTokens: SubscriptionTokens;
}

/** Opens the data folder and builds the application. Rejects with a sentence when the folder cannot be used. */
export async function createApp(config: Config, dependencies: AppDependencies): Promise<App> {
  const fatalListeners: ((reason: string) => void)[] = [];
  const parts = await openParts(config, dependencies, (reason) => {
    fatalListeners.forEach((listener) => {
      listener(reason);
    });
  });
  const { servers, described } = createServers(parts);
  const metricsServer =
    config.metrics_port === undefined
      ? undefined
      : createMetricsServer(
          { host: "127.0.0.1", port: config.metrics_port },
          { metrics: parts.metrics, log: dependencies.log },
        );
  return {
    notes: startNotes(config, parts),
    onFatal: (listener) => {
      fatalListeners.push(listener);
    },
    start: async () => {
      parts.events.start();
      const listening = await Promise.all(
        servers.map(async (server, index) => ({
          ...(described[index] ?? { areas: "", host: "" }),
          port: (await server.listen()).port,
        })),
      );
      await metricsServer?.listen();
      await parts.provers.removeOrphans();
      parts.identityParts.keys.startWatching();
      await parts.jobs.start();
      parts.chain.start();
      parts.pools.warm(config.kernels).catch(() => {
        dependencies.log.warn("the compute threads did not load the proving backend ahead of the first request");
      });
      return listening;
    },
    stop: async ({ graceMs }) => {
      await Promise.all(
        servers.map(async (server) => {
          await server.stop({ graceMs });
        }),
      );
      metricsServer?.stop();
      parts.identityParts.keys.stopWatching();
      await parts.identity.services.outbox.stop();
      await parts.jobs.stop();
      await parts.chain.stop();
      await parts.pools.stop();
      await parts.vault.stop();
      parts.audit.refusals.flush();
      await parts.events.stop();
      await parts.store.close();
    },
  };
}

async function openParts(
  config: Config,
  { log, clock }: AppDependencies,
  onFatal: (reason: string) => void,
): Promise<Parts> {
  const dataDir = resolve(config.data_dir);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const auditKey = await openAuditKey(dataDir);
  const store = await openStore(
    { path: join(dataDir, "store"), mapBytes: config.store_max_mb * MIB, chainKey: auditKey },
    {
      log,
      onFatal: (error) => {
        onFatal(error.message);
      },
    },
  );
  const onUnwritable: (() => Promise<void>)[] = [];
  const audit = await createAudit(
    { key: auditKey },
    {
      store,
      clock,
      log,
      onUnwritable: () => {
        onUnwritable.forEach((seal) => {
          void seal();
        });
      },
    },
  );
  const events = new EventBus(
    {
      eventsMax: config.events_max,
      daysMax: config.events_days,
      streamsMax: config.event_streams,
      streamsPerSubjectMax: config.event_streams_per_subject,
    },
    { store, clock, log },
  );
  const artifacts = await openArtifacts(join(dataDir, "artifacts"));
  await artifacts.removeTemporaries();
  const jobs = new Jobs({}, { store: audit.vaultStore, clock, log });
  // The chain is built after the vault and identity, and adds itself to both lists.
  const onUnsealed: (() => void)[] = [];
  const onOwnerDeleted: OwnerPurge[] = [];
  const vault = await createVault(vaultOptions(config, dataDir), {
    store: audit.vaultStore,
    clock,
    log,
    onUnsealed: () => {
      jobs.wake();
      onUnsealed.forEach((wake) => {
        wake();
      });
    },
    onSealChange: async ({ action, code }) => {
      await audit.trail.append({
        action: `seal.${action}`,
        outcome: code === undefined ? "ok" : "refused",
        ...(code === undefined ? {} : { code }),
      });
    },
  });
  onUnwritable.push(async () => {
    await vault.sealByFault("the audit log cannot be written");
  });
  const pools = new ComputePools(
    {
      proveThreads: config.prove_threads,
      proveHelpersMax: config.prove_helpers,
      interactiveThreads: INTERACTIVE_THREADS,
      proveQueueLengthMax: config.prove_queue,
      interactiveQueueLengthMax: INTERACTIVE_QUEUE_MAX,
    },
    { log },
  );
  const resident = new ResidentBytes(
    { budgetBytes: config.key_memory_mb * MIB },
    { load: async (sha256) => await artifacts.readShared(sha256) },
  );
  const sandbox = await openSandbox({ mode: config.sandbox }, { log });
  const tasks = new ProcessTasks({ sandbox });
  const compute = new PooledCompute(
    {
      constraintsMax: config.constraints_max,
      compile: { memoryMb: config.compile_memory_mb, seconds: config.compile_seconds },
      ...(config.kernels === "wasm"
        ? { openKeys: { budgetBytes: config.key_memory_mb * MIB, workspaces: config.prove_threads + SPARE_WORKSPACES } }
        : {}),
    },
    { pools, tasks, log },
  );
  const provers = createProverRegistry(
    { providerAliases: config.provider_aliases },
    { store: audit.vaultStore, artifacts, jobs, compute, resident, vault: vault.service, events, clock, log },
  );
  const identityParts = await openIdentity(config, dataDir, {
    store: audit.identityStore,
    clock,
    log,
    events,
    vault: vault.service,
    provers: provers.service,
    onOwnerDeleted,
  });
  const { identity } = identityParts;
  const subscriptionTokens = new SubscriptionTokens(
    { key: await secretKey(join(dataDir, "subscription-key")) },
    { clock, standingOf: (subject, sessionId) => identity.services.bearers.standingOf(subject, sessionId) },
  );
  const chain = openChain(config, {
    store: audit.vaultStore,
    vault: vault.service,
    jobs,
    tasks,
    events,
    subscriptionTokens,
    clock,
    log,
    requireApplication: (principal, id, permissions) => {
      identity.services.access.require(principal, { kind: "application", id }, permissionBits(permissions));
    },
  });
  onUnsealed.push(() => {
    chain.wake();
  });
  onOwnerDeleted.push((owner) => chain.purge(owner));
  await vault.start();
  const metrics = new Metrics({ lanesWaiting: () => pools.waiting() });
  return {
    config,
    clock,
    log,
    store,
    artifacts,
    jobs,
    pools,
    sandbox,
    metrics,
    identity,
    identityParts,
    vault,
    provers,
    chain,
    audit,
    events,
    subscriptionTokens,
    requestHashKey: await secretKey(join(dataDir, "request-hash-key")),
  };
}

function vaultOptions(config: Config, dataDir: string): Parameters<typeof createVault>[0] {
  const makesOwnKey =
    config.mode === "development" &&
    config.seal_unseal_validation_hash === undefined &&
    config.seal_unseal_provider === undefined;
  return {
    queueLengthMax: VAULT_QUEUE_MAX,
    seal: makesOwnKey ? { developmentDataDir: dataDir } : { settings: config },
  };
}

/** Tokens that only listen are known to the front alone: nothing else takes one for somebody's own. */
function authenticate(
  { identity, subscriptionTokens }: Parts,
  token: string,
  area: Area,
): Principal | Promise<Principal> {
  if (!SubscriptionTokens.isOne(token) || area !== "chain") return identity.authenticate(token, area);
  return subscriptionTokens.authenticate(token);
}

/**
 * A key of the server's own, such as that of the hashes that recognise a repeated request; the same after a restart.
 */
async function secretKey(path: string): Promise<Buffer> {
  await createPrivateFile(path, randomBytes(REQUEST_KEY_BYTES));
  const key = await readPrivateFile(path);
  if (key?.length !== REQUEST_KEY_BYTES)
    throw new StartError(`${path} does not hold ${String(REQUEST_KEY_BYTES)} bytes; delete it to have a new one made`);
  return key;
}

interface Described {
  readonly areas: string;
  readonly host: string;
}

function createServers(parts: Parts): { servers: Server[]; described: Described[] } {
  const { config, clock, log, metrics } = parts;
  const routes = boundRoutes(parts);
  const idempotency = new StoredIdempotency({ store: parts.store, clock });
  const servers: Server[] = [];
  const described: Described[] = [];
  const add = (areas: readonly Area[] | undefined, host: string, port: number, words: string): void => {
    servers.push(
      createServer(
        {
          host,
          port,
          requestHashKey: parts.requestHashKey,
          limits: { rateLimits: config.rate_limits, connectionsMax: config.connections },
          trustedProxies: listOf(config.trusted_proxies),
          ...(areas === undefined ? {} : { areas }),
          ...(config.tls_cert === undefined || config.tls_key === undefined
            ? {}
            : { tls: { certFile: config.tls_cert, keyFile: config.tls_key } }),
        },
        {
          routes: areas?.includes("chain") === true ? [...routes, ...tokenContractAliases(routes)] : routes,
          authenticate: (token, area) => authenticate(parts, token, area),
          isUnsealed: () => parts.vault.service.isUnsealed(),
          idempotency,
          log,
          clock,
          metrics: metrics.forServer(),
          onRefused: (refusal) => {
            parts.audit.refusals.note(refusal);
          },
        },
      ),
    );
    described.push({ areas: words, host });
  };
  add(undefined, config.host, config.port, "every area");
  const own: readonly [Area, string | undefined, string][] = [
    ["prover", config.prover_listen, "the prover registry"],
    ["vault", config.vault_listen, "the vault"],
    ["identity", config.identity_listen, "identity"],
    ["chain", config.chain_listen, "the chain area"],
  ];
  for (const [area, address, words] of own) {
    if (address === undefined) continue;
    const { host, port } = parseAddress(address);
    add([area], host, port, words);
  }
  return { servers, described };
}

/**
 * Existing clients ask the chain area for token contracts under /tokens, which on an address with every area is
 * identity's.
 */
function tokenContractAliases(routes: readonly BoundRoute[]): BoundRoute[] {
  return routes
    .filter(({ route }) => route.path.startsWith("/api/v1/token_contracts"))
    .map(({ route, handler }) => ({
      route: { ...route, path: route.path.replace("token_contracts", "tokens") },
      handler,
    }));
}

function boundRoutes(parts: Parts): BoundRoute[] {
  const { version } = JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as { version: string };
  const service = createServiceHandlers(
    { name: "Proofwright", version },
    {
      routes: ROUTE_LIST,
      readiness: () => [
        { name: "store", ok: parts.store.state === "ready" },
        { name: "vault_unsealed", ok: parts.vault.service.isUnsealed() },
      ],
      sandbox: parts.sandbox,
      isOperator: async (token) => {
        const { permissions } = await authenticate(parts, token, "service");
        return holdsAll(permissions, PERMISSIONS.sudo);
      },
    },
  );
  return auditedRoutes(
    [
      ...bindRoutes(serviceRoutes, service),
      ...bindRoutes(identityRoutes, parts.identity.handlers),
      ...bindRoutes(
        organizationVaultRoutes,
        organizationVaultHandlers({
          vault: parts.vault.service,
          requireMember: (principal, id, bits) => {
            parts.identity.services.access.require(principal, { kind: "organization", id }, bits);
          },
        }),
      ),
      ...bindRoutes(vaultRoutes, parts.vault.handlers),
      ...bindRoutes(auditRoutes, auditHandlers({ audit: parts.audit.log })),
      ...bindRoutes(lifecycleRoutes, parts.vault.lifecycleHandlers),
      ...bindRoutes(proverRoutes, parts.provers.handlers),
      ...bindRoutes(chainRoutes, parts.chain.handlers),
      ...bindRoutes(eventRoutes, eventHandlers({ events: parts.events })),
    ],
    { trail: parts.audit.trail, audit: parts.audit.log },
  );
}

function startNotes(config: Config, { vault, sandbox, identityParts: { bootstrapTokenPath } }: Parts): string[] {
  const first =
    bootstrapTokenPath === undefined
      ? []
      : [
          `There are no users yet. The first administrator is made with the one-use token in ${bootstrapTokenPath}, within an hour; see the README.`,
        ];
  const issuer =
    config.issuer === UNREACHABLE_ISSUER && config.mode === "production"
      ? [
          "PROOFWRIGHT_ISSUER is not set: OAuth clients and the links in mails cannot reach this server by the name in its tokens.",
        ]
      : [];
  const refusal =
    sandbox.refusal === undefined ? [] : [`PROOFWRIGHT_SANDBOX=require: ${sandbox.refusal}. ${sandbox.consequences}`];
  return [...sealNotes(config, vault), ...refusal, ...issuer, ...first];
}

function sealNotes(config: Config, vault: Vault): string[] {
  const state = vault.service.state();
  if (config.mode === "development") {
    return [
      "Development mode: no seal key was configured, so the server made its own data folder, signing keys and seal key",
      `in ${resolve(config.data_dir)} and ${state === "unsealed" ? "unsealed itself" : `tried to unseal itself (it is ${state.replace("_", " ")})`}. Anyone who can read that folder can open the vault.`,
      "It listens on this machine only. For real use set SEAL_UNSEAL_VALIDATION_HASH; see the README.",
    ];
  }
  if (state === "unconfigured")
    return [
      "No seal key is configured: the vault cannot be unsealed. POST /api/v1/unsealerkey makes a key; set its hash as SEAL_UNSEAL_VALIDATION_HASH.",
    ];
  const failure = vault.sealFailure();
  if (failure !== undefined) return [`The vault is sealed: ${failure}.`];
  return [state === "unsealed" ? "The vault is unsealed." : "The vault is sealed; unseal it with POST /api/v1/unseal."];
}
