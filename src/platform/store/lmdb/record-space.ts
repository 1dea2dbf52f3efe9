/**
 * Where the records of a commit are read and written while it is decided: the LMDB transaction itself, or changes in
 * memory over what LMDB has. The second writes nothing, so that a group can be decided before it is known to hold.
 */
import { afterPrefix } from "../keys.js";
import { readBinary, type Environment } from "./lmdb-environment.js";

export interface RecordReader {
  /** Returns the stored bytes of a key. Throws `data_corrupt` where they cannot be read. */
  read(key: Buffer): Buffer | undefined;
  /** Returns the keys that begin with an encoded prefix, at most `limit` of them. */
  keysOf(prefix: Buffer, limit: number): Buffer[];
}

export interface RecordSpace extends RecordReader {
  /** Writes a record. Both buffers may be reused after the call. */
  put(key: Buffer, bytes: Buffer): void;
  /** Deletes a record; nothing happens when there is none. */
  remove(key: Buffer): void;
}

/** Returns the space of an open write transaction: what is written is part of it. */
export function transactionSpace(environment: Environment): RecordSpace {
  return {
    ...storedRecords(environment),
    put: (key, bytes) => void environment.put(key, bytes),
    remove: (key) => void environment.remove(key),
  };
}

/** Returns what LMDB has: in the open transaction, or in the last snapshot. */
export function storedRecords(environment: Environment): RecordReader {
  return {
    read: (key) => readBinary(environment, key),
    keysOf: (prefix, limit) => keysIn(environment, prefix, limit),
  };
}

/** A change of one key: the new bytes of its record, or undefined when it is deleted. */
export interface RecordChange {
  readonly key: Buffer;
  readonly bytes: Buffer | undefined;
}

/** Changes in memory over records that the caller keeps from changing meanwhile: those of LMDB, or another overlay. */
export class OverlaySpace implements RecordSpace {
  readonly #below: RecordReader;
  readonly #changes = new Map<string, RecordChange>();

  constructor(below: RecordReader) {
    this.#below = below;
  }

  /** How many keys have changed. */
  get size(): number {
    return this.#changes.size;
  }

  /** The last change of each key. */
  get changes(): readonly RecordChange[] {
    return [...this.#changes.values()];
  }

  /** See RecordSpace. */
  read(key: Buffer): Buffer | undefined {
    const change = this.#changes.get(key.toString("latin1"));
    return change === undefined ? this.#below.read(key) : change.bytes;
  }

  /** See RecordSpace. */
  put(key: Buffer, bytes: Buffer): void {
    this.#changes.set(key.toString("latin1"), { key: Buffer.from(key), bytes: Buffer.from(bytes) });
  }

  /** Takes over changes whose buffers stay as they are. */
  take(changes: readonly RecordChange[]): void {
    for (const change of changes) this.#changes.set(change.key.toString("latin1"), change);
  }

  /** See RecordSpace. */
  remove(key: Buffer): void {
    this.#changes.set(key.toString("latin1"), { key: Buffer.from(key), bytes: undefined });
  }

  /** See RecordSpace. */
  keysOf(prefix: Buffer, limit: number): Buffer[] {
    const end = afterPrefix(prefix);
    const within = this.changes.filter(({ key }) => prefix.compare(key) <= 0 && end.compare(key) > 0);
    const known = new Set(within.map(({ key }) => key.toString("latin1")));
    const stored = this.#below.keysOf(prefix, limit + known.size);
    const untouched = stored.filter((key) => !known.has(key.toString("latin1")));
    const written = within.filter(({ bytes }) => bytes !== undefined).map(({ key }) => key);
    return [...untouched, ...written].slice(0, limit);
  }
}

function keysIn(environment: Environment, prefix: Buffer, limit: number): Buffer[] {
  const keys = environment.getKeys({ start: prefix, end: afterPrefix(prefix), limit });
  return [...keys].map((key) => Buffer.from(key));
}
