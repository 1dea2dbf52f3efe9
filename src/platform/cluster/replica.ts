/**
 * A node's copy of the cluster's state in LMDB: it decides groups without writing them, and takes in rows of the log in
 * their order, which are written together later. Beside the records it keeps its place in the log, in the same
 * transactions.
 */
import { AppError } from "../errors.js";
import type { ChainKey } from "../store/chain.js";
import { decodeKey } from "../store/keys.js";
import { evaluateCommit } from "../store/lmdb/commit-evaluation.js";
import { ChainTails } from "../store/lmdb/lmdb-chains.js";
import { ChangeSet } from "../store/lmdb/lmdb-changes.js";
import {
  REPLICA_PLACE_KEY,
  readBinary,
  transact,
  writeMeta,
  type Environment,
  type StoreMeta,
} from "../store/lmdb/lmdb-environment.js";
import { storedMeta } from "../store/lmdb/lmdb-migrate.js";
import { OverlaySpace, storedRecords, type RecordReader } from "../store/lmdb/record-space.js";
import { decodeRecord, encodeRecord } from "../store/record.js";
import { APPEND, type PackedCommit } from "../store/wire.js";
import type { WriteFailure } from "../store/writer-protocol.js";
import { decodeBody, type LogRow, type RowBody, type StoreEnd } from "./log/log-row.js";
import { StagedRows } from "./staged-rows.js";

/** Where a replica stands: the last row that it has applied, and that row's code. */
export interface ReplicaPlace {
  readonly cluster: string;
  readonly g: number;
  readonly mac: Buffer;
}

/** What a group of commits would do. */
export interface EvaluatedGroup {
  /** One for each commit: undefined, or why it is not applied. */
  readonly outcomes: readonly (WriteFailure | undefined)[];
  /** Undefined when nothing is to be written. */
  readonly change: { readonly body: RowBody; readonly first: number; readonly end: StoreEnd } | undefined;
}

interface StoredPlace {
  readonly cluster: string;
  readonly g: number;
  readonly mac: string;
}

export class Replica {
  readonly #environment: Environment;
  readonly #chainKey: ChainKey | undefined;
  /** Rows that are to be written, and the place of the last one. */
  #staged: { readonly rows: StagedRows; readonly place: ReplicaPlace } | undefined;

  constructor(environment: Environment, chainKey: ChainKey | undefined) {
    this.#environment = environment;
    this.#chainKey = chainKey;
  }

  /** Its place in the log, without the rows that are staged; undefined for a folder that has joined no cluster. */
  place(): ReplicaPlace | undefined {
    const bytes = readBinary(this.#environment, REPLICA_PLACE_KEY);
    if (bytes === undefined) return undefined;
    const { cluster, g, mac } = JSON.parse(decodeRecord(REPLICA_PLACE_KEY, bytes).json.toString("utf8")) as StoredPlace;
    return { cluster, g, mac: Buffer.from(mac, "hex") };
  }

  /** The state that it has, with the rows that are staged. */
  end(): StoreEnd {
    return endOf(this.#meta());
  }

  /** Whether a record is there. @param key its encoded key */
  has(key: Buffer): boolean {
    return this.#records().read(key) !== undefined;
  }

  /** Decides commits in their order, each by itself, as if they were applied now. Writes nothing. */
  evaluate(commits: readonly PackedCommit[]): EvaluatedGroup {
    const space = new OverlaySpace(this.#records());
    const tails = new ChainTails(space, this.#chainKey);
    const meta = this.#meta();
    const first = meta.sequence + 1;
    const logs = new Set<string>();
    const outcomes = commits.map((commit) => {
      const evaluated = evaluateCommit(commit, space, tails);
      if (!(evaluated instanceof ChangeSet)) return evaluated;
      evaluated.write(meta);
      for (const operation of commit.operations)
        if (operation.kind === APPEND) logs.add(String(decodeKey(operation.key)[0]));
      return undefined;
    });
    tails.write(meta);
    const { changes } = space;
    const change = { body: { logs: [...logs], changes }, first, end: endOf(meta) };
    return { outcomes, change: changes.length === 0 ? undefined : change };
  }

  /**
   * Takes in the next row, whose code was checked: what is decided from now on is decided with it. It is in LMDB, where
   * others can read it, after `settle`.
   * @param body what the row does, where it is known already
   * @returns what it does
   * @throws ReplicaSpent when the state would not be the one that the row's writer had: nothing is taken in
   */
  stage(row: LogRow, cluster: string, body: RowBody = decodeBody(row.body)): RowBody {
    const rows = this.#staged?.rows ?? new StagedRows(this.#environment);
    if (!rows.add(row, body))
      throw new ReplicaSpent(`its records are not those of the cluster's log at row ${String(row.g)}`);
    this.#staged = { rows, place: { cluster, g: row.g, mac: row.mac } };
    return body;
  }

  /** Writes the rows that are staged to LMDB, in one transaction. */
  settle(): void {
    const staged = this.#staged;
    if (staged === undefined) return;
    staged.rows.write(() => {
      this.writePlace(staged.place);
    });
    this.#staged = undefined;
  }

  /** Notes that the records are of this schema, which the log's head says. */
  adoptSchema(version: number): void {
    this.settle();
    const meta = storedMeta(this.#environment);
    if (meta.schema_version === version) return;
    transact(this.#environment, () => {
      writeMeta(this.#environment, { ...meta, schema_version: version });
    });
    this.#environment.resetReadTxn();
  }

  /** Writes its place, inside a transaction. */
  writePlace({ cluster, g, mac }: ReplicaPlace): void {
    const json = JSON.stringify({ cluster, g, mac: mac.toString("hex") } satisfies StoredPlace);
    void this.#environment.put(REPLICA_PLACE_KEY, encodeRecord(REPLICA_PLACE_KEY, g, json).bytes);
  }

  #records(): RecordReader {
    return this.#staged?.rows.records ?? storedRecords(this.#environment);
  }

  #meta(): StoreMeta {
    return this.#staged?.rows.meta ?? storedMeta(this.#environment);
  }
}

/** A replica with which its node cannot go on, and of which the cluster has everything (distrusted-replica.ts). */
export class ReplicaSpent extends AppError {
  /** Why, as a clause. */
  readonly reason: string;

  constructor(reason: string) {
    super("data_corrupt", {
      message: `this node's replica cannot be used any more (${reason}): the node's next start copies the cluster's state anew`,
    });
    this.reason = reason;
  }
}

/** Returns the error of a replica that cannot have the state of the log: people have to see why. */
export function diverged(g: number): AppError {
  return new AppError("data_corrupt", {
    message: `this node's replica differs from the cluster's log at row ${String(g)}: stop the node, keep its folder for inspection, and start it with an empty one`,
  });
}

function endOf({ sequence, count, tag_sum }: StoreMeta): StoreEnd {
  return { version: sequence, count, tagSum: tag_sum };
}
