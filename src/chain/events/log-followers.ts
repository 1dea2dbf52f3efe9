/**
 * Keeps one follower running for each network that has deployed contracts; begins when the first is there and ends when
 * the last is gone.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { AppError } from "../../platform/errors.js";
import type { Events } from "../../platform/events/events.js";
import type { Log } from "../../platform/log.js";
import { StoreConflict, type Store } from "../../platform/store/store.js";
import type { ContractAbis, WatchedContract } from "../contracts/abi/contract-abis.js";
import type { HeadHints, HintingNetworks, NetworkRecord, Networks } from "../networks/network-port.js";
import { RpcRefusal } from "../rpc/rpc.js";
import { FollowRecords } from "./follow-records.js";
import { LogFollower } from "./log-follower.js";

export interface LogFollowersOptions {
  /** Blocks that must follow a block before its logs are published. */
  readonly confirmations: number;
  /** Time between two looks at a chain that has not moved. 2,000 unless given. */
  readonly pollMs?: number;
  /** Time between two looks for networks and contracts that came or went. 5,000 unless given. */
  readonly reloadMs?: number;
}

export interface LogFollowersDependencies {
  readonly store: Store;
  readonly events: Events;
  readonly networks: Pick<Networks, "rpc"> & HintingNetworks & { find(subject: Subject, id: string): NetworkRecord };
  readonly contracts: Pick<ContractAbis, "networks" | "deployed" | "find">;
  readonly log: Log;
}

interface Running {
  readonly stopping: AbortController;
  readonly ended: Promise<void>;
  contracts: readonly WatchedContract[];
  hints: HeadHints | undefined;
  /** Looks have failed since the last one that did not. */
  failures: number;
  /** Somebody called while it looked, perhaps of a block that came after: it looks again. */
  isCalled: boolean;
  wake: () => void;
}

const POLL_MS = 2000;
const RELOAD_MS = 5000;
/** A node that fails is asked less and less often, up to this. */
const PAUSE_MAX_MS = 60_000;

export class LogFollowers {
  readonly #options: Required<LogFollowersOptions>;
  readonly #with: LogFollowersDependencies;
  readonly #running = new Map<string, Running>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LogFollowersOptions, dependencies: LogFollowersDependencies) {
    this.#options = { pollMs: POLL_MS, reloadMs: RELOAD_MS, ...options };
    this.#with = dependencies;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#reload();
    }, this.#options.reloadMs).unref();
    this.#reload();
  }

  /** The network's chain is known to have moved, or a contract came: looks at once. */
  wake(networkId: string): void {
    if (this.#timer === undefined) return;
    this.#reload();
    const running = this.#running.get(networkId);
    if (running !== undefined) call(running);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    const running = [...this.#running.values()];
    for (const follower of running) {
      follower.stopping.abort();
      call(follower);
    }
    await Promise.all(
      running.map(async ({ ended }) => {
        await ended;
      }),
    );
  }

  #reload(): void {
    try {
      const networkIds = new Set(this.#with.contracts.networks());
      for (const networkId of networkIds) {
        const contracts = this.#with.contracts.deployed(networkId);
        const known = this.#running.get(networkId);
        if (known !== undefined) known.contracts = contracts;
        else this.#follow(networkId, contracts);
      }
      for (const [networkId, follower] of this.#running) {
        // One more step with none left forgets where they stood; then it ends by itself.
        if (!networkIds.has(networkId)) follower.contracts = [];
      }
    } catch (error) {
      this.#with.log.error("the contracts whose logs are followed cannot be read", codeOf(error));
    }
  }

  #follow(networkId: string, contracts: readonly WatchedContract[]): void {
    const stopping = new AbortController();
    const running: Running = {
      stopping,
      contracts,
      hints: undefined,
      failures: 0,
      isCalled: false,
      wake: () => undefined,
      ended: Promise.resolve(),
    };
    const follower = new LogFollower(
      { networkId, confirmations: this.#options.confirmations },
      {
        events: this.#with.events,
        records: new FollowRecords({ networkId }, { store: this.#with.store }),
        rpc: () => this.#with.networks.rpc(this.#networkOf(networkId, running.contracts)),
        contracts: () => running.contracts,
        find: (address) => this.#with.contracts.find(networkId, address),
      },
    );
    this.#running.set(networkId, Object.assign(running, { ended: this.#run(networkId, follower, running) }));
  }

  /** By an owner of one of the contracts: a private network is its owner's alone. */
  #networkOf(networkId: string, contracts: readonly WatchedContract[]): NetworkRecord {
    const owner = contracts[0]?.owner;
    if (owner === undefined) throw new AppError("not_found", { message: "network not found" });
    return this.#with.networks.find(owner, networkId);
  }

  /** Hears of new blocks from whatever the network's record names for it now. */
  #listen(networkId: string, running: Running): void {
    const network = this.#networkOf(networkId, running.contracts);
    const url = network.enabled ? network.config.websocket_url : undefined;
    if (running.hints?.url === url) return;
    running.hints?.close();
    // A node that fails is asked at its own pace, whatever its other side says.
    running.hints = this.#with.networks.hints(network, () => {
      if (running.failures === 0) call(running);
    });
  }

  async #run(networkId: string, follower: LogFollower, running: Running): Promise<void> {
    // After the caller has noted it.
    await Promise.resolve();
    while (!running.stopping.signal.aborted && running.contracts.length > 0) {
      let pauseMs = this.#options.pollMs;
      running.isCalled = false;
      try {
        this.#listen(networkId, running);
        const outcome = await follower.step();
        if (running.failures > 0) this.#with.log.info("contract logs are followed again", { path: networkId });
        running.failures = 0;
        if (outcome === "advanced") pauseMs = 0;
      } catch (error) {
        const failures = (running.failures += 1);
        // Once when it begins: a node that is down for a day is one line, not a thousand.
        if (failures === 1 && !(error instanceof StoreConflict))
          this.#with.log.warn("contract logs cannot be followed for now", { path: networkId, ...codeOf(error) });
        pauseMs =
          failures === 1 ? Math.min(100, pauseMs) : Math.min(PAUSE_MAX_MS, pauseMs * 2 ** Math.min(failures - 2, 10));
      }
      await this.#pause(running, pauseMs);
    }
    running.hints?.close();
    this.#running.delete(networkId);
  }

  async #pause(running: Running, ms: number): Promise<void> {
    if (running.stopping.signal.aborted || running.isCalled) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      running.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    running.wake = () => undefined;
  }
}

function call(running: Running): void {
  running.isCalled = true;
  running.wake();
}

function codeOf(error: unknown): { readonly code?: string } {
  if (error instanceof AppError) return { code: error.code };
  if (error instanceof RpcRefusal) return { code: `rpc ${String(error.code)}` };
  return error instanceof Error ? { code: error.name } : {};
}
