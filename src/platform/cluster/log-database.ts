/**
 * The cluster's log in PostgreSQL, over one connection of the writer thread: the head, rows, and the two ways of adding
 * one. Says of each failure whether the database may have done what was asked; decides nothing.
 */
import type pg from "pg";
import { assert } from "../errors.js";
import { HEAD_COLUMNS, ROW_COLUMNS, headOf, rowOf, sumText, type LogHead, type SqlRow } from "./cluster-schema.js";
import type { DatabaseAddress } from "./database-address.js";
import type { LogRow } from "./log-row.js";
import { READ_ONLY, connectDatabase } from "./database-client.js";

/** Rows that are read at a time. */
export const ROWS_PAGE = 64;

const APPEND = `WITH h AS (UPDATE pw_head SET g = $1, version = $2, count = $3, tag_sum = $4, mac = $5
    WHERE id = 1 AND g = $1::bigint - 1 AND tag_sum = $6 AND epoch = $7 RETURNING g)
  INSERT INTO pw_log (g, node, incarnation, format, first, last, count, tag_sum, body, mac)
    SELECT $1, $8, $9, $10, $11, $2, $3, $4, $12, $5 FROM h RETURNING g`;

/** The database cannot be reached, or the connection broke. What was asked last may have been done. */
export class DatabaseUnreachable extends Error {
  override readonly name = "DatabaseUnreachable";
}

/** The database refused a statement, and has not done it. */
export class DatabaseRefused extends Error {
  override readonly name = "DatabaseRefused";
  /** SQLSTATE. */
  readonly code: string;

  constructor(code: string, cause: unknown) {
    super(`the cluster's database refused a statement (SQLSTATE ${code})`, { cause });
    this.code = code;
  }
}

/** What a row continues. */
export interface Continued {
  readonly epoch: number;
  readonly tagSum: bigint;
}

export class LogDatabase {
  readonly #address: DatabaseAddress;
  #client: pg.Client | undefined;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  /** True while nothing has shown that the connection is broken. */
  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  /** Connects unless there is a connection. Throws DatabaseUnreachable. */
  async connect(): Promise<void> {
    if (this.#client !== undefined) return;
    const client = await connectDatabase(this.#address).catch((cause: unknown) => {
      const { code } = cause as { readonly code?: unknown };
      const why = typeof code === "string" ? ` (${code === READ_ONLY ? "its server is a standby" : code})` : "";
      throw new DatabaseUnreachable(`the cluster's database cannot be reached${why}`, { cause });
    });
    const drop = (): void => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on("error", drop);
    client.on("end", drop);
    this.#client = client;
  }

  /** Ends the connection without waiting for the database, which may still do what it was asked. */
  disconnect(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.end().catch(() => undefined);
  }

  /** Returns the end of the log, or undefined where no cluster was made. */
  async head(): Promise<LogHead | undefined> {
    const [row] = await this.#query(`SELECT ${HEAD_COLUMNS} FROM pw_head WHERE id = 1`);
    return row === undefined ? undefined : headOf(row);
  }

  /** Returns the number of the last row: what a strict read waits for. */
  async lastNumber(): Promise<number> {
    const [row] = await this.#query("SELECT g FROM pw_head WHERE id = 1");
    return Number(row?.["g"] ?? -1);
  }

  /** Returns the rows after one, in order, at most ROWS_PAGE. */
  async rowsAfter(g: number): Promise<LogRow[]> {
    const rows = await this.#query(`SELECT ${ROW_COLUMNS} FROM pw_log WHERE g > $1 ORDER BY g LIMIT ${ROWS_PAGE}`, [g]);
    return rows.map(rowOf);
  }

  /** Returns the code of a row, or undefined where the log does not have it, or not any more. */
  async macOf(g: number): Promise<Buffer | undefined> {
    const [row] = await this.#query("SELECT mac FROM pw_log WHERE g = $1", [g]);
    return row?.["mac"] as Buffer | undefined;
  }

  /**
   * Adds a row in a transaction of its own.
   * @returns whether it was added; otherwise the head has moved
   * @throws DatabaseRefused when it was not added, DatabaseUnreachable when it may have been
   */
  async append(row: LogRow, continued: Continued): Promise<boolean> {
    return (await this.#query(APPEND, parametersOf(row, continued))).length === 1;
  }

  /** Begins a transaction, waits for the head and holds it. `commit` or `rollback` must follow at once. */
  async lockHead(): Promise<LogHead> {
    await this.#query("BEGIN");
    try {
      const [row] = await this.#query(`SELECT ${HEAD_COLUMNS} FROM pw_head WHERE id = 1 FOR UPDATE`);
      assert(row !== undefined, "a cluster has a head");
      return headOf(row);
    } catch (error) {
      // Whoever holds the head may hang: after the lock's time the transaction has failed, and has to be ended.
      await this.rollback().catch(() => undefined);
      throw error;
    }
  }

  /** Adds a row while the head is held, and ends the transaction. Returns and throws as `append`. */
  async appendAndCommit(row: LogRow, continued: Continued): Promise<boolean> {
    const added = await this.append(row, continued);
    await this.#query(added ? "COMMIT" : "ROLLBACK");
    return added;
  }

  /** Lets the head go. */
  async rollback(): Promise<void> {
    if (this.isConnected) await this.#query("ROLLBACK");
  }

  async #query(text: string, values: unknown[] = []): Promise<SqlRow[]> {
    const client = this.#client;
    if (client === undefined) throw new DatabaseUnreachable("the connection to the cluster's database broke");
    try {
      return (await client.query<SqlRow>(text, values)).rows;
    } catch (error) {
      const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown };
      // With ERROR the statement was rolled back and the connection stands; all else ends the connection.
      if (severity === "ERROR" && typeof code === "string" && code !== READ_ONLY && this.#client === client)
        throw new DatabaseRefused(code, error);
      this.disconnect();
      throw new DatabaseUnreachable("the connection to the cluster's database broke", { cause: error });
    }
  }
}

function parametersOf(row: LogRow, { epoch, tagSum }: Continued): unknown[] {
  return [
    ...[row.g, row.version, row.count, sumText(row.tagSum), row.mac, sumText(tagSum), epoch],
    ...[row.node, row.incarnation, row.format, row.first, row.body],
  ];
}
