/**
 * How far jobs have come, as the other nodes are told of it: records that are written every five seconds at most, and
 * not before a job has run for as long. Whoever runs it deletes them with the step; a server alone writes none.
 *   job_progress / id -> the share of the present step that is done, 0 to 1
 */
import type { Clock } from "../clock.js";
import type { Log } from "../log.js";
import type { Nodes } from "../nodes/nodes.js";
import type { Store, StoreCommit, StoreKey } from "../store/store.js";

export interface SharedProgressDependencies {
  readonly store: Store;
  readonly nodes: Nodes;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Log;
}

const TABLE = "job_progress";
const TOLD_EVERY_MS = 5_000;

export class SharedProgress {
  readonly #with: SharedProgressDependencies;
  /** Jobs that run here, with the monotonic time of their start or of what was told last. */
  readonly #running = new Map<string, { toldAtMs: number; isTold: boolean }>();

  constructor(dependencies: SharedProgressDependencies) {
    this.#with = dependencies;
  }

  /** Notes that this node runs a job from now on. */
  begin(id: string): void {
    this.#running.set(id, { toldAtMs: this.#with.clock.monotonicMs(), isTold: false });
  }

  /** Tells the other nodes of a share, unless they were told a moment ago. Returns at once. */
  tell(id: string, share: number): void {
    const { store, nodes, clock, log } = this.#with;
    const running = this.#running.get(id);
    const nowMs = clock.monotonicMs();
    if (running === undefined || nodes.count === 1 || nowMs - running.toldAtMs < TOLD_EVERY_MS) return;
    Object.assign(running, { toldAtMs: nowMs, isTold: true });
    store.commit({ puts: [{ key: [TABLE, id], value: share }] }).catch((error: unknown) => {
      log.debug("the progress of a job is told to other nodes later", () => ({ job_id: id, error }));
    });
  }

  /** Returns what ends the present step of a job for the other nodes, to be merged into the commit that ends it. */
  stepEnd(id: string): StoreCommit {
    const running = this.#running.get(id);
    if (running?.isTold !== true) return {};
    running.isTold = false;
    return { deletes: [[TABLE, id]] };
  }

  /** Notes that this node does not run a job any more. What was told late is deleted. Never rejects. */
  async end(id: string): Promise<void> {
    this.#running.delete(id);
    const { store, log } = this.#with;
    if (store.get([TABLE, id]) === undefined) return;
    await store.commit({ deletes: [[TABLE, id]] }).catch((error: unknown) => {
      log.debug("the progress of a job stays in the store for now", () => ({ job_id: id, error }));
    });
  }

  /** Calls the listener with what other nodes tell, and have told. Deletes what is of jobs that nobody runs. */
  async follow(listener: (id: string, share: number) => void, isRunning: (id: string) => boolean): Promise<void> {
    const { store, nodes } = this.#with;
    nodes.onChange(TABLE, (keys) => {
      for (const key of keys) this.#pass(key, listener);
    });
    const left: StoreKey[] = [];
    for (const { key } of store.range<number>([TABLE])) {
      if (isRunning(String(key[1]))) this.#pass(key, listener);
      else left.push(key);
    }
    if (left.length > 0) await store.commit({ deletes: left });
  }

  #pass(key: StoreKey, listener: (id: string, share: number) => void): void {
    const id = String(key[1]);
    const share = this.#with.store.get<number>(key)?.value;
    if (share !== undefined && !this.#running.has(id)) listener(id, share);
  }
}
