/** The messages between the calling thread (write-queue.ts) and the writer thread (workers/writer.worker.ts). */
import type { StoreKey } from "./store.js";

/** Options of the writer thread; passed as its `workerData`. */
export interface WriterOptions {
  /** Folder of the data file. */
  readonly path: string;
  /** Largest size that the data file may reach, in bytes. */
  readonly dataBytesMax: number;
  /** Free bytes of the disk, or of dataBytesMax, that only urgent commits may use. */
  readonly reserveBytes: number;
  /** 32 bytes that link the hash chains of the store; needed for commits with linked appends. */
  readonly chainKey?: Uint8Array | undefined;
  /** Present in a node of a cluster: where the log is that decides. */
  readonly cluster?: ClusterMembership | undefined;
}

/** What makes a process a node of a cluster. */
export interface ClusterMembership {
  /** `postgres://` URL of the cluster's database. */
  readonly databaseUrl: string;
  /** 32 bytes that no database ever sees. */
  readonly clusterKey: Uint8Array;
  /** UUID of this node. */
  readonly node: string;
  /** UUID of this process of the node. */
  readonly incarnation: string;
  /** How long a commit may look for the database before it fails, in milliseconds. */
  readonly giveUpMs: number;
  /** How often this node folds the log into the records that others join from, in milliseconds. */
  readonly foldMs: number;
}

/**
 * ready: accepts every commit. full: puts are refused until there is space, which is measured with every batch.
 * failed: the disk refused a write that should have fitted; nothing more is written, because a second fsync may succeed
 * without the lost data.
 */
export type WriterState = "ready" | "full" | "failed";

/** Why a commit was not applied. Crosses threads, so it is data. */
export type WriteFailure =
  | { readonly code: "conflict"; readonly key: StoreKey }
  | {
      readonly code:
        | "data_corrupt"
        | "storage_full"
        | "storage_failed"
        | "store_unreachable"
        | "outcome_unknown"
        | "too_many_records"
        | "start_refused"
        | "internal_error";
      readonly message: string;
    };

/**
 * To the writer thread: packed commits (wire.ts), the request to read everything that any node of the cluster has
 * committed, the request to tell what other nodes change in a table from now on, or the request to end after all
 * earlier commits are written.
 */
export type WriterRequest =
  Uint8Array<ArrayBuffer> | { readonly confirm: true } | { readonly watch: string } | { readonly close: true };

/**
 * From the writer thread. Usually a number: so many commits, oldest first, are applied and on disk, and the writer is
 * ready.
 */
export type WriterReply = number | WriterReport;

/** How many commits are settled, oldest first, and which of them failed. */
export interface WriterReport {
  readonly settled: number;
  readonly failures: readonly { readonly index: number; readonly failure: WriteFailure }[];
  readonly state: WriterState;
  /** Why the writer did not start; it ends then. */
  readonly startFailure?: WriteFailure;
  /** Why the state is `failed`, where the writer knows more than that the disk failed. */
  readonly fault?: string;
  /** Present when rows of other nodes were applied. */
  readonly foreign?: ForeignChanges;
  /** Present in a node of a cluster. */
  readonly place?: LogPlace;
  /** Answers the oldest `confirm` requests: so many, and why it failed. */
  readonly confirmed?: { readonly requests: number; readonly failure?: WriteFailure };
}

/** What rows of other nodes have changed. */
export interface ForeignChanges {
  /** Names of the logs that grew. */
  readonly logs: readonly string[];
  /** Encoded keys that were put or deleted, of the tables that are watched. */
  readonly keys: readonly Uint8Array[];
}

/** Where a node stands in the cluster's log. */
export interface LogPlace {
  /** Number of the last row that can be read. */
  readonly g: number;
  /** When it was asked for last whether that was the end of the log: milliseconds of `process.hrtime`. */
  readonly confirmedAtMs: number;
}
