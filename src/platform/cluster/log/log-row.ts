/**
 * One group of commits as a row of the cluster's log: physical changes, without any rule of an area, and a code that
 * links the row to its predecessor. Nobody who has the database alone can write, change or reorder rows, and the rows
 * of two histories differ.
 *
 *   body     version(1) || log count(2) || (length(2) || name)* || change count(4) || changes
 *   change   kind(1: 1 = put, 2 = delete) || key length(2) || key || for puts: record length(4) || record (record.ts)
 *   mac      HMAC-SHA256(log key, "pv/v1/cluster-row\0" || cluster(16) || node(16) || incarnation(16) || u64be(g)
 *            || u32be(format) || u64be(first) || u64be(last) || u64be(count) || u64be(tag sum) || predecessor's mac(32)
 *            || SHA-256(body))
 *   log key  HKDF-SHA256(cluster key, no salt, "pv/v1/cluster-log", 32)
 *
 * Numbers are in big-endian order. The log's start, before row 1, has the same code with zeros for a row's members.
 */
import { createHmac, hash, hkdfSync } from "node:crypto";
import { AppError, assert } from "../../errors.js";
import type { RecordChange } from "../../store/lmdb/record-space.js";

export const CLUSTER_KEY_BYTES = 32;
/** Of the rows that this program writes; it stands in the head, and no node reads a newer one. */
export const ROW_FORMAT = 1;
const BODY_VERSION = 1;
const PUT = 1;
const DELETE = 2;
const LABEL = Buffer.from("pv/v1/cluster-row\0");
const NIL_UUID = "00000000-0000-0000-0000-000000000000";
const MAC_BYTES = 32;

/** The state of the store after a row, which every node compares with its own. */
export interface StoreEnd {
  /** The last version given to a record. */
  readonly version: number;
  readonly count: number;
  /** Sum of all records' tags modulo 2^64. */
  readonly tagSum: bigint;
}

/** A row; `g` counts from 1 without gaps. */
export interface LogRow extends StoreEnd {
  readonly g: number;
  /** UUIDs of the node that wrote it, and of its process. */
  readonly node: string;
  readonly incarnation: string;
  readonly format: number;
  /** The first version that its records have; `version` is the last. */
  readonly first: number;
  readonly body: Buffer;
  readonly mac: Buffer;
}

export interface RowBody {
  /** Names of the logs (store.ts, StoreAppend) that grew. */
  readonly logs: readonly string[];
  readonly changes: readonly RecordChange[];
}

/** Returns the key of the codes. @param clusterKey 32 bytes */
export function logKeyOf(clusterKey: Uint8Array): Buffer {
  assert(clusterKey.length === CLUSTER_KEY_BYTES, "a cluster key has 32 bytes");
  return Buffer.from(hkdfSync("sha256", clusterKey, new Uint8Array(0), "pv/v1/cluster-log", MAC_BYTES));
}

/** Returns the code of a row, 32 bytes. @param link.previous code of the row before */
export function rowMac(
  logKey: Uint8Array,
  row: Omit<LogRow, "mac">,
  link: { readonly cluster: string; readonly previous: Uint8Array },
): Buffer {
  const numbers = Buffer.alloc(8 + 4 + 4 * 8);
  numbers.writeBigUInt64BE(BigInt(row.g), 0);
  numbers.writeUInt32BE(row.format, 8);
  [BigInt(row.first), BigInt(row.version), BigInt(row.count), row.tagSum].forEach((number, index) =>
    numbers.writeBigUInt64BE(number, 12 + 8 * index),
  );
  const mac = createHmac("sha256", logKey).update(LABEL);
  for (const uuid of [link.cluster, row.node, row.incarnation]) mac.update(bytesOfUuid(uuid));
  return mac
    .update(numbers)
    .update(link.previous)
    .update(hash("sha256", row.body, "buffer"))
    .digest();
}

/** Where a row goes, and whose it is. */
export interface NextRowPlace {
  readonly cluster: string;
  /** The last row, and its code. */
  readonly g: number;
  readonly mac: Uint8Array;
  /** UUIDs of the node that writes it, and of its process. */
  readonly node: string;
  readonly incarnation: string;
}

/** Returns the row that follows a place. */
export function nextRow(
  logKey: Uint8Array,
  { cluster, g, mac, node, incarnation }: NextRowPlace,
  { body, first, end }: { readonly body: RowBody; readonly first: number; readonly end: StoreEnd },
): LogRow {
  const whole = { g: g + 1, node, incarnation, format: ROW_FORMAT, first, ...end, body: encodeBody(body) };
  return { ...whole, mac: rowMac(logKey, whole, { cluster, previous: mac }) };
}

/** Returns the code of the log's start, which row 1 continues. */
export function startMac(logKey: Uint8Array, cluster: string, end: StoreEnd): Buffer {
  const start = { ...end, g: 0, node: NIL_UUID, incarnation: NIL_UUID, format: 0, first: 0, body: Buffer.alloc(0) };
  return rowMac(logKey, start, { cluster, previous: Buffer.alloc(MAC_BYTES) });
}

/** Encodes the changes of a group. */
export function encodeBody({ logs, changes }: RowBody): Buffer {
  const pieces: Buffer[] = [Buffer.of(BODY_VERSION), u16(logs.length)];
  for (const name of logs) {
    const bytes = Buffer.from(name);
    pieces.push(u16(bytes.length), bytes);
  }
  pieces.push(u32(changes.length));
  for (const { key, bytes } of changes) {
    pieces.push(Buffer.of(bytes === undefined ? DELETE : PUT), u16(key.length), key);
    if (bytes !== undefined) pieces.push(u32(bytes.length), bytes);
  }
  return Buffer.concat(pieces);
}

/** Decodes the changes of a row whose code was checked. Keys and records are views. Throws `data_corrupt`. */
export function decodeBody(body: Buffer): RowBody {
  const reader = new BodyReader(body);
  if (reader.take(1)[0] !== BODY_VERSION) throw rowDamaged();
  const logs = Array.from({ length: reader.u16() }, () => reader.take(reader.u16()).toString("utf8"));
  const changes = Array.from({ length: reader.u32() }, (): RecordChange => {
    const kind = reader.take(1)[0];
    const key = reader.take(reader.u16());
    if (kind === DELETE) return { key, bytes: undefined };
    if (kind !== PUT) throw rowDamaged();
    return { key, bytes: reader.take(reader.u32()) };
  });
  if (!reader.isAtEnd) throw rowDamaged();
  return { logs, changes };
}

class BodyReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw rowDamaged();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  u16(): number {
    return this.take(2).readUInt16BE();
  }

  u32(): number {
    return this.take(4).readUInt32BE();
  }
}

/** Returns the error of a row that no node of the cluster wrote, or that was changed since. */
export function rowDamaged(): AppError {
  return new AppError("data_corrupt", {
    message: "a row of the cluster's log was not written by a node with this cluster key, or was changed since",
  });
}

function bytesOfUuid(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll("-", ""), "hex");
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
