/**
 * Assembles the vault from its parts: provider, threads, seal, service and handlers. Called by the composition root.
 */
import { availableParallelism } from "node:os";
import type { RequireTenant } from "../platform/auth/said-owner.js";
import type { Clock } from "../platform/clock.js";
import type { HandlersFor } from "../platform/contract/route.js";
import type { Log } from "../platform/log.js";
import type { Nodes } from "../platform/nodes/nodes.js";
import { soloNodes } from "../platform/nodes/solo-nodes.js";
import type { Store } from "../platform/store/store.js";
import { vaultHandlers } from "./handlers.js";
import { KeyLifecycle } from "./keys/key-lifecycle.js";
import { lifecycleHandlers } from "./keys/lifecycle-handlers.js";
import type { lifecycleRoutes } from "./keys/lifecycle-routes.js";
import { PlannedDeletions } from "./keys/planned-deletions.js";
import { VaultRepository } from "./repository.js";
import type { vaultRoutes } from "./routes.js";
import { SealAttempts } from "./seal/seal-attempts.js";
import { selectSealProvider, type SealSource } from "./seal/providers/select-provider.js";
import { SealOrders } from "./seal/seal-orders.js";
import { VaultSeal, type SealChange, type SealState } from "./seal/seal.js";
import { VaultService } from "./service.js";
import type { LaneFigures } from "../platform/pool/lane.js";
import type { WorkerKind } from "./protocol.js";
import type { TurnOf } from "./threads/request-queue.js";
import { VaultWorkers } from "./threads/vault-workers.js";

export type VaultOptions = {
  /** Requests that may wait for each of the vault's threads; one more is rejected with `overloaded` (503). */
  readonly queueLengthMax: number;
  /**
   * The settings of the seal provider, or in development mode the folder in which the vault creates and keeps its own
   * seal key.
   */
  readonly seal: SealSource;
};

export interface VaultDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each unsealing, so that work that waits for the vault can continue. */
  readonly onUnsealed?: () => void;
  /** Returns under which name the work of a subject, such as `application:<uuid>`, waits for its turn. */
  readonly turnOf?: TurnOf | undefined;
  /** The nodes that share the store; without it there is no other. */
  readonly nodes?: Nodes;
  /** See SealDependencies.onChange. */
  readonly onSealChange?: (change: SealChange) => Promise<void>;
}

export interface Vault {
  readonly service: VaultService;
  /** Returns the handlers; a function, because the vault is made before those who know applications. */
  handlers(dependencies: { readonly requireTenant: RequireTenant }): HandlersFor<typeof vaultRoutes>;
  readonly lifecycleHandlers: HandlersFor<typeof lifecycleRoutes>;
  /**
   * Unseals where the provider has the key and carries out the planned deletions that are due, now and each minute.
   * Never rejects.
   */
  start(): Promise<SealState>;
  /** What waits and runs on the vault's threads, for metrics. */
  figures(): Readonly<Record<WorkerKind, LaneFigures>>;
  /** Why the provider could not unseal, as a sentence. */
  sealFailure(): string | undefined;
  /** Seals because the service cannot keep its promises. Never rejects. */
  sealByFault(reason: string): Promise<void>;
  /** Seals and ends the threads. */
  stop(): Promise<void>;
}

/** Two threads keep up with the HTTP thread for quick operations; slow curves gain a little from more. 30 MB each. */
const PROMPT_THREADS_MAX = 3;
/** How often a provider that failed is asked again, and due deletions are carried out. */
const ROUND_MS = 60_000;
/** One node carries out the planned deletions of all. */
const DELETIONS_DUTY = "planned-deletions";

/** Rounds of planned deletions, in which nothing is done on nodes that have not the duty. */
interface Sweeps {
  take(): void;
  /** Never rejects. */
  run(): Promise<void>;
}

function sweepsOf(deletions: PlannedDeletions, { nodes, log }: { readonly nodes: Nodes; readonly log: Log }): Sweeps {
  let running: Promise<void> | undefined;
  const sweep = async (): Promise<void> => {
    if (!nodes.has(DELETIONS_DUTY)) return;
    try {
      await deletions.sweep();
    } catch {
      log.warn("planned deletions are delayed: the store accepts no write");
    }
  };
  return {
    take: () => {
      const begin = (): void => undefined;
      nodes.take(DELETIONS_DUTY, begin, async () => {
        await running;
      });
    },
    run: async () => {
      running = sweep();
      await running;
    },
  };
}

/** Drops the cached keys of vaults that other nodes have deleted. */
function forgetDeleted(seal: VaultSeal, { store, nodes }: { readonly store: Store; readonly nodes: Nodes }): void {
  nodes.onChange("vault", (keys) => {
    for (const key of keys) if (store.get(key) === undefined) void seal.forgetVault(String(key.at(-1)));
  });
}

/** Seals when another node replaces the seal key, which an unsealed node would go on to wrap under. */
function sealWhenReplaced(seal: VaultSeal, nodes: Nodes): void {
  nodes.onChange("seal", () => void seal.sealUnlessSound());
}

/**
 * Assembles the vault, sealed.
 * @throws invalid_request or `vault_not_configured` for settings that cannot be used
 */
export async function createVault(options: VaultOptions, dependencies: VaultDependencies): Promise<Vault> {
  const { store, clock, log, nodes = soloNodes(), onUnsealed, onSealChange, turnOf } = dependencies;
  const provider = await selectSealProvider(options.seal, { store, clock, log });
  const promptThreads = Math.min(PROMPT_THREADS_MAX, availableParallelism());
  const worker = new VaultWorkers({ queueLengthMax: options.queueLengthMax, promptThreads, turnOf }, { log });
  const seal: VaultSeal = new VaultSeal(
    { provider },
    {
      store,
      worker,
      clock,
      log,
      sealOthers: () => orders.give(),
      ...(onUnsealed === undefined ? {} : { onUnsealed }),
      ...(onSealChange === undefined ? {} : { onChange: onSealChange }),
    },
  );
  const orders: SealOrders = new SealOrders({ store, nodes, log, sealHere: () => seal.sealByOrder() });
  const repository = new VaultRepository({ store });
  forgetDeleted(seal, { store, nodes });
  sealWhenReplaced(seal, nodes);
  const lifecycle = new KeyLifecycle({ repository, seal, clock });
  const deletions = new PlannedDeletions({ repository, seal, clock, log });
  const attempts = new SealAttempts({ clock });
  const service = new VaultService({ repository, seal, attempts, clock, turnOf });
  let rounds: NodeJS.Timeout | undefined;
  const sweeps = sweepsOf(deletions, { nodes, log });
  const round = async (): Promise<void> => {
    if (seal.automaticFailure?.mayPass === true) await seal.unsealAutomatically();
    await sweeps.run();
  };
  return {
    service,
    handlers: ({ requireTenant }) => vaultHandlers({ vault: service, requireTenant }),
    lifecycleHandlers: lifecycleHandlers({ lifecycle, deletions }),
    start: async () => {
      const state = await seal.unsealAutomatically();
      sweeps.take();
      await sweeps.run();
      rounds = setInterval(() => {
        void round();
      }, ROUND_MS);
      rounds.unref();
      return state;
    },
    figures: () => worker.figures(),
    sealFailure: () => seal.automaticFailure?.reason,
    sealByFault: async (reason) => {
      await seal.sealByFault(reason);
    },
    stop: async () => {
      clearInterval(rounds);
      await seal.shutDown();
    },
  };
}
