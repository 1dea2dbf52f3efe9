/** Reads of the LMDB store on the calling thread: synchronous, with the tag of each record checked. */
import { AppError } from "../../errors.js";
import { corrupt, decodeRecord } from "../record.js";
import { decodeKey, encodeKey, prefixRange } from "../keys.js";
import { readBinary } from "./lmdb-environment.js";
import type { Environment } from "./lmdb-environment.js";
import type { RangeOptions, StoreKey, StoreRecord } from "../store.js";

/** See Store.get. */
export function readRecord<T>(environment: Environment, key: StoreKey): StoreRecord<T> | undefined {
  const keyBytes = encodeKey(key);
  const bytes = readBinary(environment, keyBytes);
  return bytes === undefined ? undefined : toRecord<T>(key, keyBytes, bytes);
}

/** See Store.range. */
export function readRange<T>(environment: Environment, prefix: StoreKey, options: RangeOptions = {}): StoreRecord<T>[] {
  const records: StoreRecord<T>[] = [];
  guard(() => {
    for (const { key, value } of environment.getRange({ ...bounds(prefix, options), ...pageOf(options) })) {
      // Both are copies already: the iterator never returns views of the memory map.
      const keyBytes = Buffer.from(key.buffer, key.byteOffset, key.byteLength);
      records.push(toRecord<T>(decodeKey(keyBytes), keyBytes, value));
    }
  });
  return records;
}

/** See Store.count. */
export function countKeys(environment: Environment, prefix: StoreKey): number {
  return guard(() => environment.getKeysCount(prefixRange(prefix)));
}

interface Bounds {
  readonly start: Buffer;
  readonly end: Buffer;
  readonly exclusiveStart: boolean;
  readonly inclusiveEnd: boolean;
  readonly reverse: boolean;
}

/** In reverse, LMDB starts at the upper bound, and the lower bound, the prefix itself, belongs to the range. */
function bounds(prefix: StoreKey, { reverse = false, after }: RangeOptions): Bounds {
  const { start, end } = prefixRange(prefix);
  const from = after === undefined ? undefined : encodeKey(after);
  if (reverse) {
    const upper = from !== undefined && Buffer.compare(from, end) < 0 ? from : end;
    return { start: upper, end: start, exclusiveStart: true, inclusiveEnd: true, reverse };
  }
  const startsAfter = from !== undefined && Buffer.compare(from, start) >= 0;
  return { start: startsAfter ? from : start, end, exclusiveStart: startsAfter, inclusiveEnd: false, reverse };
}

function pageOf({ offset, limit }: RangeOptions): { offset?: number; limit?: number } {
  return { ...(offset === undefined ? {} : { offset }), ...(limit === undefined ? {} : { limit }) };
}

function toRecord<T>(key: StoreKey, keyBytes: Buffer, bytes: Uint8Array): StoreRecord<T> {
  const { version, json } = decodeRecord(keyBytes, bytes);
  return { key, version, value: JSON.parse(json.toString("utf8")) as T };
}

/** Rethrows errors of LMDB as `data_corrupt`: reading a sound file causes none. */
function guard<R>(read: () => R): R {
  try {
    return read();
  } catch (error) {
    throw error instanceof AppError ? error : corrupt(error);
  }
}
