/**
 * Sealing that holds on all nodes: a record orders it, each node seals when it sees the order and says so in a record
 * of its own, and who asked gets his answer when all living nodes have. Unsealing never goes this way: each node gets
 * the key by itself.
 *   seal_order         -> the last order
 *   seal_report / incarnation -> the order that this process has carried out
 */
import { AppError } from "../../platform/errors.js";
import { newId } from "../../platform/ids.js";
import type { Log } from "../../platform/log.js";
import type { Nodes } from "../../platform/nodes/nodes.js";
import type { Store, StoreKey } from "../../platform/store/store.js";

export interface SealOrdersDependencies {
  readonly store: Store;
  readonly nodes: Nodes;
  readonly log: Log;
  /** Seals this node; nothing is served by the vault from the call on. Never rejects. */
  readonly sealHere: () => Promise<void>;
}

interface SealOrder {
  readonly id: string;
}

const ORDER_TABLE = "seal_order";
const REPORT_TABLE = "seal_report";
const ORDER_KEY: StoreKey = [ORDER_TABLE];
/** How long who asked waits for the other nodes. */
const REPORTS_MS_MAX = 10_000;

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
   * @throws deadline_exceeded with the names of the nodes that have not said that they are sealed
   */
  async give(): Promise<void> {
    const { store, nodes } = this.#with;
    if (nodes.count === 1) return;
    const order: SealOrder = { id: newId() };
    await store.commit({
      deletePrefixes: [[REPORT_TABLE]],
      puts: [{ key: ORDER_KEY, value: { ...order } }],
      urgent: true,
    });
    const missing = await this.#untilReported(order);
    if (missing.length === 0) return;
    throw new AppError("deadline_exceeded", {
      message: `this node is sealed, and these have not said that they are: ${missing.join(", ")}; they seal when they hear of it, and answer nothing that needs the vault while they hear nothing`,
    });
  }

  async #obey(): Promise<void> {
    const { store, nodes, log, sealHere } = this.#with;
    const order = store.get<SealOrder>(ORDER_KEY)?.value;
    if (order === undefined) return;
    await sealHere();
    try {
      const key: StoreKey = [REPORT_TABLE, nodes.incarnation];
      await store.commit({ puts: [{ key, value: { id: order.id } }], urgent: true });
    } catch (error) {
      log.warn("this node is sealed as another one asked, and could not say so", { error });
    }
  }

  /** Waits until all other living nodes have reported. Returns the names of those that have not. */
  async #untilReported({ id }: SealOrder): Promise<readonly string[]> {
    const { store, nodes } = this.#with;
    const missing = (): string[] =>
      nodes
        .others()
        .filter(({ incarnation }) => store.get<SealOrder>([REPORT_TABLE, incarnation])?.value.id !== id)
        .map(({ name }) => name);
    return await new Promise((resolve) => {
      const look = (): void => {
        if (missing().length === 0) end();
      };
      const timer = setTimeout(() => {
        end();
      }, REPORTS_MS_MAX);
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
