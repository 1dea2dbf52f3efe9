/**
 * What only one node of a cluster does at a time, as records of the store, so that the log's order decides who. A node
 * keeps a duty until its process ends; one that needs an unsealed vault it gives up while another node has that and
 * this one does not, and one whose work it cannot begin at once.
 */
import type { Clock } from "../../clock.js";
import type { Log } from "../../log.js";
import { StoreConflict, type StoreKey } from "../../store/store.js";
import type { NodeStore } from "../cluster-store.js";
import { dutyKey, memberKey, type DutyRecord } from "./member-records.js";

export interface DutiesDependencies {
  readonly store: Pick<NodeStore, "get" | "commit">;
  readonly log: Log;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly isAlive: (incarnation: string) => boolean;
  /** Whether this node can do what needs an unsealed vault. */
  readonly isUnsealed: () => boolean;
  /** Whether another node can do what needs an unsealed vault, and this one cannot. */
  readonly standsAside: () => boolean;
}

/** See Nodes.take. */
interface Duty {
  readonly begin: () => void;
  readonly end: (() => Promise<void>) | undefined;
}

/** How long a node that could not begin the work leaves a duty to the others, so that it does not go round. */
const REST_MS = 10_000;
const NONE: ReadonlySet<string> = new Set();

export class Duties {
  readonly #incarnation: string;
  readonly #dependencies: DutiesDependencies;
  /** What this node would have. */
  readonly #wanted = new Map<string, Duty>();
  readonly #held = new Set<string>();
  /** Those that a commit or the end of their work is awaited for. */
  readonly #changing = new Set<string>();
  /** Until when those are not taken whose work could not be begun here. */
  readonly #restsUntilMs = new Map<string, number>();
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
    void this.#settle(duty, NONE);
  }

  /** What this node would have and no living node has. To be asked before the signs of the others are read. */
  free(): ReadonlySet<string> {
    return new Set([...this.#wanted.keys()].filter((duty) => this.#isFree(duty)));
  }

  /**
   * Gives up what another node can do and this one cannot, and takes what is free. To be called when either may have
   * changed; what fails is tried again with the next call. Never rejects.
   * @param free what was free before the signs of the others were read: of what needs an unsealed vault a sealed node
   *   takes no more. Who gave it up knows of an unsealed node, which a sign that is older may not tell
   */
  async settle(free: ReadonlySet<string> = NONE): Promise<void> {
    await Promise.all([...this.#wanted.keys()].map(async (duty) => await this.#settle(duty, free)));
  }

  /** Takes nothing any more. Returns the keys of what this node has, to be deleted with its membership. */
  stop(): readonly StoreKey[] {
    this.#isStopped = true;
    return [...this.#wanted.keys()].filter((duty) => this.#isOwn(duty)).map(dutyKey);
  }

  /** Never rejects: nobody waits for it. */
  async #settle(duty: string, free: ReadonlySet<string>): Promise<void> {
    const { log, standsAside } = this.#dependencies;
    const work = this.#wanted.get(duty);
    if (work === undefined) return;
    try {
      if (this.#isLeft(duty) || (work.end !== undefined && standsAside())) await this.#giveUp(duty, work);
      if (work.end === undefined || this.#dependencies.isUnsealed() || (free.has(duty) && !standsAside()))
        await this.#take(duty, work);
    } catch (error) {
      log.error("it could not be found out who has a duty; this is tried again", { duty, error });
    }
  }

  #isFree(duty: string): boolean {
    const { store, isAlive } = this.#dependencies;
    const record = store.get<DutyRecord>(dutyKey(duty));
    return record === undefined || !isAlive(record.value.incarnation);
  }

  #isOwn(duty: string): boolean {
    return this.#dependencies.store.get<DutyRecord>(dutyKey(duty))?.value.incarnation === this.#incarnation;
  }

  /** Whether this node has ended the work of a duty and could not tell the others. */
  #isLeft(duty: string): boolean {
    return !this.#held.has(duty) && this.#isOwn(duty);
  }

  /** Takes a duty if it is free. */
  async #take(duty: string, { begin, end }: Duty): Promise<void> {
    const { log, clock } = this.#dependencies;
    if (this.#isStopped || this.#held.has(duty) || this.#changing.has(duty) || !this.#isFree(duty)) return;
    if (clock.monotonicMs() < (this.#restsUntilMs.get(duty) ?? 0)) return;
    this.#changing.add(duty);
    try {
      await this.#becomeHolder(duty);
    } catch (error) {
      if (!(error instanceof StoreConflict)) log.debug("a duty could not be taken now", () => ({ duty, error }));
      return;
    } finally {
      this.#changing.delete(duty);
    }
    this.#held.add(duty);
    log.info("this node has a duty now", { duty });
    try {
      begin();
    } catch (error) {
      log.error("the work of a duty could not be begun; it is left to the other nodes, and tried again here", {
        duty,
        error,
      });
      this.#restsUntilMs.set(duty, clock.monotonicMs() + REST_MS);
      await this.#giveUp(duty, { begin, end });
    }
  }

  /** Writes that this node has a duty. Throws StoreConflict where another was first. */
  async #becomeHolder(duty: string): Promise<void> {
    const { store } = this.#dependencies;
    const key = dutyKey(duty);
    const record = store.get<DutyRecord>(key);
    const ended = record === undefined ? [] : [memberKey(record.value.incarnation)];
    await store.commit({
      checks: [
        { key, version: record?.version ?? "absent" },
        ...ended.map((member) => ({ key: member, version: "absent" as const })),
      ],
      puts: [{ key, value: { incarnation: this.#incarnation } }],
      urgent: true,
    });
  }

  /** Ends the work of a duty, and leaves it to the others when nothing of it is under way. */
  async #giveUp(duty: string, { end }: Duty): Promise<void> {
    const { store, log } = this.#dependencies;
    if (this.#isStopped || this.#changing.has(duty) || !(this.#held.has(duty) || this.#isLeft(duty))) return;
    this.#changing.add(duty);
    this.#held.delete(duty);
    try {
      await end?.();
      const key = dutyKey(duty);
      const record = store.get<DutyRecord>(key);
      if (record?.value.incarnation !== this.#incarnation) return;
      await store.commit({ checks: [{ key, version: record.version }], deletes: [key], urgent: true });
      log.info("this node has given a duty up, for another one to take", { duty });
    } catch (error) {
      log.warn("a duty could not be given up yet; other nodes wait for it", { duty, error });
    } finally {
      this.#changing.delete(duty);
    }
  }
}
