/**
 * The one committer and the one applier of a replica, on the writer thread. A group is decided on the replica, becomes
 * the next row of the cluster's log where no other node was first, is then applied, and only then answered. Where
 * another node was first, the head is held while the missing rows are applied and the group is decided anew. Whether a
 * row of unknown fate was written is read from the log, under the head's lock, and never guessed.
 */
import { timingSafeEqual } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { AppError, assert } from "../../errors.js";
import type { PackedCommit } from "../../store/wire.js";
import { encodeKey } from "../../store/keys.js";
import type { LogPlace, WriteFailure, WriterState } from "../../store/writer-protocol.js";
import type { LogHead } from "./cluster-schema.js";
import { CatchUp } from "./catch-up.js";
import { aheadFault, groupFailure, placeFault } from "./commit-failures.js";
import { DatabaseRefused, DatabaseUnreachable, type LogDatabase } from "./log-database.js";
import { ROW_FORMAT, nextRow, rowDamaged, rowMac, type LogRow, type RowBody } from "./log-row.js";
import { memberKey } from "../members/member-records.js";
import { diverged, ReplicaSpent, type EvaluatedGroup, type Replica, type ReplicaPlace } from "../replica.js";

export type WriteOutcome = WriteFailure | undefined;

export interface ClusterWriterOptions {
  readonly logKey: Uint8Array;
  /** UUID of this node. */
  readonly node: string;
  /** UUID of this process, new with each start: so that it knows the rows of its present life. */
  readonly incarnation: string;
  /** Of the records that the program knows. */
  readonly schemaVersion: number;
  /** How long a group may look for the database, in milliseconds. */
  readonly giveUpMs: number;
}

export interface ClusterWriterDependencies {
  readonly replica: Replica;
  readonly database: LogDatabase;
  /** A second connection, which is opened when this node waits for others. */
  readonly reader: LogDatabase;
  /** Called before this node stops to write because its replica cannot be used any more. */
  readonly onSpent: (reason: string) => void;
  /** Called after each row of another node, when it can be read. */
  readonly onForeign: (body: RowBody) => void;
}

/** A group on its way. */
interface PendingGroup {
  readonly commits: PackedCommit[];
  /** Returns further commits that may join it, at most so many. */
  readonly more: (limit: number) => readonly PackedCommit[];
  /** The row that the database may have written: it was sent, and nothing came back. */
  sent: { readonly row: LogRow; readonly outcomes: readonly WriteOutcome[] } | undefined;
}

/** Commits of one row at most. */
export const GROUP_COMMITS_MAX = 256;
/** Groups without a row of another node after which the head is no longer held: otherwise slow nodes would starve. */
const LOCKED_GROUPS = 3;
const PAUSE_MS_MIN = 20;
const PAUSE_MS_MAX = 1_000;

export class ClusterWriter {
  readonly #options: ClusterWriterOptions;
  readonly #replica: Replica;
  readonly #database: LogDatabase;
  readonly #reader: LogDatabase;
  readonly #onForeign: (body: RowBody) => void;
  readonly #onSpent: (reason: string) => void;
  readonly #incarnation: string;
  /** The last row that is known here; what is decided is decided behind it. */
  #place: ReplicaPlace;
  /** The last row that is in LMDB. */
  #settledG: number;
  /** Rows of other nodes behind it. */
  readonly #unsettled: RowBody[] = [];
  #epoch = 0;
  /** Code of the last row of this process that came from the log, and not from `#send`. */
  #lastOwn: Buffer | undefined;
  /** Groups that still hold the head while they are decided. */
  #lockedGroups = 0;
  readonly #memberKey: Buffer;
  /** Whether the cluster has taken this process for a member. */
  #isMember = false;
  #confirmedAtMs = 0;
  #state: WriterState = "ready";
  #fault: string | undefined;

  constructor(options: ClusterWriterOptions, dependencies: ClusterWriterDependencies) {
    const { replica, database, reader, onForeign, onSpent } = dependencies;
    const place = replica.place();
    assert(place !== undefined, "a node writes after it has joined");
    this.#options = options;
    this.#incarnation = options.incarnation;
    this.#memberKey = encodeKey(memberKey(options.incarnation));
    this.#replica = replica;
    this.#database = database;
    this.#reader = reader;
    this.#onForeign = onForeign;
    this.#onSpent = onSpent;
    this.#place = place;
    this.#settledG = place.g;
  }

  get state(): WriterState {
    return this.#state;
  }

  /** Why the state is `failed`. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Where this node stands: what is up to there can be read. */
  get place(): LogPlace {
    return { g: this.#settledG, confirmedAtMs: this.#confirmedAtMs };
  }

  /**
   * Commits a group.
   * @param more returns further commits, which may join it while it waits for its turn
   * @returns one outcome for each commit, those that joined at the end. Never throws.
   */
  async commit(
    commits: readonly PackedCommit[],
    more: (limit: number) => readonly PackedCommit[],
  ): Promise<readonly WriteOutcome[]> {
    if (this.#state === "failed")
      return commits.map(() => ({
        code: "storage_failed",
        message: this.#fault ?? "this node writes no more until it is started anew",
      }));
    const group: PendingGroup = { commits: [...commits], more, sent: undefined };
    const giveUpAtMs = performance.now() + this.#options.giveUpMs;
    let error: unknown;
    for (let tries = 0; tries === 0 || performance.now() < giveUpAtMs; tries += 1) {
      try {
        if (error !== undefined) await delay(Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** tries));
        error = undefined;
        await this.#connect();
        const isAlone = this.#lockedGroups === 0 && group.sent === undefined;
        const outcomes = isAlone ? await this.#tryAlone(group) : await this.#tryLocked(group);
        if (outcomes !== undefined) return outcomes;
      } catch (caught) {
        error = caught;
        const failure = this.#lastingFailure(caught, group);
        if (failure !== undefined) return group.commits.map(() => failure);
      }
    }
    const { failure } = groupFailure(error, { isUnknown: group.sent !== undefined });
    return group.commits.map(() => failure);
  }

  /** Applies rows of other nodes, a page at most. Returns whether there were any. Throws DatabaseUnreachable. */
  async follow(): Promise<boolean> {
    return await this.#guarded(async () => {
      await this.#connect();
      const askedAtMs = monotonicMs();
      const { rows, isLast } = await this.#database.pageAfter(this.#place.g);
      this.#applyAll(rows);
      if (isLast) this.#confirmedAtMs = askedAtMs;
      return rows.length > 0;
    });
  }

  /**
   * Applies everything that any node had committed at the call. Returns the number of its last row.
   * @throws DatabaseUnreachable
   */
  async confirm(): Promise<number> {
    return await this.#guarded(async () => {
      const wasConnected = this.#database.isConnected;
      try {
        return await this.#readToEnd();
      } catch (error) {
        // A connection that breaks, as when a pooler restarts, says nothing of the database; reading twice is harmless.
        if (!wasConnected || !(error instanceof DatabaseUnreachable)) throw error;
        return await this.#readToEnd();
      }
    });
  }

  /** Has nothing written any more, for a reason that lies in this node. */
  fail(message: string): void {
    this.#fail({ code: "storage_failed", message });
  }

  async #readToEnd(): Promise<number> {
    await this.#connect();
    const askedAtMs = monotonicMs();
    const last = await this.#database.lastNumber();
    if (last < this.#place.g) throw aheadFault(this.#place.g, last);
    while (this.#place.g < last) {
      const { rows } = await this.#database.pageAfter(this.#place.g);
      if (rows.length === 0) throw placeFault(this.#place.g);
      this.#applyAll(rows);
    }
    this.#confirmedAtMs = askedAtMs;
    return last;
  }

  /** Decides on what this node has, and asks the database to take it as the next row. Undefined: the head had moved. */
  async #tryAlone(group: PendingGroup): Promise<readonly WriteOutcome[] | undefined> {
    const evaluated = this.#evaluate(group.commits);
    if (evaluated.change === undefined) return evaluated.outcomes;
    const added = await this.#send(group, evaluated, (row, continued) => this.#database.append(row, continued));
    if (added) return evaluated.outcomes;
    this.#lockedGroups = LOCKED_GROUPS;
    return undefined;
  }

  /** Decides while no other node can write. Undefined: this node was too far behind, and is not any more. */
  async #tryLocked(group: PendingGroup): Promise<readonly WriteOutcome[] | undefined> {
    try {
      return await this.#holdHead(group);
    } finally {
      this.#settle();
    }
  }

  async #holdHead(group: PendingGroup): Promise<readonly WriteOutcome[] | undefined> {
    const { head, isAlone } = await this.#takeHead();
    try {
      const { sent } = group;
      if (sent !== undefined && this.#lastOwn?.equals(sent.row.mac) === true) {
        await this.#database.rollback();
        return sent.outcomes;
      }
      if (this.#place.g < head.g) {
        await this.#database.rollback();
        await this.confirm();
        return undefined;
      }
      if (!this.#place.mac.equals(head.mac)) throw diverged(head.g);
      return await this.#commitLocked(group, { isAlone });
    } catch (error) {
      await this.#database.rollback().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Waits for the head, and holds it with everything known but what exceeds a page of the log. Other nodes write while
   * this one waits: their rows are read and applied meanwhile, so that few are left when all wait for this one. Those
   * are staged, and written when the next row is on its way.
   */
  async #takeHead(): Promise<{ readonly head: LogHead; readonly isAlone: boolean }> {
    const { g } = this.#place;
    const catchingUp = new CatchUp({
      read: async () => {
        await this.#reader.connect();
        return (await this.#reader.pageAfter(this.#place.g)).rows;
      },
      apply: (rows) => this.#applyAll(rows),
    });
    const { head, rows } = await this.#database.lockHead(g).finally(() => {
      catchingUp.stop();
    });
    try {
      catchingUp.requireSound();
      this.#requireHead(head);
      const [first] = rows;
      if (first !== undefined && first.g > this.#place.g + 1)
        this.#stageAll((await this.#database.pageAfter(this.#place.g)).rows);
      else this.#stageAll(rows.filter((row) => row.g > this.#place.g));
      return { head, isAlone: this.#place.g === g };
    } catch (error) {
      await this.#database.rollback().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Decides at the head, which is held. A row of unknown fate is not in the log, and takes no effect when it comes
   * late: this one has its number, or a row of another node has.
   */
  async #commitLocked(
    group: PendingGroup,
    { isAlone }: { readonly isAlone: boolean },
  ): Promise<readonly WriteOutcome[]> {
    if (group.sent === undefined) group.commits.push(...group.more(GROUP_COMMITS_MAX - group.commits.length));
    const evaluated = this.#evaluate(group.commits);
    if (evaluated.change === undefined) {
      await this.#database.rollback();
      return evaluated.outcomes;
    }
    const added = await this.#send(group, evaluated, (row, continued) =>
      this.#database.appendAndCommit(row, continued),
    );
    // The head has the place's code, so that only its sum can differ.
    if (!added) throw diverged(this.#place.g);
    this.#lockedGroups = isAlone ? this.#lockedGroups - 1 : LOCKED_GROUPS;
    return evaluated.outcomes;
  }

  /** Sends a row, and applies it when it is in the log. While nothing comes back, the group keeps it as unknown. */
  async #send(
    group: PendingGroup,
    { change, outcomes }: EvaluatedGroup,
    append: (row: LogRow, continued: { readonly epoch: number; readonly tagSum: bigint }) => Promise<boolean>,
  ): Promise<boolean> {
    assert(change !== undefined, "a row changes something");
    const row = this.#rowOf(change);
    const { tagSum } = this.#replica.end();
    const before = group.sent;
    group.sent = { row, outcomes };
    try {
      const adding = append(row, { epoch: this.#epoch, tagSum });
      // It is sent. What was decided over rows that are not in LMDB yet has the time for them now: nobody waits for it.
      const [added] = await Promise.all([adding, this.#settleSoon()]);
      if (added) this.#applyOwn(row, change.body);
      group.sent = undefined;
      return added;
    } catch (error) {
      if (error instanceof DatabaseRefused) group.sent = before;
      throw error;
    }
  }

  /**
   * Decides a group. A node that was given up for dead writes nothing any more: others have what it had to do.
   * @throws conflict then
   */
  #evaluate(commits: readonly PackedCommit[]): EvaluatedGroup {
    this.#requireMembership();
    return this.#replica.evaluate(commits);
  }

  #requireMembership(): void {
    const isMember = this.#replica.has(this.#memberKey);
    if (this.#isMember && !isMember)
      throw new AppError("conflict", {
        message: "the other nodes gave this one up, as it did not answer for too long: start it anew",
      });
    this.#isMember = isMember;
  }

  #rowOf(change: NonNullable<EvaluatedGroup["change"]>): LogRow {
    const { node, logKey } = this.#options;
    return nextRow(logKey, { ...this.#place, node, incarnation: this.#incarnation }, change);
  }

  #applyOwn(row: LogRow, body: RowBody): void {
    const { cluster } = this.#place;
    this.#replica.stage(row, cluster, body);
    this.#place = { cluster, g: row.g, mac: row.mac };
    this.#settle();
    // A node leaves by a commit of its own.
    this.#isMember = this.#replica.has(this.#memberKey);
  }

  /** Applies rows of the log. */
  #applyAll(rows: readonly LogRow[]): void {
    try {
      this.#stageAll(rows);
    } finally {
      this.#settle();
    }
  }

  /** Takes in rows of the log, each after its code was checked. */
  #stageAll(rows: readonly LogRow[]): void {
    for (const row of rows) {
      const { cluster, g, mac } = this.#place;
      // Rows are deleted when all nodes have them; a node that was away for longer joins anew.
      if (row.g !== g + 1) throw placeFault(g);
      requireKnownFormat(row.format);
      if (!timingSafeEqual(rowMac(this.#options.logKey, row, { cluster, previous: mac }), row.mac)) throw rowDamaged();
      this.#unsettled.push(this.#replica.stage(row, cluster));
      this.#place = { cluster, g: row.g, mac: row.mac };
      if (row.incarnation === this.#incarnation) this.#lastOwn = row.mac;
    }
    if (rows.length > 0) this.#requireMembership();
  }

  async #settleSoon(): Promise<void> {
    if (this.#settledG === this.#place.g) return;
    await nextTurn();
    this.#settle();
  }

  /** Writes what is known and not in LMDB yet, and tells it. */
  #settle(): void {
    this.#replica.settle();
    this.#settledG = this.#place.g;
    for (const body of this.#unsettled.splice(0)) this.#onForeign(body);
  }

  /** Connects, and checks that the log goes on from this node's place: the database may be another one than before. */
  async #connect(): Promise<void> {
    if (this.#database.isConnected) return;
    await this.#database.connect();
    const head = await this.#database.head();
    if (head === undefined) throw diverged(this.#place.g);
    this.#epoch = head.epoch;
    this.#requireHead(head);
    const { g, mac } = this.#place;
    if (g > head.g) throw aheadFault(g, head.g);
    const known = g === head.g ? head.mac : await this.#database.macOf(g);
    if (known !== undefined && !known.equals(mac)) throw diverged(g);
  }

  #requireHead({ cluster, epoch, format, schemaVersion }: LogHead): void {
    requireKnownFormat(format);
    requireKnownSchema(schemaVersion, this.#options.schemaVersion);
    if (cluster !== this.#place.cluster) throw diverged(this.#place.g);
    if (epoch !== this.#epoch)
      throw new AppError("conflict", { message: "the cluster's keys were changed: start this node with the new ones" });
  }

  /** Returns why a group fails for good; undefined when it may be tried again. */
  #lastingFailure(error: unknown, group: PendingGroup): WriteFailure | undefined {
    const { isLasting, isFatal, failure } = groupFailure(error, { isUnknown: group.sent !== undefined });
    if (isFatal) this.#failBy(error, failure);
    return isLasting ? failure : undefined;
  }

  /** Runs what only reads the log; a replica that does not follow it any more writes nothing either. */
  async #guarded<R>(read: () => Promise<R>): Promise<R> {
    try {
      return await read();
    } catch (error) {
      const { isFatal, failure } = groupFailure(error, { isUnknown: false });
      if (isFatal) this.#failBy(error, failure);
      throw error;
    }
  }

  #failBy(error: unknown, failure: WriteFailure): void {
    if (error instanceof ReplicaSpent) this.#onSpent(error.reason);
    this.#fail(failure);
  }

  #fail(failure: WriteFailure): void {
    this.#state = "failed";
    if (failure.code !== "conflict") this.#fault = failure.message;
  }
}

function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

function requireKnownFormat(format: number): void {
  if (format > ROW_FORMAT)
    throw new AppError("conflict", { message: "the cluster was upgraded beyond this program: upgrade this node" });
}

function requireKnownSchema(stored: number, own: number): void {
  if (stored === own) return;
  const message =
    stored > own
      ? "the cluster's records were migrated for a newer program: upgrade this node"
      : "the cluster's records are those of an older program: stop all nodes and run `proofwright cluster finalize` of this one";
  throw new AppError("conflict", { message });
}
