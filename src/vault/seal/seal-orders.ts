/**
 * Sealing that holds on all nodes: a record orders it, each node seals when it sees the order and says so in a record
 * of its own, and who asked gets his answer when all living nodes have. Unsealing never goes this way: each node gets
 * the key by itself.
 *   seal_orders        -> the number of orders so far
 *   seal_reports / incarnation -> the number of the last order that this process has carried out, with all before it
 */
import type { Log } from "../../platform/log.js";
import type { Nodes } from "../../platform/nodes/nodes.js";
import { retryOnConflict } from "../../platform/store/commits.js";
import type { Store, StoreKey } from "../../platform/store/store.js";

export interface SealOrdersDependencies {
  readonly store: Store;
  readonly nodes: Nodes;
  readonly log: Log;
  /** Seals this node; nothing is served by the vault from the call on. Never rejects. */
  readonly sealHere: () => Promise<void>;
  /** How long who asked waits for the other nodes. 10 s unless given. */
  readonly waitMs?: number;
}

const ORDER_TABLE = "seal_orders";
const REPORT_TABLE = "seal_reports";
const ORDER_KEY: StoreKey = [ORDER_TABLE];
const WAIT_MS = 10_000;

export class SealOrders {
  readonly #with: SealOrdersDependencies;

  constructor(dependencies: SealOrdersDependencies) {
    this.#with = dependencies;
    dependencies.nodes.onChange(ORDER_TABLE, () => {
      void this.#obey();
    });
  }

  /**
   * Has the other nodes seal, after this one has. Returns at once where there is none.
   * @returns the names of the nodes that have not said in time that they are sealed: they seal when they hear of it,
   *   and answer nothing that needs the vault while they hear nothing
   */
  async give(): Promise<readonly string[]> {
    const { store, nodes } = this.#with;
    if (nodes.count === 1) return [];
    const number = await retryOnConflict(async () => {
      const last = store.get<number>(ORDER_KEY);
      const next = (last?.value ?? 0) + 1;
      await store.commit({
        checks: [{ key: ORDER_KEY, version: last?.version ?? "absent" }],
        puts: [{ key: ORDER_KEY, value: next }],
        deletes: this.#reportsOfTheDead(),
        urgent: true,
      });
      return next;
    });
    return await this.#untilReported(number);
  }

  #reportsOfTheDead(): StoreKey[] {
    const { store, nodes } = this.#with;
    return store
      .range([REPORT_TABLE])
      .map(({ key }) => key)
      .filter((key) => !nodes.isAlive(String(key[1])));
  }

  async #obey(): Promise<void> {
    const { store, nodes, log, sealHere } = this.#with;
    const number = store.get<number>(ORDER_KEY)?.value;
    if (number === undefined) return;
    await sealHere();
    try {
      const key: StoreKey = [REPORT_TABLE, nodes.incarnation];
      await store.commit({ puts: [{ key, value: number }], urgent: true });
    } catch (error) {
      log.warn("this node is sealed as another one asked, and could not say so", { error });
    }
  }

  /** Waits until all other living nodes have reported. Returns the names of those that have not. */
  async #untilReported(number: number): Promise<readonly string[]> {
    const { store, nodes, waitMs = WAIT_MS } = this.#with;
    const missing = (): string[] =>
      nodes
        .others()
        .filter(({ incarnation }) => (store.get<number>([REPORT_TABLE, incarnation])?.value ?? 0) < number)
        .map(({ name }) => name);
    return await new Promise((resolve) => {
      const look = (): void => {
        if (missing().length === 0) end();
      };
      const timer = setTimeout(() => {
        end();
      }, waitMs);
      const stops = [nodes.onChange(REPORT_TABLE, look), nodes.onEnded(look)];
      const end = (): void => {
        clearTimeout(timer);
        for (const stop of stops) stop();
        resolve(missing());
      };
      look();
    });
  }
}
