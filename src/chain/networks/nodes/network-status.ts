/**
 * The state of networks: asked of their nodes, and published when it changes, by one of the server's own nodes. Only
 * networks in use are asked in the background, so that a stored URL alone makes no traffic.
 */
import { LRUCache } from "lru-cache";
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
  /** Time between two rounds over the networks in use. 15 s by default. */
  readonly intervalMs?: number;
}

interface StatusWatchDependencies {
  readonly pool: RpcPool;
  readonly events: Events;
  /** Whether this node publishes changes. */
  readonly mayPublish: () => boolean;
  /** Called when a network is used. */
  readonly onUse: (record: NetworkRecord) => void;
  readonly clock: Clock;
  readonly log: Log;
}

interface Watched {
  record: NetworkRecord;
  usedAtMs: number;
  /** What was published last, to detect a change. */
  published: string | undefined;
}

const INTERVAL_MS = 15_000;
/** A network not used for this long is no longer asked in the background. */
const IDLE_MS = 10 * 60_000;
const WATCHED_MAX = 1_000;
/** Requests within this time share one answer of the nodes. */
const FRESH_MS = 500;
const ASK_TIMEOUT_MS = 6_000;
/** Blocks over which the mean block time is taken. */
const BLOCK_TIME_SPAN = 20;

export class NetworkStatusWatch {
  readonly #intervalMs: number;
  readonly #dependencies: StatusWatchDependencies;
  readonly #watched = new Map<string, Watched>();
  readonly #latest = new LRUCache<string, NetworkStatusJson>({ max: 2 * WATCHED_MAX });
  readonly #asked = new LRUCache<string, { readonly atMs: number; readonly status: Promise<NetworkStatusJson> }>({
    max: 2 * WATCHED_MAX,
  });
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(options: StatusWatchOptions, dependencies: StatusWatchDependencies) {
    this.#intervalMs = options.intervalMs ?? INTERVAL_MS;
    this.#dependencies = dependencies;
  }

  /** Starts the rounds. */
  start(): void {
    this.#timer = setTimeout(() => {
      this.#next();
    }, this.#intervalMs);
    this.#timer.unref();
  }

  /** Ends the rounds and waits for the one under way. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#round;
  }

  /** Called when a network is used: its nodes are asked in the background for a while. */
  touch(record: NetworkRecord): void {
    this.#dependencies.onUse(record);
    this.watch(record);
  }

  /** Asks the nodes of a network in the background for a while, because another node of the server uses it. */
  watch(record: NetworkRecord): void {
    const usedAtMs = this.#dependencies.clock.monotonicMs();
    const watched = this.#watched.get(record.id);
    if (watched !== undefined) Object.assign(watched, { record, usedAtMs });
    else if (this.#watched.size < WATCHED_MAX) this.#watched.set(record.id, { record, usedAtMs, published: undefined });
  }

  /** Forgets a network that was changed or deleted. */
  forget(id: string): void {
    this.#watched.delete(id);
    this.#latest.delete(id);
    this.#asked.delete(id);
  }

  /** Returns the last status, in the shape that a network's record shows; null if it was not asked yet. */
  lastSeen(id: string): NetworkJson["stats"] {
    const status = this.#latest.get(id);
    if (status === undefined) return null;
    const { block, last_block_at, peer_count, state, syncing, latency_ms, observed_at } = status;
    return { block, last_block_at, peer_count, state, syncing, latency_ms, observed_at };
  }

  /** Asks the nodes now. Failures of the nodes are part of the status and reject nothing. */
  async status(record: NetworkRecord): Promise<NetworkStatusJson> {
    this.#dependencies.onUse(record);
    const now = this.#dependencies.clock.monotonicMs();
    const asked = this.#asked.get(record.id);
    if (asked !== undefined && now - asked.atMs < FRESH_MS) return await asked.status;
    const status = this.#observe(record);
    this.#asked.set(record.id, { atMs: now, status });
    return await status;
  }

  /** Returns the status with fees, figures of the newest block, and the health of each node. */
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
    const rpc = this.#dependencies.pool.rpc(record);
    const span = Math.min(BLOCK_TIME_SPAN, status.block);
    const [latest, earlier, gasPrice] = await Promise.all([
      ifAnswered(blockAt(rpc, status.block)),
      ifAnswered(blockAt(rpc, status.block - span)),
      ifAnswered(rpc.request("eth_gasPrice", [], { timeoutMs: ASK_TIMEOUT_MS })),
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
      return this.#dependencies.pool.rpc(record).health();
    } catch (error) {
      if (error instanceof AppError) return [];
      throw error;
    }
  }

  async #observe(record: NetworkRecord): Promise<NetworkStatusJson> {
    const status = await this.#ask(record);
    this.#latest.set(record.id, status);
    await this.#publish(record, status).catch((error: unknown) => {
      this.#dependencies.log.warn("the status of a network could not be published", { error });
    });
    return status;
  }

  async #ask(record: NetworkRecord): Promise<NetworkStatusJson> {
    const observed_at = isoTimestamp(this.#dependencies.clock.nowMs());
    try {
      const rpc = this.#dependencies.pool.rpc(record);
      this.watch(record);
      const options = { timeoutMs: ASK_TIMEOUT_MS };
      const [block, syncing, peers, version] = await Promise.all([
        rpc.request("eth_getBlockByNumber", ["latest", false], options).then(readBlock),
        ifAnswered(rpc.request("eth_syncing", [], options)),
        ifAnswered(rpc.request("net_peerCount", [], options)),
        ifAnswered(rpc.request("web3_clientVersion", [], options)),
      ]);
      const isSyncing = syncing !== undefined && syncing !== false;
      const health = rpc.health();
      return {
        block: block.number,
        chain_id: record.chain_id,
        height: block.number,
        last_block_at: block.timestamp,
        peer_count: readCount(peers),
        protocol_version: readVersion(version),
        state: isSyncing ? "syncing" : "running",
        syncing: isSyncing,
        latency_ms: rounded(health.find(({ state }) => state === "up")?.latencyMs ?? null),
        last_error: newestError(health),
        observed_at,
        meta: {},
      };
    } catch (error) {
      return {
        block: null,
        chain_id: record.chain_id,
        height: null,
        last_block_at: null,
        peer_count: null,
        protocol_version: null,
        ...failureOf(error, observed_at),
        syncing: false,
        latency_ms: null,
        observed_at,
        meta: {},
      };
    }
  }

  /** Publishes a change of state. New blocks are not published, because they would be most of the stored events. */
  async #publish(record: NetworkRecord, status: NetworkStatusJson): Promise<void> {
    const watched = this.#watched.get(record.id);
    if (!this.#dependencies.mayPublish()) return;
    const code = status.state === "running" ? "" : (status.last_error?.code ?? "");
    const summary = `${status.state} ${String(status.syncing)} ${code}`;
    if (watched === undefined || watched.published === summary) return;
    watched.published = summary;
    await this.#dependencies.events.publish([
      {
        subject: `network.${record.id}.status`,
        payload: { network_id: record.id, ...status },
        audience: record.owner === null ? "everyone" : [record.owner],
      },
    ]);
  }

  #next(): void {
    this.#round = this.#askAll()
      .catch((error: unknown) => {
        this.#dependencies.log.warn("a round of network checks failed", { error });
      })
      .finally(() => {
        if (this.#timer === undefined) return;
        this.#timer = setTimeout(() => {
          this.#next();
        }, this.#intervalMs);
        this.#timer.unref();
      });
  }

  async #askAll(): Promise<void> {
    const now = this.#dependencies.clock.monotonicMs();
    const due: Watched[] = [];
    for (const [id, watched] of this.#watched) {
      if (now - watched.usedAtMs > IDLE_MS) this.#watched.delete(id);
      else due.push(watched);
    }
    // This round is no use of the networks, so that their times stay.
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

/** Returns the state of a network that did not answer, and the reason. Throws errors that are not failures of nodes. */
function failureOf(error: unknown, at: string): Pick<NetworkStatusJson, "state" | "last_error"> {
  if (error instanceof RpcRefusal) {
    const message = "the node refuses to return its newest block";
    return { state: "unreachable", last_error: { code: "network_answer_invalid", message, at } };
  }
  if (!(error instanceof AppError)) throw error;
  const { code, message } = error;
  if (code === "network_disabled") return { state: "disabled", last_error: null };
  if (code === "network_has_no_node") return { state: "unconfigured", last_error: null };
  const state = code === "network_chain_mismatch" ? "mismatch" : "unreachable";
  return { state, last_error: { code, message, at } };
}

/** Returns undefined where the node does not answer: the value may be missing from the status. */
async function ifAnswered<T>(work: Promise<T>): Promise<T | undefined> {
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

/** Returns the newest error; of two in one millisecond, that of the node asked first. */
function newestError(health: readonly EndpointHealth[]): NetworkStatusJson["last_error"] {
  return health.reduce<NetworkStatusJson["last_error"]>(
    (newest, { lastError }) =>
      lastError !== null && (newest === null || lastError.at > newest.at) ? lastError : newest,
    null,
  );
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100;
}
