/**
 * The tables of a cluster in PostgreSQL 15 and later: no extension, no trigger, no sequence. `pw_log` decides; the one
 * row of `pw_head` is its end, and what writers queue at. `pw_record` is the state at the row of `pw_fold`, from which
 * nodes join. `pw_node` has the signs of life of the processes, and decides nothing. Large files are in tables of their
 * own (files/file-tables.ts).
 */
import { FILE_TABLES } from "../files/file-tables.js";
import type { LogRow, StoreEnd } from "./log-row.js";

/** Statements that make the tables; each may run again. */
export const CLUSTER_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS pw_head (id int PRIMARY KEY CHECK (id = 1), cluster uuid NOT NULL, epoch bigint NOT NULL,
    format int NOT NULL, schema_version int NOT NULL, g bigint NOT NULL, version bigint NOT NULL,
    count bigint NOT NULL, tag_sum text NOT NULL, mac bytea NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS pw_log (g bigint PRIMARY KEY, node uuid NOT NULL, incarnation uuid NOT NULL,
    format int NOT NULL, first bigint NOT NULL, last bigint NOT NULL, count bigint NOT NULL, tag_sum text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(), body bytea NOT NULL, mac bytea NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS pw_record (key bytea PRIMARY KEY, value bytea NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS pw_fold (id int PRIMARY KEY CHECK (id = 1), g bigint NOT NULL, version bigint NOT NULL,
    count bigint NOT NULL, tag_sum text NOT NULL, mac bytea NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS pw_node (incarnation uuid PRIMARY KEY, node uuid NOT NULL, name text NOT NULL,
    role text NOT NULL, build text NOT NULL, duties text NOT NULL, seal text NOT NULL, applied_g bigint NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp())`,
  ...FILE_TABLES,
];

/** The end of the log. */
export interface LogHead extends StoreEnd {
  readonly cluster: string;
  readonly epoch: number;
  readonly format: number;
  readonly schemaVersion: number;
  readonly g: number;
  readonly mac: Buffer;
}

/** A row as pg gives it: bigint as text. */
export type SqlRow = Readonly<Record<string, unknown>>;

export const HEAD_COLUMNS = "cluster, epoch, format, schema_version, g, version, count, tag_sum, mac";
export const ROW_COLUMNS = "g, node, incarnation, format, first, last, count, tag_sum, body, mac";

/** Reads a row of `pw_head`. */
export function headOf(row: SqlRow): LogHead {
  return {
    cluster: String(row["cluster"]),
    epoch: Number(row["epoch"]),
    format: Number(row["format"]),
    schemaVersion: Number(row["schema_version"]),
    g: Number(row["g"]),
    version: Number(row["version"]),
    ...sumsOf(row),
    mac: row["mac"] as Buffer,
  };
}

/** Reads a row of `pw_log`. */
export function rowOf(row: SqlRow): LogRow {
  return {
    g: Number(row["g"]),
    node: String(row["node"]),
    incarnation: String(row["incarnation"]),
    format: Number(row["format"]),
    first: Number(row["first"]),
    version: Number(row["last"]),
    ...sumsOf(row),
    body: row["body"] as Buffer,
    mac: row["mac"] as Buffer,
  };
}

/** Reads the count and sum of a row of `pw_head`, `pw_log` or `pw_fold`. */
export function sumsOf(row: SqlRow): Pick<StoreEnd, "count" | "tagSum"> {
  return { count: Number(row["count"]), tagSum: BigInt(`0x${String(row["tag_sum"])}`) };
}

/** Writes the sum as the tables have it. */
export function sumText(tagSum: bigint): string {
  return tagSum.toString(16);
}
