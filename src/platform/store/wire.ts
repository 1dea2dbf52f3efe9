/**
 * Commits for the writer thread, packed into one buffer per turn of the event loop: cloning thousands of small objects
 * between threads would cost more than writing them. Both ends belong to the same build, so that the layout may change.
 *
 * Layout, numbers in big-endian order. The key of an append is the name of its log.
 *
 *   commit      flags(1: bit 0 = urgent) || operation count(4) || operations
 *   operation   kind(1) || key length(2) || key || what follows for its kind
 *   check       version(8, float, -1 = absent)
 *   put         JSON length(4) || JSON
 *   append      JSON length(4) || JSON || unlinked(1) || index count(1) || indexes: (key length(2) || key)*
 */
import { AppError, assert } from "../errors.js";
import { KEY_ROOM_BYTES, writeKey } from "./keys.js";
import { RECORD_BYTES_MAX } from "./record.js";
import type { StoreCommit, StoreKey } from "./store.js";

export const CHECK = 0;
export const DELETE_PREFIX = 1;
export const DELETE = 2;
export const PUT = 3;
export const APPEND = 4;
export const ABSENT = -1;

/** Up to this length the bytes of a text are estimated instead of measured. */
const SHORT_TEXT_LENGTH = 16 * 1024;

/** Operations of one commit at most: limits how long one caller may occupy the writer. */
const COMMIT_OPERATIONS_MAX = 10_000;

export type Operation =
  | { readonly kind: typeof CHECK; readonly key: Buffer; readonly version: number }
  | { readonly kind: typeof DELETE_PREFIX | typeof DELETE; readonly key: Buffer }
  | { readonly kind: typeof PUT; readonly key: Buffer; readonly json: Buffer }
  | {
      readonly kind: typeof APPEND;
      readonly key: Buffer;
      readonly json: Buffer;
      readonly indexes: readonly Buffer[];
      readonly unlinked: boolean;
    };

export interface PackedCommit {
  readonly urgent: boolean;
  readonly operations: readonly Operation[];
  /** Bytes of keys and values, from which the needed space is estimated. */
  readonly bytes: number;
}

/** Collects commits until `take`. A commit that cannot be packed leaves no trace. */
export class CommitPacker {
  #buffer = Buffer.allocUnsafeSlow(64 * 1024);
  #length = 0;
  #commits = 0;

  get commits(): number {
    return this.#commits;
  }

  /** Appends a commit and returns its size in bytes. Throws `invalid_request` for a key or record that is too long. */
  add(commit: StoreCommit): number {
    const start = this.#length;
    try {
      this.#pack(commit);
    } catch (error) {
      this.#length = start;
      throw error;
    }
    this.#commits += 1;
    return this.#length - start;
  }

  /** Returns the collected commits as one buffer, and starts anew. */
  take(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#length);
    bytes.set(this.#buffer.subarray(0, this.#length));
    this.#length = 0;
    this.#commits = 0;
    return bytes;
  }

  #pack(commit: StoreCommit): void {
    const { checks = [], puts = [], deletes = [], deletePrefixes = [], appends = [] } = commit;
    const count = checks.length + puts.length + deletes.length + deletePrefixes.length + appends.length;
    if (count > COMMIT_OPERATIONS_MAX) {
      throw new AppError("invalid_request", { message: `a commit touches more than ${COMMIT_OPERATIONS_MAX} records` });
    }
    this.#reserve(5);
    this.#buffer[this.#length] = commit.urgent === true ? 1 : 0;
    this.#buffer.writeUInt32BE(count, this.#length + 1);
    this.#length += 5;
    for (const check of checks) {
      this.#operation(CHECK, check.key, 8);
      this.#length = this.#buffer.writeDoubleBE(check.version === "absent" ? ABSENT : check.version, this.#length);
    }
    for (const key of deletePrefixes) this.#operation(DELETE_PREFIX, key, 0);
    for (const key of deletes) this.#operation(DELETE, key, 0);
    for (const put of puts) this.#put(PUT, put.key, put.value);
    for (const { chain, value, indexes = [], unlinked = false } of appends) {
      this.#put(APPEND, [chain], value);
      this.#reserve(1);
      this.#length = this.#buffer.writeUInt8(unlinked ? 1 : 0, this.#length);
      this.#indexes(indexes);
    }
  }

  #indexes(indexes: readonly StoreKey[]): void {
    assert(indexes.length < 256, "a record of a log has fewer than 256 index entries");
    this.#reserve(1);
    this.#length = this.#buffer.writeUInt8(indexes.length, this.#length);
    for (const index of indexes) {
      this.#reserve(2 + KEY_ROOM_BYTES);
      this.#key(index, 2);
    }
  }

  /** Writes a key and its length before it; the key starts `skipped` bytes after the current end. */
  #key(key: StoreKey, skipped: number): void {
    const start = this.#length + skipped;
    const end = writeKey(key, this.#buffer, start);
    this.#buffer.writeUInt16BE(end - start, start - 2);
    this.#length = end;
  }

  #operation(kind: Operation["kind"], key: StoreKey, more: number): void {
    assert(key.length > 0, "no key of a commit is empty");
    this.#reserve(3 + KEY_ROOM_BYTES + more);
    this.#buffer[this.#length] = kind;
    this.#key(key, 3);
  }

  #put(kind: typeof PUT | typeof APPEND, key: StoreKey, value: unknown): void {
    const json = JSON.stringify(value) as string | undefined;
    assert(json !== undefined, "a stored value is JSON");
    // Short texts are not measured first: UTF-8 needs at most three bytes per character.
    const room = json.length <= SHORT_TEXT_LENGTH ? 3 * json.length : Buffer.byteLength(json);
    if (room > RECORD_BYTES_MAX) {
      throw new AppError("invalid_request", { message: `a record is longer than ${RECORD_BYTES_MAX} bytes` });
    }
    this.#operation(kind, key, 4 + room);
    const length = this.#buffer.write(json, this.#length + 4, "utf8");
    this.#buffer.writeUInt32BE(length, this.#length);
    this.#length += 4 + length;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.#length + more));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Unpacks commits. Their keys and JSON are views into the buffer. */
export function unpackCommits(bytes: Uint8Array): PackedCommit[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const commits: PackedCommit[] = [];
  for (let position = 0; position < buffer.length;) {
    const start = position;
    const urgent = buffer[position] === 1;
    const count = buffer.readUInt32BE(position + 1);
    position += 5;
    const operations: Operation[] = [];
    for (let index = 0; index < count; index += 1) {
      const kind = buffer[position];
      const keyEnd = position + 3 + buffer.readUInt16BE(position + 1);
      const key = buffer.subarray(position + 3, keyEnd);
      position = keyEnd;
      if (kind === CHECK) {
        operations.push({ kind, key, version: buffer.readDoubleBE(position) });
        position += 8;
      } else if (kind === PUT) {
        const end = position + 4 + buffer.readUInt32BE(position);
        operations.push({ kind, key, json: buffer.subarray(position + 4, end) });
        position = end;
      } else if (kind === APPEND) {
        const end = position + 4 + buffer.readUInt32BE(position);
        const json = buffer.subarray(position + 4, end);
        const indexes: Buffer[] = [];
        const unlinked = buffer[end] === 1;
        position = end + 2;
        for (let left = buffer[end + 1] ?? 0; left > 0; left -= 1) {
          const indexEnd = position + 2 + buffer.readUInt16BE(position);
          indexes.push(buffer.subarray(position + 2, indexEnd));
          position = indexEnd;
        }
        operations.push({ kind, key, json, indexes, unlinked });
      } else {
        assert(kind === DELETE || kind === DELETE_PREFIX, "the writer knows every operation");
        operations.push({ kind, key });
      }
    }
    commits.push({ urgent, operations, bytes: position - start });
  }
  return commits;
}
