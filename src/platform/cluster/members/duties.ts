/**
 * What only one node of a cluster does at a time, as records of the store, so that the log's order decides who. A node
 * keeps a duty until its process ends; one that needs an unsealed vault it gives up while another node has that and
 * this one does not.
 */
import type { Log } from "../../log.js";
import { StoreConflict, type StoreKey } from "../../store/store.js";
import type { NodeStore } from "../cluster-store.js";
import { dutyKey, memberKey, type DutyRecord } from "./member-records.js";

export interface DutiesDependencies {
  readonly store: Pick<NodeStore, "get" | "commit">;
  readonly log: Log;
  readonly isAlive: (incarnation: string) => boolean;
  /** Whether another node can do what needs an unsealed vault, and this one cannot. */
  readonly standsAside: () => boolean;
}

/** See Nodes.take. */
interface Duty {
  readonly begin: () => void;
  readonly end: (() => Promise<void>) | undefined;
}

export class Duties {
  readonly #incarnation: string;
  readonly #dependencies: DutiesDependencies;
  /** What this node would have. */
  readonly #wanted = new Map<string, Duty>();
  readonly #held = new Set<string>();
  /** Those that a commit or the end of their work is awaited for. */
  readonly #changing = new Set<string>();
  #isStopped = false;

  constructor(incarnation: string, dependencies: DutiesDependencies) {
    this.#incarnation = incarnation;
    this.#dependencies = dependencies;
  }

  /** The names of those that this node has. */
  get held(): readonly string[] {
    return [...this.#held];
  }

  /** See Nodes. */
  has(duty: string): boolean {
    return this.#held.has(duty);
  }

  /** See Nodes. */
  take(duty: string, begin: () => void, end?: () => Promise<void>): void {
    this.#wanted.set(duty, { begin, end });
    void this.#take(duty);
  }

  /**
   * Gives up what another node can do and this one cannot, and takes what is free. To be called when either may have
   * changed; what fails is tried again with the next call. Never rejects.
   */
  async settle(): Promise<void> {
    await Promise.all(
      [...this.#wanted].map(async ([duty, { end }]) => {
        if (end !== undefined && (this.#dependencies.standsAside() || this.#isLeft(duty)))
          await this.#giveUp(duty, end);
        await this.#take(duty);
      }),
    );
  }

  /** Takes nothing any more. Returns the keys of what this node has, to be deleted with its membership. */
  stop(): readonly StoreKey[] {
    this.#isStopped = true;
    return [...this.#wanted.keys()].filter((duty) => this.#isOwn(duty)).map(dutyKey);
  }

  #isOwn(duty: string): boolean {
    return this.#dependencies.store.get<DutyRecord>(dutyKey(duty))?.value.incarnation === this.#incarnation;
  }

  /** Whether this node has ended the work of a duty and could not tell the others. */
  #isLeft(duty: string): boolean {
    return !this.#held.has(duty) && this.#isOwn(duty);
  }

  /** Takes a duty that is free, if this node may have it. */
  async #take(duty: string): Promise<void> {
    const { store, log, isAlive, standsAside } = this.#dependencies;
    const work = this.#wanted.get(duty);
    if (work === undefined || this.#isStopped || this.#held.has(duty) || this.#changing.has(duty)) return;
    if (work.end !== undefined && standsAside()) return;
    const key = dutyKey(duty);
    const record = store.get<DutyRecord>(key);
    if (record !== undefined && isAlive(record.value.incarnation)) return;
    this.#changing.add(duty);
    try {
      const ended = record === undefined ? [] : [memberKey(record.value.incarnation)];
      await store.commit({
        checks: [
          { key, version: record?.version ?? "absent" },
          ...ended.map((member) => ({ key: member, version: "absent" as const })),
        ],
        puts: [{ key, value: { incarnation: this.#incarnation } }],
        urgent: true,
      });
    } catch (error) {
      if (!(error instanceof StoreConflict)) log.debug("a duty could not be taken now", () => ({ duty, error }));
      return;
    } finally {
      this.#changing.delete(duty);
    }
    this.#held.add(duty);
    log.info("this node has a duty now", { duty });
    work.begin();
  }

  /** Ends the work of a duty, and leaves it to the others when nothing of it is under way. */
  async #giveUp(duty: string, end: () => Promise<void>): Promise<void> {
    const { store, log } = this.#dependencies;
    if (this.#isStopped || this.#changing.has(duty) || !(this.#held.has(duty) || this.#isLeft(duty))) return;
    this.#changing.add(duty);
    this.#held.delete(duty);
    try {
      await end();
      const key = dutyKey(duty);
      const record = store.get<DutyRecord>(key);
      if (record?.value.incarnation !== this.#incarnation) return;
      await store.commit({ checks: [{ key, version: record.version }], deletes: [key], urgent: true });
      log.info("this node has given a duty up: its vault is sealed, and another node's is not", { duty });
    } catch (error) {
      log.warn("a duty could not be given up yet; other nodes wait for it", { duty, error });
    } finally {
      this.#changing.delete(duty);
    }
  }
}
