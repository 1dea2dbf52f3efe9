/** Nodes of a cluster without a database: what they tell each other, and nothing of how they agree. */
import { AppError } from "../../src/platform/errors.js";
import type { Nodes } from "../../src/platform/nodes/nodes.js";
import { soloNodes } from "../../src/platform/nodes/solo-nodes.js";
import type { StoreKey } from "../../src/platform/store/store.js";
import { MemoryStore } from "./memory-store.js";

/** Nodes over one store in memory, which tells each of the others' commits, and takes none of those that were given up. */
export class NodesInMemory {
  readonly store = new MemoryStore();
  readonly dead = new Set<string>();
  readonly #listeners = new Map<
    string,
    { table: string; listener: (keys: readonly StoreKey[]) => void | Promise<void> }[]
  >();
  readonly #names = new Set<string>();
  readonly #endListeners = new Map<string, (() => void)[]>();
  /** The node that has every duty. */
  holder: string | undefined;

  /** Gives a node up for dead, which the others are told. */
  end(name: string): void {
    this.dead.add(name);
    for (const [other, listeners] of this.#endListeners)
      if (other !== name) for (const listener of listeners) listener();
  }

  /** Returns a node's view of the store and of the others. */
  node(name: string): { readonly store: MemoryStore; readonly nodes: Nodes } {
    const { store, dead } = this;
    this.#names.add(name);
    const commit: MemoryStore["commit"] = async (change) => {
      if (dead.has(name)) throw new AppError("conflict", { message: "given up" });
      await store.commit(change);
      const keys = [...(change.puts ?? []).map(({ key }) => key), ...(change.deletes ?? [])];
      for (const [other, listeners] of this.#listeners)
        if (other !== name) for (const { table, listener } of listeners) tell(table, listener, keys);
    };
    const seen = new Proxy(store, {
      get: (target, member) => {
        const value: unknown = member === "commit" ? commit : Reflect.get(target, member, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const nodes: Nodes = {
      ...soloNodes(),
      incarnation: name,
      count: 2,
      serving: 2,
      has: () => this.holder === name,
      others: () => {
        const alive = [...this.#names].filter((other) => other !== name && !dead.has(other));
        return alive.map((incarnation) => ({ incarnation, name: incarnation }));
      },
      isAlive: (other) => !dead.has(other),
      onEnded: (listener) => {
        this.#endListeners.set(name, [...(this.#endListeners.get(name) ?? []), listener]);
        return () => undefined;
      },
      onChange: (table, listener) => {
        this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), { table, listener }]);
        return () => undefined;
      },
    };
    return { store: seen, nodes };
  }
}

function tell(
  table: string,
  listener: (keys: readonly StoreKey[]) => void | Promise<void>,
  keys: readonly StoreKey[],
): void {
  const own = keys.filter(([name]) => name === table);
  if (own.length > 0) void listener(own);
}
