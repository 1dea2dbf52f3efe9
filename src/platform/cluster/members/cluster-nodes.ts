/**
 * The nodes of a cluster as one of them sees the others. Who belongs is decided by the log: a record a process, made at
 * its start, deleted at its end, or by another node that has had no sign of its life for long. Whoever was deleted
 * writes nothing any more (log/cluster-writer.ts), so that its duties and jobs can be taken without looking out for it.
 */
import { isoTimestamp, type Clock } from "../../clock.js";
import type { Log } from "../../log.js";
import type { NodeRole, Nodes, OtherNode } from "../../nodes/nodes.js";
import { serverVersion } from "../../service/server-version.js";
import { StoreConflict, type StoreKey, type StoreRecord } from "../../store/store.js";
import type { NodeStore } from "../cluster-store.js";
import type { DatabaseAddress } from "../database-address.js";
import { Heartbeat, type Beat, type NodeSign, type NodeSigns } from "./heartbeat.js";
import { whenReachable } from "../reach-database.js";
import { CommonClock } from "./common-clock.js";
import { Duties } from "./duties.js";
import { DUTY_TABLE, MEMBER_TABLE, memberKey, type MemberRecord } from "./member-records.js";
import { adviceOn, requireAlike, type MemberSettings } from "./member-settings.js";

export interface ClusterNodesOptions {
  readonly address: DatabaseAddress;
  /** UUID of this node, which stays with its folder, and of this process. */
  readonly node: string;
  readonly incarnation: string;
  /** For operators. */
  readonly name: string;
  readonly role: NodeRole;
  /** What is compared with the other nodes. */
  readonly settings: MemberSettings;
}

export interface ClusterNodesDependencies {
  readonly store: NodeStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often a node gives a sign of its life. */
const BEAT_MS = 2_000;
/** A node without a sign for so long is given up, as another one sees it whose own signs were answered meanwhile. */
const DEAD_MS = 15_000;
/** What a node said of its vault longer ago may not be so any more. */
const SILENT_SEC_MAX = 6;
/** A clock that is wrong by more is told to the operator, and by more than that makes the node not ready. */
const CLOCK_WARN_MS = 250;
const CLOCK_WRONG_MS = 2_000;

export class ClusterNodes implements Nodes {
  readonly incarnation: string;
  readonly #options: ClusterNodesOptions;
  readonly #store: NodeStore;
  readonly #clock: CommonClock;
  readonly #log: Log;
  readonly #heartbeat: Heartbeat;
  readonly #duties: Duties;
  readonly #endListeners = new Set<() => void>();
  /** The last sign of each other process that was heard of with the last own one. */
  #signs: ReadonlyMap<string, NodeSign> = new Map();
  #sealOf: () => string = () => "";
  /** The last sign of each other process, and since when it has been the last. */
  readonly #seen = new Map<string, { readonly sign: string | undefined; readonly sinceMs: number }>();
  #timer: NodeJS.Timeout | undefined;
  /** Read with every request, so that it is kept. */
  #count = 1;
  #serving = 1;
  #isStopped = false;

  private constructor(options: ClusterNodesOptions, { store, clock, log }: ClusterNodesDependencies) {
    this.incarnation = options.incarnation;
    this.#options = options;
    this.#store = store;
    this.#clock = new CommonClock(clock);
    this.#log = log;
    this.#heartbeat = new Heartbeat(options.address, { clock: this.#clock });
    this.#duties = new Duties(options.incarnation, {
      store,
      log,
      clock: this.#clock,
      isUnsealed: () => this.#isUnsealed(),
      isAlive: (incarnation) => this.isAlive(incarnation),
      standsAside: () => this.#standsAside(),
    });
    store.onChange(MEMBER_TABLE, (keys) => {
      this.#recount();
      if (keys.some((key) => this.#store.get(key) === undefined)) this.#ended();
    });
    store.onChange(DUTY_TABLE, () => {
      void this.#duties.settle();
    });
  }

  /**
   * Joins the members. Of two that join at the same time with other settings, the later one in the log ends.
   * @throws conflict when another node runs with other settings that must be alike
   * @throws store_unreachable
   */
  static async join(options: ClusterNodesOptions, dependencies: ClusterNodesDependencies): Promise<ClusterNodes> {
    const nodes = new ClusterNodes(options, dependencies);
    await nodes.#join();
    return nodes;
  }

  /** See Nodes. */
  get count(): number {
    return this.#count;
  }

  /** See Nodes. */
  get serving(): number {
    return this.#serving;
  }

  /** The time that all nodes have in common. */
  get clock(): Clock {
    return this.#clock;
  }

  /** Whether this machine's clock is near enough to the database's, which all nodes go by. */
  get isClockRight(): boolean {
    return Math.abs(this.#clock.aheadMs) <= CLOCK_WRONG_MS;
  }

  /** How far the database's clock is ahead of this machine's, in milliseconds. */
  get clockAheadMs(): number {
    return this.#clock.aheadMs;
  }

  /** Says what state the vault of this node is in, from now on. */
  reportSeal(sealOf: () => string): void {
    this.#sealOf = sealOf;
  }

  /** The members with what each said last, this node first. A member that has said nothing yet is left out. */
  members(): readonly NodeSign[] {
    const own = { ...this.#ownSigns(), sign: "", silentSec: 0 };
    const others = this.others().flatMap(({ incarnation }) => this.#signs.get(incarnation) ?? []);
    return [own, ...others];
  }

  /** See Nodes. */
  others(): readonly OtherNode[] {
    return this.#store
      .range<MemberRecord>([MEMBER_TABLE])
      .map(({ key, value }) => ({ incarnation: String(key[1]), name: value.name }))
      .filter(({ incarnation }) => incarnation !== this.incarnation);
  }

  /** See Nodes. */
  isAlive(incarnation: string): boolean {
    return this.#store.get(memberKey(incarnation)) !== undefined;
  }

  /** See Nodes. */
  has(duty: string): boolean {
    return this.#duties.has(duty);
  }

  /** See Nodes. */
  take(duty: string, begin: () => void, end?: () => Promise<void>): void {
    if (this.#options.role === "server") this.#duties.take(duty, begin, end);
  }

  /** See Nodes. */
  changes(): number {
    return this.#store.foreignGroups;
  }

  /** See Nodes. */
  onEnded(listener: () => void): () => void {
    this.#endListeners.add(listener);
    return () => {
      this.#endListeners.delete(listener);
    };
  }

  /** See Nodes. */
  onChange(table: string, listener: (keys: readonly StoreKey[]) => void | Promise<void>): () => void {
    return this.#store.onChange(table, listener);
  }

  /** Leaves the members, so that others take the duties at once. Never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#store
      .commit({ deletes: [memberKey(this.incarnation), ...this.#duties.stop()], urgent: true })
      .catch((error: unknown) => {
        this.#log.warn("the cluster could not be told that this node ends; the others wait until it seems dead", {
          error,
        });
      });
    await this.#heartbeat.leave(this.incarnation);
  }

  async #join(): Promise<void> {
    const { node, name, role, settings: own } = this.#options;
    const settings = { ...own.fixed, ...own.changeable };
    // Before it is a member, so that the others take no notice of one that is refused.
    this.#requireAlike();
    // The folder's lock says that an earlier process of this node has ended.
    const members = this.#store.range<MemberRecord>([MEMBER_TABLE]);
    const earlier = members.filter(({ value }) => value.node === node).map(({ key }) => key);
    await whenReachable(() => this.#beat(), { log: this.#log });
    const started_at = isoTimestamp(this.#clock.nowMs());
    await this.#store.commit({
      deletes: earlier,
      puts: [{ key: memberKey(this.incarnation), value: { node, name, role, started_at, settings } }],
      urgent: true,
    });
    try {
      // Once more: another may have joined since, and what comes before the own record in the log can be read now.
      this.#requireAlike();
    } catch (error) {
      await this.stop();
      throw error;
    }
    await this.#heartbeat.forgetEnded({ node, incarnation: this.incarnation });
    this.#warnOfDifferences();
    this.#recount();
    this.#beatLater();
  }

  /** Compares what must be alike with members that joined before. @throws conflict */
  #requireAlike(): void {
    const ownVersion = this.#store.get(memberKey(this.incarnation))?.version ?? Infinity;
    for (const { value, version } of this.#otherMembers())
      if (version < ownVersion) requireAlike(this.#options.settings.fixed, value.settings, value.name);
  }

  #warnOfDifferences(): void {
    for (const { value } of this.#otherMembers())
      for (const advice of adviceOn(this.#options.settings.changeable, value.settings, value.name))
        this.#log.warn(advice);
  }

  #otherMembers(): StoreRecord<MemberRecord>[] {
    return this.#store.range<MemberRecord>([MEMBER_TABLE]).filter(({ value }) => value.node !== this.#options.node);
  }

  #recount(): void {
    const members = this.#store.range<MemberRecord>([MEMBER_TABLE]);
    this.#count = Math.max(1, members.length);
    this.#serving = Math.max(1, members.filter(({ value }) => value.role === "server").length);
  }

  #beatLater(): void {
    this.#timer = setTimeout(() => {
      void this.#beatOnce().finally(() => {
        if (!this.#isStopped) this.#beatLater();
      });
    }, BEAT_MS).unref();
  }

  async #beatOnce(): Promise<void> {
    let free: ReadonlySet<string>;
    try {
      free = this.#duties.free();
      const beat = await this.#beat();
      await this.#giveUpTheDead(beat);
    } catch (error) {
      // While nobody can give signs, nobody is given up.
      this.#seen.clear();
      this.#log.debug("a sign of life could not be given", () => ({ error }));
      return;
    }
    // Not waited for: the work of a duty that is given up may take longer to end than signs may be apart.
    void this.#duties.settle(free);
  }

  async #beat(): Promise<Beat> {
    const beat = await this.#heartbeat.beat(this.#ownSigns());
    this.#signs = beat.signs;
    const isWrong = (): boolean => Math.abs(this.#clock.aheadMs) > CLOCK_WARN_MS;
    const wasWrong = isWrong();
    this.#clock.observe(beat.clock);
    if (!wasWrong && isWrong())
      this.#log.warn("this machine's clock differs from the database's by milliseconds; the node goes by the latter", {
        count: Math.round(Math.abs(this.#clock.aheadMs)),
      });
    return beat;
  }

  #ownSigns(): NodeSigns {
    const { node, name, role } = this.#options;
    const said = { incarnation: this.incarnation, node, name, role, build: serverVersion() };
    return { ...said, duties: this.#duties.held, seal: this.#sealOf(), g: this.#store.position };
  }

  async #giveUpTheDead({ signs }: Beat): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    for (const { key, value, version } of this.#store.range<MemberRecord>([MEMBER_TABLE])) {
      const incarnation = String(key[1]);
      if (incarnation === this.incarnation) continue;
      const sign = signs.get(incarnation)?.sign;
      const seen = this.#seen.get(incarnation);
      if (seen?.sign !== sign || seen === undefined) {
        this.#seen.set(incarnation, { sign, sinceMs: nowMs });
        continue;
      }
      if (nowMs - seen.sinceMs < DEAD_MS) continue;
      await this.#giveUp(key, version, value.name);
    }
  }

  async #giveUp(key: StoreKey, version: number, name: string): Promise<void> {
    try {
      await this.#store.commit({ checks: [{ key, version }], deletes: [key], urgent: true });
      this.#log.warn("a node gave no sign of life and was given up; it cannot write until it is started anew", {
        node: name,
      });
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      // Another node was first.
    }
    this.#ended();
  }

  #ended(): void {
    this.#recount();
    for (const listener of this.#endListeners) listener();
    void this.#duties.settle();
  }

  /** Whether this node's vault is unsealed, or not open yet. */
  #isUnsealed(): boolean {
    const seal = this.#sealOf();
    return seal === "" || seal === "unsealed";
  }

  /** Whether the vault of another server is unsealed, as its last sign says, and that of this one is not. */
  #standsAside(): boolean {
    if (this.#isUnsealed()) return false;
    return this.others().some(({ incarnation }) => {
      const sign = this.#signs.get(incarnation);
      return sign?.role === "server" && sign.seal === "unsealed" && sign.silentSec < SILENT_SEC_MAX;
    });
  }
}
