/**
 * Which networks other nodes use, so that the node that publishes the states of networks asks for those too:
 *
 *   ["chain_network_use", network]  -> NetworkUseRecord, written by any node that uses it, each few minutes
 */
import { LRUCache } from "lru-cache";
import type { Subject } from "../../../platform/auth/principal.js";
import type { Clock } from "../../../platform/clock.js";
import type { Log } from "../../../platform/log.js";
import type { Nodes } from "../../../platform/nodes/nodes.js";
import type { Store, StoreKey } from "../../../platform/store/store.js";
import { CHAIN_DUTY } from "../../chain-duty.js";
import type { NetworkRecord } from "../network-port.js";

interface NetworkUseRecord {
  /** Null for a public network. */
  readonly owner: Subject | null;
  readonly at_ms: number;
}

export interface NetworkUsesDependencies {
  readonly store: Store;
  readonly nodes: Nodes;
  readonly clock: Clock;
  readonly log: Log;
}

const TABLE = "chain_network_use";
/** Well below the time after which an unused network is not asked any more (network-status.ts). */
const NOTE_MS = 4 * 60_000;
const KEPT_MS = 10 * 60_000;
const REMEMBERED_MAX = 1_000;

export class NetworkUses {
  readonly #dependencies: NetworkUsesDependencies;
  /** Monotonic times of the last notes of this node, by the network's id. */
  readonly #notedAtMs = new LRUCache<string, number>({ max: REMEMBERED_MAX });

  constructor(dependencies: NetworkUsesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Tells the node that publishes that a network is used here. Returns at once. */
  note({ id, owner }: NetworkRecord): void {
    const { store, nodes, clock, log } = this.#dependencies;
    if (nodes.has(CHAIN_DUTY) || nodes.count === 1) return;
    const nowMs = clock.monotonicMs();
    if (nowMs - (this.#notedAtMs.get(id) ?? -Infinity) < NOTE_MS) return;
    this.#notedAtMs.set(id, nowMs);
    const record: NetworkUseRecord = { owner, at_ms: clock.nowMs() };
    store
      .commit({ puts: [{ key: [TABLE, id], value: { ...record, owner: owner === null ? null : { ...owner } } }] })
      .catch((error: unknown) => {
        this.#notedAtMs.delete(id);
        log.debug("the use of a network is told to other nodes later", () => ({ error }));
      });
  }

  /**
   * Calls the listener with the networks that were used lately, and from now on with those that other nodes use.
   * Returns a function that ends it.
   */
  listen(listener: (owner: Subject | null, networkId: string) => void): () => void {
    const { store, nodes } = this.#dependencies;
    this.#tell(
      store.range([TABLE]).map(({ key }) => key),
      listener,
    );
    return nodes.onChange(TABLE, (keys) => {
      this.#tell(keys, listener);
    });
  }

  #tell(keys: readonly StoreKey[], listener: (owner: Subject | null, networkId: string) => void): void {
    const { store, clock, log } = this.#dependencies;
    const old: StoreKey[] = [];
    for (const key of keys) {
      const use = store.get<NetworkUseRecord>(key)?.value;
      if (use === undefined) continue;
      if (clock.nowMs() - use.at_ms > KEPT_MS) old.push(key);
      else listener(use.owner, String(key[1]));
    }
    if (old.length === 0) return;
    store.commit({ deletes: old }).catch((error: unknown) => {
      log.debug("old uses of networks stay for now", () => ({ error }));
    });
  }
}
