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
      readonly code: "data_corrupt" | "storage_full" | "storage_failed" | "too_many_records" | "internal_error";
      readonly message: string;
    };

/** To the writer thread: packed commits (wire.ts), or the request to end after all earlier commits are written. */
export type WriterRequest = Uint8Array<ArrayBuffer> | { readonly close: true };

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
}
