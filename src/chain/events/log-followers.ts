/**
 * Keeps one follower running for each network that has deployed contracts: it starts with the first contract and ends
 * with the last.
 */
import type { Subject } from "../../platform/auth/principal.js";
import { AppError, notFound } from "../../platform/errors.js";
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
  /** Pause between two steps on a chain that has not moved. 2,000 unless given. */
  readonly pollMs?: number;
  /** Interval at which networks and contracts that were added or deleted are looked for. 5,000 unless given. */
  readonly reloadMs?: number;
}

export interface LogFollowersDependencies {
  readonly store: Store;
  readonly events: Events;
  readonly networks: Pick<Networks, "rpc"> & HintingNetworks & { find(subject: Subject, id: string): NetworkRecord };
  readonly contracts: Pick<ContractAbis, "networks" | "deployed" | "find">;
  readonly log: Log;
}

/** A network that is followed. */
interface FollowedNetwork {
  readonly networkId: string;
  readonly follower: LogFollower;
  readonly stopping: AbortController;
  contracts: readonly WatchedContract[];
  hints: HeadHints | undefined;
  /** Steps that failed since the last one that did not. */
  failures: number;
  /** True when the chain may have moved since the present step began: another step follows at once. */
  isWoken: boolean;
  endPause: () => void;
  /** Resolves when the follower has ended. */
  ended: Promise<void>;
}

const POLL_MS = 2000;
const RELOAD_MS = 5000;
/** After the first failure, which is often a connection that was closed. */
const FIRST_RETRY_MS = 100;
/** A node that fails is asked less and less often, up to this pause. */
const PAUSE_MAX_MS = 60_000;

export class LogFollowers {
  readonly #options: Required<LogFollowersOptions>;
  readonly #dependencies: LogFollowersDependencies;
  /** By the network's id. */
  readonly #followed = new Map<string, FollowedNetwork>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LogFollowersOptions, dependencies: LogFollowersDependencies) {
    this.#options = { pollMs: POLL_MS, reloadMs: RELOAD_MS, ...options };
    this.#dependencies = dependencies;
  }

  /** Begins to follow all networks that have deployed contracts. */
  start(): void {
    this.#timer = setInterval(() => {
      this.#reload();
    }, this.#options.reloadMs).unref();
    this.#reload();
  }

  /** Takes a step at once, because the network's chain has moved or a contract was added. */
  wake(networkId: string): void {
    if (this.#timer === undefined) return;
    this.#reload();
    const network = this.#followed.get(networkId);
    if (network !== undefined) wake(network);
  }

  /** Ends all followers; resolves when their present steps have ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    const followed = [...this.#followed.values()];
    for (const network of followed) {
      network.stopping.abort();
      wake(network);
    }
    await Promise.all(
      followed.map(async ({ ended }) => {
        await ended;
      }),
    );
  }

  #reload(): void {
    const { contracts, log } = this.#dependencies;
    try {
      const networkIds = new Set(contracts.networks());
      for (const networkId of networkIds) {
        const deployed = contracts.deployed(networkId);
        const network = this.#followed.get(networkId);
        if (network === undefined) this.#follow(networkId, deployed);
        else network.contracts = deployed;
      }
      for (const [networkId, network] of this.#followed) {
        if (!networkIds.has(networkId)) network.contracts = [];
      }
    } catch (error) {
      log.error("the contracts whose logs are followed cannot be read", codeOf(error));
    }
  }

  #follow(networkId: string, contracts: readonly WatchedContract[]): void {
    const { events, store, networks } = this.#dependencies;
    const network: FollowedNetwork = {
      networkId,
      follower: new LogFollower(
        { networkId, confirmations: this.#options.confirmations },
        {
          events,
          records: new FollowRecords({ networkId }, { store }),
          rpc: () => networks.rpc(this.#recordOf(network)),
          contracts: () => network.contracts,
          find: (address) => this.#dependencies.contracts.find(networkId, address),
        },
      ),
      stopping: new AbortController(),
      contracts,
      hints: undefined,
      failures: 0,
      isWoken: false,
      endPause: () => undefined,
      ended: Promise.resolve(),
    };
    this.#followed.set(networkId, network);
    network.ended = this.#run(network);
  }

  /** The network's record, read for the owner of a contract, because a private network is its owner's alone. */
  #recordOf({ networkId, contracts }: FollowedNetwork): NetworkRecord {
    const owner = contracts[0]?.owner;
    if (owner === undefined) throw notFound("network");
    return this.#dependencies.networks.find(owner, networkId);
  }

  /** Receives hints of new blocks over the WebSocket that the network's record names at present. */
  #receiveHints(network: FollowedNetwork): void {
    const record = this.#recordOf(network);
    const url = record.enabled ? record.config.websocket_url : undefined;
    if (network.hints?.url === url) return;
    network.hints?.close();
    network.hints = this.#dependencies.networks.hints(record, () => {
      // Hints do not shorten the pauses after failures.
      if (network.failures === 0) wake(network);
    });
  }

  /** Takes steps until the followers stop or the network has no contract any more. Never rejects. */
  async #run(network: FollowedNetwork): Promise<void> {
    while (!network.stopping.signal.aborted && network.contracts.length > 0) {
      network.isWoken = false;
      await this.#pause(network, await this.#step(network));
    }
    network.hints?.close();
    this.#followed.delete(network.networkId);
  }

  /** Takes one step and returns the pause before the next one, in milliseconds. */
  async #step(network: FollowedNetwork): Promise<number> {
    const { log } = this.#dependencies;
    const path = network.networkId;
    try {
      this.#receiveHints(network);
      const outcome = await network.follower.step();
      if (network.failures > 0) log.info("contract logs are followed again", { path });
      network.failures = 0;
      return outcome === "advanced" ? 0 : this.#options.pollMs;
    } catch (error) {
      network.failures += 1;
      // One line for a series of failures. A conflict is with another follower of the same store, which goes on.
      if (network.failures === 1 && !(error instanceof StoreConflict))
        log.warn("contract logs cannot be followed for now", { path, ...codeOf(error) });
      return pauseAfter(network.failures, this.#options.pollMs);
    }
  }

  async #pause(network: FollowedNetwork, ms: number): Promise<void> {
    if (network.stopping.signal.aborted || network.isWoken) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      network.endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    network.endPause = () => undefined;
  }
}

function wake(network: FollowedNetwork): void {
  network.isWoken = true;
  network.endPause();
}

function pauseAfter(failures: number, pollMs: number): number {
  if (failures === 1) return Math.min(FIRST_RETRY_MS, pollMs);
  return Math.min(PAUSE_MAX_MS, pollMs * 2 ** Math.min(failures - 2, 10));
}

function codeOf(error: unknown): { readonly code?: string } {
  if (error instanceof AppError) return { code: error.code };
  if (error instanceof RpcRefusal) return { code: `rpc ${String(error.code)}` };
  return error instanceof Error ? { code: error.name } : {};
}
