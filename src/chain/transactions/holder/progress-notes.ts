/**
 * Stores, once a second, what the queues of this node know and the other nodes answer from (shared-progress.ts). A
 * server alone stores none of it.
 */
import type { Log } from "../../../platform/log.js";
import type { Nodes } from "../../../platform/nodes/nodes.js";
import type { Store, StoreKey, StorePut } from "../../../platform/store/store.js";
import type { NonceQueues } from "../sending/nonce-queues.js";
import { FAULT_TABLE, HEAD_TABLE, faultKey, headKey } from "./shared-progress.js";

export interface ProgressNotesDependencies {
  readonly store: Store;
  readonly nodes: Pick<Nodes, "count">;
  readonly queues: Pick<NonceQueues, "heads" | "sendFaults">;
  readonly log: Log;
}

const NOTE_MS = 1_000;
/** Changes of one commit; more are left to the next. */
const CHANGES_MAX = 500;

interface Change {
  readonly name: string;
  readonly put: StorePut | undefined;
  readonly key: StoreKey;
}

export class ProgressNotes {
  readonly #dependencies: ProgressNotesDependencies;
  /** The stored values as text, by the text of their key. */
  readonly #noted = new Map<string, { readonly key: StoreKey; readonly text: string }>();
  #timer: NodeJS.Timeout | undefined;
  #noting: Promise<void> | undefined;

  constructor(dependencies: ProgressNotesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Begins to store, and first deletes what the node before had stored. */
  begin(): void {
    const { store } = this.#dependencies;
    this.#noted.clear();
    for (const table of [HEAD_TABLE, FAULT_TABLE])
      for (const { key } of store.range([table])) this.#noted.set(nameOf(key), { key, text: "" });
    this.#timer = setInterval(() => {
      this.#noting ??= this.#note().finally(() => {
        this.#noting = undefined;
      });
    }, NOTE_MS).unref();
  }

  /** Stores nothing any more; resolves when what was under way has ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#noting;
  }

  /** Never rejects. */
  async #note(): Promise<void> {
    let changes: readonly Change[];
    try {
      changes = this.#changes();
      if (changes.length === 0) return;
      await this.#dependencies.store.commit({
        puts: changes.flatMap(({ put }) => (put === undefined ? [] : [put])),
        deletes: changes.flatMap(({ put, key }) => (put === undefined ? [key] : [])),
      });
    } catch (error) {
      this.#dependencies.log.debug("the progress of transactions is told to other nodes later", () => ({ error }));
      return;
    }
    for (const { name, put, key } of changes) {
      if (put === undefined) this.#noted.delete(name);
      else this.#noted.set(name, { key, text: JSON.stringify(put.value) });
    }
  }

  #changes(): Change[] {
    const { nodes, queues } = this.#dependencies;
    const puts: StorePut[] =
      nodes.count === 1
        ? []
        : [
            ...queues.heads().map(([networkId, head]) => ({ key: headKey(networkId), value: head })),
            ...queues.sendFaults().map(([id, fault]) => ({ key: faultKey(id), value: { ...fault } })),
          ];
    const present = new Set(puts.map(({ key }) => nameOf(key)));
    const gone = [...this.#noted].filter(([name]) => !present.has(name));
    const changed = puts.filter(({ key, value }) => this.#noted.get(nameOf(key))?.text !== JSON.stringify(value));
    return [
      ...gone.map(([name, { key }]) => ({ name, key, put: undefined })),
      ...changed.map((put) => ({ name: nameOf(put.key), key: put.key, put })),
    ].slice(0, CHANGES_MAX);
  }
}

function nameOf(key: StoreKey): string {
  return key.join(" ");
}
