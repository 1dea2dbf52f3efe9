/**
 * Probes the peers of connectors and sets the status by the result: on demand, and all of them about once a minute,
 * with jitter, so that many connectors to one peer do not probe it at once. A peer that hangs costs its own few seconds
 * and delays no other.
 */
import { randomInt } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Subject } from "../../../platform/auth/principal.js";
import { isoTimestamp, type Clock } from "../../../platform/clock.js";
import { AppError } from "../../../platform/errors.js";
import type { Log } from "../../../platform/log.js";
import type { Store } from "../../../platform/store/store.js";
import { retryOnConflict } from "../../../platform/store/tables.js";
import type { Probe } from "../connector-schemas.js";
import { isProbed, type ConnectorStatus } from "../connector-lifecycle.js";
import type { Peers } from "./peers.js";
import { CONNECTOR_KINDS } from "./probes.js";
import type { ContainerRuntime } from "../providers/provider.js";
import type { ConnectorRepository, StoredConnector } from "../connector-repository.js";
import type { StatusWriter } from "../provisioning/status-writer.js";

export interface ReachabilityOptions {
  /** Time between two rounds over all connectors, within a fifth. 60 s by default. */
  readonly intervalMs?: number;
}

interface ReachabilityDependencies {
  readonly store: Store;
  readonly repository: ConnectorRepository;
  readonly peers: Peers;
  readonly statuses: StatusWriter;
  /** Returns where the containers are published now; undefined when they are gone. */
  readonly relocate: (connector: StoredConnector, signal: AbortSignal) => Promise<ContainerRuntime | undefined>;
  /** Called in each round for every connector that waits for a job. */
  readonly resume: (connector: StoredConnector) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

const INTERVAL_MS = 60_000;
/** Peers probed at a time in a round. */
const ROUND_CONCURRENCY = 8;
const PAGE_ROWS = 100;
/** Largest shift of a round, in percent of the interval. */
const JITTER_PERCENT = 20;

export class Reachability {
  readonly #options: Required<ReachabilityOptions>;
  readonly #dependencies: ReachabilityDependencies;
  readonly #running = new Map<string, Promise<Probe>>();
  /** Ends the probes, when the server stops. */
  readonly #abort = new AbortController();
  #rounds: { readonly abort: AbortController; readonly ended: Promise<void> } | undefined;

  constructor(options: ReachabilityOptions, dependencies: ReachabilityDependencies) {
    this.#options = { intervalMs: options.intervalMs ?? INTERVAL_MS };
    this.#dependencies = dependencies;
  }

  /** Starts the rounds. */
  start(): void {
    if (this.#rounds !== undefined) return;
    const abort = new AbortController();
    this.#rounds = { abort, ended: this.#run(abort.signal) };
  }

  /** Leaves the rounds to another node; resolves when the present one has ended. `start` may follow. */
  async endRounds(): Promise<void> {
    this.#rounds?.abort.abort(new Error("another node probes the connectors"));
    await this.#rounds?.ended;
    this.#rounds = undefined;
  }

  /** Ends the rounds and waits for the probes under way. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the server is stopping"));
    await this.endRounds();
    await Promise.allSettled(this.#running.values());
  }

  /**
   * Probes the peer now, or waits for the probe under way, and writes the status when it changes. Never rejects for
   * what a peer does.
   */
  async check(owner: Subject, id: string): Promise<Probe> {
    const running = this.#running.get(id);
    if (running !== undefined) return await running;
    const probe = this.#check(owner, id).finally(() => {
      this.#running.delete(id);
    });
    this.#running.set(id, probe);
    return await probe;
  }

  /** Probes the peer and writes nothing. */
  async ask(connector: StoredConnector, signal: AbortSignal): Promise<Probe> {
    const startedMs = this.#dependencies.clock.monotonicMs();
    const answer = (reachable: boolean | null, parts: Partial<Probe>): Probe => ({
      reachable,
      checked_at: isoTimestamp(this.#dependencies.clock.nowMs()),
      latency_ms: null,
      peer: null,
      error: null,
      ...parts,
    });
    try {
      const peer = await this.#dependencies.peers.peer(connector, signal);
      const description = await CONNECTOR_KINDS[connector.type].probe(peer);
      return answer(true, {
        latency_ms: Math.round((this.#dependencies.clock.monotonicMs() - startedMs) * 10) / 10,
        peer: description ?? null,
      });
    } catch (error) {
      if (signal.aborted || !(error instanceof AppError)) throw error;
      // With a sealed vault the peer was not asked.
      return answer(error.code === "vault_sealed" ? null : false, {
        error: { code: error.code, message: error.message },
      });
    }
  }

  async #check(owner: Subject, id: string): Promise<Probe> {
    const { signal } = this.#abort;
    const connector = this.#dependencies.repository.require(owner, id).value;
    const first = await this.ask(connector, signal);
    if (!isProbed(connector.status)) return first;
    if (first.reachable !== false || connector.runtime === null) return await this.#record(connector, first, undefined);
    // Published ports change when a container is restarted.
    const moved = await this.#relocated(connector, signal);
    if (moved === undefined) return await this.#record(connector, first, undefined);
    return await this.#record(connector, await this.ask({ ...connector, runtime: moved }, signal), moved);
  }

  async #relocated(connector: StoredConnector, signal: AbortSignal): Promise<ContainerRuntime | undefined> {
    try {
      const found = await this.#dependencies.relocate(connector, signal);
      return found === undefined || JSON.stringify(found) === JSON.stringify(connector.runtime) ? undefined : found;
    } catch (error) {
      if (error instanceof AppError) return undefined;
      throw error;
    }
  }

  /** Writes the result of a probe, unless the connector was changed meanwhile: the result may be of another address. */
  async #record(asked: StoredConnector, probe: Probe, moved: ContainerRuntime | undefined): Promise<Probe> {
    if (probe.reachable === null) return probe;
    const { id, owner } = asked;
    await retryOnConflict(async () => {
      const current = this.#dependencies.repository.find(owner, id);
      if (current === undefined || current.value.updated_at !== asked.updated_at) return;
      const status = probe.reachable === true ? reachableStatus(current.value) : "unavailable";
      const isSame = status === current.value.status && current.value.errors[0]?.code === probe.error?.code;
      if (isSame && moved === undefined) return;
      await this.#dependencies.store.commit(
        this.#dependencies.statuses.change(current, {
          status,
          errors: probe.error === null ? [] : [probe.error],
          ...(moved === undefined ? {} : { runtime: moved }),
        }),
      );
      if (status !== current.value.status)
        this.#dependencies.log.info("connector changed its status", {
          state: status,
          kind: current.value.type,
          ...(probe.error === null ? {} : { code: probe.error.code }),
        });
    });
    return probe;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await pause(jittered(this.#options.intervalMs), undefined, { signal, ref: false });
        await this.#round(signal);
      } catch (error) {
        if (signal.aborted) return;
        // A fault of one round must not end the rounds.
        this.#dependencies.log.error("a round of connector probes failed", { error });
      }
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    for (const connector of this.#all("unsettled"))
      await this.#quietly(async () => {
        await this.#dependencies.resume(connector);
      });
    const waiting = shuffled(this.#all("probed"));
    const work = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined && !signal.aborted; next = waiting.pop()) {
        const { owner, id } = next;
        await this.#quietly(async () => {
          await this.check(owner, id);
        });
      }
    };
    await Promise.all(Array.from({ length: ROUND_CONCURRENCY }, work));
  }

  async #quietly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // The connector was deleted since the round began, or the store takes no writes now; the next round tries again.
      if (!(error instanceof AppError)) throw error;
    }
  }

  #all(index: "probed" | "unsettled"): StoredConnector[] {
    const found: StoredConnector[] = [];
    for (let page = 1; ; page += 1) {
      const rows = this.#dependencies.repository.page(index, { page, rpp: PAGE_ROWS });
      found.push(...rows);
      if (rows.length < PAGE_ROWS) return found;
    }
  }
}

/** Returns the status of a connector whose peer answers: `active` for an IPFS node or gateway named by URL. */
export function reachableStatus({ type, config }: StoredConnector): ConnectorStatus {
  return type === "ipfs" && (config.gateway_url !== undefined || config.rpc_url !== undefined) ? "active" : "available";
}

function jittered(ms: number): number {
  return Math.max(1, Math.round((ms * (100 - JITTER_PERCENT + randomInt(2 * JITTER_PERCENT + 1))) / 100));
}

/** Shuffles in place (Fisher and Yates), so that no connector always comes last. */
function shuffled<T>(items: T[]): T[] {
  for (let last = items.length - 1; last > 0; last -= 1) {
    const other = randomInt(last + 1);
    const [one, two] = [items[last], items[other]];
    if (one !== undefined && two !== undefined) [items[last], items[other]] = [two, one];
  }
  return items;
}
