/**
 * The storage of large files that the nodes of a cluster share: it is the truth, and each node's folder a cache of it.
 * A file is there whole or not at all, under the SHA-256 of its content.
 *
 * Two nodes may use one content without knowing of each other: one deletes a prover while another is about to name its
 * files in a record. Whoever is about to name a file therefore puts or keeps it first, and for a day after that nobody
 * else can remove it; where two have done so, nobody can.
 */

/** A file that is at least a day old. */
export interface OldFile {
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  /** Size in bytes. */
  readonly bytes: number;
}

/**
 * All methods throw `store_unreachable` while the storage cannot be reached, after tries of some seconds, and
 * `storage_full` and `storage_failed` when it refuses.
 */
export interface SharedFiles {
  /**
   * Stores a file unless it is there, and keeps others from removing it for a day.
   * @param file.path where its content lies; it is read piece by piece
   * @throws artifact_corrupt when the content does not have the hash, and nothing is stored
   */
  put(file: { readonly sha256: string; readonly bytes: number; readonly path: string }): Promise<void>;
  /** Keeps others from removing a file for a day. Returns false when it is not there. */
  keep(sha256: string): Promise<boolean>;
  /**
   * Hands a file's content out, piece by piece, and waits for each. The content is not checked.
   * @returns false when it is not there, or was removed meanwhile
   */
  read(sha256: string, write: (piece: Uint8Array) => Promise<void>): Promise<boolean>;
  /**
   * Removes a file, unless another process has put or kept it within the last day: then it is left to `removeOld`. A
   * missing one is fine.
   */
  remove(sha256: string): Promise<void>;
  /** Removes a file that nobody has put or kept within the last day. Returns whether it did. */
  removeOld(sha256: string): Promise<boolean>;
  /** Lists the files that nobody has put or kept within the last day, by the storage's clock. */
  old(): AsyncIterable<OldFile>;
  /** Removes what is left of files that were begun more than a day ago and never became whole. */
  removeUnfinished(): Promise<void>;
  /** Ends connections. Nothing may be called after it. Never rejects. */
  close(): Promise<void>;
}

/** What was put or kept within this time is not removed by others. */
export const KEPT_HOURS = 24;
