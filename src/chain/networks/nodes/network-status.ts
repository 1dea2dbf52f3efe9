/**
 * How networks are, live from their nodes, and told on the bus when it changes. Only networks that somebody has lately
 * used are asked in the background: a stored URL alone makes no traffic.
 */
import { isoTimestamp, type Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import type { Events } from "../../../platform/events/events.js";
import type { Log } from "../../../platform/log.js";
import type { NetworkRecord } from "../network-port.js";
import type { EndpointHealth } from "../../rpc/endpoint-health.js";
import { RpcRefusal, type Rpc } from "../../rpc/rpc.js";
import { readBlock } from "./blocks.js";
import type { BlockJson, NetworkJson, NetworkStatisticsJson, NetworkStatusJson } from "../network-schemas.js";
import type { RpcPool } from "./rpc-pool.js";

export interface StatusWatchOptions {
  /** Between two looks at a network that is in use. 15 s unless given. */
  readonly intervalMs?: number;
}

export interface StatusWatchDependencies {
  readonly pool: RpcPool;
  readonly events: Events;
  readonly clock: Clock;
  readonly log: Log;
}

interface Watched {
  record: NetworkRecord;
  usedAtMs: number;
  /** What the bus was last told. */
  told: string | undefined;
}

const INTERVAL_MS = 15_000;
/** A network that nobody asked for this long is let alone. */
const IDLE_MS = 10 * 60_000;
const WATCHED_MAX = 1_000;
/** Many who ask at once are one question; what is older is asked anew. */
const FRESH_MS = 500;
const ASK_TIMEOUT_MS = 6_000;
/** Blocks over which the mean time between two is taken. */
const BLOCK_TIME_SPAN = 20;

export class NetworkStatusWatch {
  readonly #intervalMs: number;
  readonly #with: StatusWatchDependencies;
  readonly #watched = new Map<string, Watched>();
  readonly #seen = new Map<string, NetworkStatusJson>();
  readonly #asking = new Map<string, { readonly atMs: number; readonly status: Promise<NetworkStatusJson> }>();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(options: StatusWatchOptions, dependencies: StatusWatchDependencies) {
    this.#intervalMs = options.intervalMs ?? INTERVAL_MS;
    this.#with = dependencies;
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#next();
    }, this.#intervalMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#round;
  }

  /** Somebody uses the network: it is looked after for a while. */
  touch(record: NetworkRecord): void {
    const usedAtMs = this.#with.clock.monotonicMs();
    const watched = this.#watched.get(record.id);
    if (watched !== undefined) Object.assign(watched, { record, usedAtMs });
    else if (this.#watched.size < WATCHED_MAX) this.#watched.set(record.id, { record, usedAtMs, told: undefined });
  }

  forget(id: string): void {
    this.#watched.delete(id);
    this.#seen.delete(id);
    this.#asking.delete(id);
  }

  lastSeen(id: string): NetworkJson["stats"] {
    const status = this.#seen.get(id);
    if (status === undefined) return null;
    const { block, last_block_at, peer_count, state, syncing, latency_ms, observed_at } = status;
    return { block, last_block_at, peer_count, state, syncing, latency_ms, observed_at };
  }

  /** Asks the nodes now. Never fails for what they do: that is the answer. */
  async status(record: NetworkRecord): Promise<NetworkStatusJson> {
    const now = this.#with.clock.monotonicMs();
    const asking = this.#asking.get(record.id);
    if (asking !== undefined && now - asking.atMs < FRESH_MS) return await asking.status;
    const status = this.#observe(record);
    this.#asking.set(record.id, { atMs: now, status });
    return await status;
  }

  async statistics(record: NetworkRecord): Promise<NetworkStatisticsJson> {
    const status = await this.status(record);
    const empty = {
      gas_price: null,
      base_fee_per_gas: null,
      gas_used: null,
      gas_limit: null,
      transaction_count: null,
      block_time_ms: null,
    };
    if (status.block === null) return { ...status, ...empty, nodes: this.#nodes(record) };
    const rpc = this.#with.pool.rpc(record);
    const span = Math.min(BLOCK_TIME_SPAN, status.block);
    const [latest, earlier, gasPrice] = await Promise.all([
      quietly(blockAt(rpc, status.block)),
      quietly(blockAt(rpc, status.block - span)),
      quietly(rpc.request("eth_gasPrice", [], { timeoutMs: ASK_TIMEOUT_MS })),
    ]);
    return {
      ...status,
      gas_price: typeof gasPrice === "string" && /^0x[0-9a-f]{1,32}$/i.test(gasPrice) ? String(BigInt(gasPrice)) : null,
      base_fee_per_gas: latest?.base_fee_per_gas ?? null,
      gas_used: latest?.gas_used ?? null,
      gas_limit: latest?.gas_limit ?? null,
      transaction_count: latest?.transaction_count ?? null,
      block_time_ms:
        latest === undefined || earlier === undefined || span === 0
          ? null
          : (Date.parse(latest.timestamp) - Date.parse(earlier.timestamp)) / span,
      nodes: this.#nodes(record),
    };
  }

  #nodes(record: NetworkRecord): NetworkStatisticsJson["nodes"] {
    return this.#health(record).map(({ url, state, latencyMs, requests, failures, lastError }) => ({
      host: new URL(url).host,
      state,
      latency_ms: rounded(latencyMs),
      requests,
      failures,
      last_error: lastError?.code ?? null,
    }));
  }

  #health(record: NetworkRecord): EndpointHealth[] {
    try {
      return this.#with.pool.rpc(record).health();
    } catch (error) {
      if (error instanceof AppError) return [];
      throw error;
    }
  }

  async #observe(record: NetworkRecord): Promise<NetworkStatusJson> {
    const status = await this.#ask(record);
    this.#seen.set(record.id, status);
    if (this.#seen.size > 2 * WATCHED_MAX) this.#seen.delete(this.#seen.keys().next().value ?? "");
    await this.#tell(record, status).catch(() => {
      this.#with.log.warn("a network's status could not be told");
    });
    return status;
  }

  async #ask(record: NetworkRecord): Promise<NetworkStatusJson> {
    const observed_at = isoTimestamp(this.#with.clock.nowMs());
    const nothing: NetworkStatusJson = {
      block: null,
      chain_id: record.chain_id,
      height: null,
      last_block_at: null,
      peer_count: null,
      protocol_version: null,
      state: "genesis",
      syncing: true,
      latency_ms: null,
      last_error: null,
      observed_at,
      meta: {},
    };
    try {
      const rpc = this.#with.pool.rpc(record);
      this.touch(record);
      const options = { timeoutMs: ASK_TIMEOUT_MS };
      const [block, syncing, peers, version] = await Promise.all([
        rpc.request("eth_getBlockByNumber", ["latest", false], options).then(readBlock),
        quietly(rpc.request("eth_syncing", [], options)),
        quietly(rpc.request("net_peerCount", [], options)),
        quietly(rpc.request("web3_clientVersion", [], options)),
      ]);
      const isSyncing = syncing !== undefined && syncing !== false;
      const health = rpc.health();
      return {
        ...nothing,
        block: block.number,
        height: block.number,
        last_block_at: block.timestamp,
        peer_count: readCount(peers),
        protocol_version: readVersion(version),
        state: isSyncing ? "syncing" : "running",
        syncing: isSyncing,
        latency_ms: rounded(health.find(({ state }) => state === "up")?.latencyMs ?? null),
        last_error: lastErrorOf(health),
        meta: {},
      };
    } catch (error) {
      if (error instanceof RpcRefusal)
        return {
          ...nothing,
          state: "unreachable",
          last_error: {
            code: "network_answer_invalid",
            message: "the node refuses to tell its newest block",
            at: observed_at,
          },
        };
      if (!(error instanceof AppError)) throw error;
      if (error.code === "network_disabled") return { ...nothing, state: "disabled", syncing: false };
      if (error.code === "network_has_no_node") return nothing;
      const state = error.code === "network_chain_mismatch" ? "mismatch" : "unreachable";
      return {
        ...nothing,
        state,
        syncing: false,
        last_error: { code: error.code, message: error.message, at: observed_at },
      };
    }
  }

  /** Says a change of state; every new block would be most of what the bus keeps. */
  async #tell(record: NetworkRecord, status: NetworkStatusJson): Promise<void> {
    const watched = this.#watched.get(record.id);
    const told = `${status.state} ${String(status.syncing)} ${status.state === "running" ? "" : (status.last_error?.code ?? "")}`;
    if (watched === undefined || watched.told === told) return;
    watched.told = told;
    await this.#with.events.publish([
      {
        subject: `network.${record.id}.status`,
        payload: { network_id: record.id, ...status },
        audience: record.owner === null ? "everyone" : [record.owner],
      },
    ]);
  }

  #next(): void {
    this.#round = this.#lookAround()
      .catch(() => {
        this.#with.log.warn("a round of network checks failed");
      })
      .finally(() => {
        if (this.#timer === undefined) return;
        this.#timer = setTimeout(() => {
          this.#next();
        }, this.#intervalMs);
        this.#timer.unref();
      });
  }

  async #lookAround(): Promise<void> {
    const now = this.#with.clock.monotonicMs();
    const due: Watched[] = [];
    for (const [id, watched] of this.#watched) {
      if (now - watched.usedAtMs > IDLE_MS) this.#watched.delete(id);
      else due.push(watched);
    }
    // The look itself is no use of the network.
    await Promise.all(
      due.map(async (watched) => {
        const { usedAtMs } = watched;
        await this.#observe(watched.record);
        watched.usedAtMs = usedAtMs;
      }),
    );
  }
}

async function blockAt(rpc: Rpc, number: number): Promise<BlockJson> {
  return readBlock(
    await rpc.request("eth_getBlockByNumber", [`0x${number.toString(16)}`, false], { timeoutMs: ASK_TIMEOUT_MS }),
  );
}

/** What is not vital: a node that does not tell it is no failure. */
async function quietly<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError || error instanceof RpcRefusal) return undefined;
    throw error;
  }
}

function readCount(value: unknown): number | null {
  const text = typeof value === "number" ? String(value) : value;
  if (typeof text !== "string" || !/^(0x[0-9a-f]{1,8}|[0-9]{1,9})$/i.test(text)) return null;
  return Number(text);
}

function readVersion(value: unknown): string | null {
  return typeof value === "string" && /^[\x20-\x7e]{1,100}$/.test(value) ? value : null;
}

function lastErrorOf(health: readonly EndpointHealth[]): NetworkStatusJson["last_error"] {
  return (
    health
      .map(({ lastError }) => lastError)
      .filter((error) => error !== null)
      .sort((a, b) => (a.at < b.at ? 1 : -1))[0] ?? null
  );
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100;
}
