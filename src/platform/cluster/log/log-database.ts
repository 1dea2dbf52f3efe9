/**
 * The cluster's log in PostgreSQL, over one connection of the writer thread: the head, rows, and the two ways of adding
 * one. Says of each failure whether the database may have done what was asked; decides nothing.
 */
import type pg from "pg";
import { assert } from "../../errors.js";
import { HEAD_COLUMNS, ROW_COLUMNS, headOf, rowOf, sumText, type LogHead, type SqlRow } from "./cluster-schema.js";
import type { DatabaseAddress } from "../database-address.js";
import { PAGE_AFTER, pageOf, type LogPage } from "./log-pages.js";
import type { LogRow } from "./log-row.js";
import { connectDatabase, isRefusal, whyUnreachable } from "../database-client.js";

/** Rows that come with the head: those that others may write between a look at the log and the hold of its head. */
const ROWS_WITH_HEAD = 2;

const APPEND = `WITH h AS (UPDATE pw_head SET g = $1, version = $2, count = $3, tag_sum = $4, mac = $5
    WHERE id = 1 AND g = $1::bigint - 1 AND tag_sum = $6 AND epoch = $7 RETURNING g)
  INSERT INTO pw_log (g, node, incarnation, format, first, last, count, tag_sum, body, mac)
    SELECT $1, $8, $9, $10, $11, $2, $3, $4, $12, $5 FROM h RETURNING g`;
const LAST_NUMBER = "SELECT g FROM pw_head WHERE id = 1";
const LOCK_HEAD = `SELECT ${HEAD_COLUMNS} FROM pw_head WHERE id = 1 FOR UPDATE`;
/** It has an upper end for the reason that `PAGE_AFTER` has one. */
const ROWS_AT_HEAD = `SELECT ${ROW_COLUMNS} FROM pw_log
  WHERE g > GREATEST($1::bigint, (SELECT g FROM pw_head WHERE id = 1) - ${ROWS_WITH_HEAD})
    AND g <= (SELECT g FROM pw_head WHERE id = 1) ORDER BY g`;

/** SQLSTATE of a prepared statement that is not there or there already: a pooler gave the session to somebody else. */
const NO_STATEMENT: ReadonlySet<string> = new Set(["26000", "42P05"]);

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

/** Returns what a failure of pg within a connection means. */
export function databaseFailure(error: unknown): DatabaseRefused | DatabaseUnreachable {
  return isRefusal(error) ? new DatabaseRefused(error.code, error) : broke(error);
}

function broke(cause?: unknown): DatabaseUnreachable {
  return new DatabaseUnreachable("the connection to the cluster's database broke", { cause });
}

/** What a row continues. */
export interface Continued {
  readonly epoch: number;
  readonly tagSum: bigint;
}

/** The end of the log, held, and its last rows. */
export interface HeldHead {
  readonly head: LogHead;
  readonly rows: readonly LogRow[];
}

export class LogDatabase {
  readonly #address: DatabaseAddress;
  #client: pg.Client | undefined;
  #connecting: Promise<pg.Client> | undefined;
  /** Planning takes as long as a small commit, so that statements keep their names; some poolers cannot have that. */
  #areNamed = true;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  /** True while nothing has shown that the connection is broken. */
  get isConnected(): boolean {
    return this.#client !== undefined;
  }

  /**
   * Connects unless there is a connection, once for all who ask meanwhile: one that nobody knows could not be ended,
   * and would keep the thread alive. Throws DatabaseUnreachable.
   */
  async connect(): Promise<void> {
    if (this.#client !== undefined) return;
    const connecting = (this.#connecting ??= this.#open());
    const isWanted = (): boolean => this.#connecting === connecting;
    try {
      const client = await connecting;
      // Another of those who asked was first.
      if (this.isConnected) return;
      if (!isWanted()) throw new DatabaseUnreachable("the connection to the cluster's database was ended");
      this.#client = client;
    } finally {
      if (isWanted()) this.#connecting = undefined;
    }
  }

  /** Ends the connection without waiting for the database, which may still do what it was asked. */
  disconnect(): void {
    const [client, connecting] = [this.#client, this.#connecting];
    this.#client = undefined;
    this.#connecting = undefined;
    client?.end().catch(() => undefined);
    connecting?.then(async (late) => await late.end()).catch(() => undefined);
  }

  /** Returns the end of the log, or undefined where no cluster was made. */
  async head(): Promise<LogHead | undefined> {
    const [row] = await this.#query(`SELECT ${HEAD_COLUMNS} FROM pw_head WHERE id = 1`);
    return row === undefined ? undefined : headOf(row);
  }

  /** Returns the number of the last row: what a strict read waits for. */
  async lastNumber(): Promise<number> {
    const [row] = await this.#ask(LAST_NUMBER, [], "last_number");
    return Number(row?.["g"] ?? -1);
  }

  /** Returns the page of rows after one. */
  async pageAfter(g: number): Promise<LogPage> {
    return pageOf(await this.#ask(PAGE_AFTER, [g], "page_after"));
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
    return (await this.#ask(APPEND, parametersOf(row, continued), "append")).length === 1;
  }

  /**
   * Begins a transaction, waits for the head and holds it; all in one message. `appendAndCommit` or `rollback` must
   * follow at once.
   * @param after the last row that is known; of the rows behind it the very last are returned
   */
  async lockHead(after: number): Promise<HeldHead> {
    try {
      const [, [row], rows] = await Promise.all([
        this.#query("BEGIN"),
        this.#query(LOCK_HEAD, [], "lock_head"),
        this.#query(ROWS_AT_HEAD, [after], "rows_at_head"),
      ]);
      assert(row !== undefined, "a cluster has a head");
      return { head: headOf(row), rows: rows.map(rowOf) };
    } catch (error) {
      // Whoever holds the head may hang: after the lock's time the transaction has failed, and has to be ended.
      await this.rollback().catch(() => undefined);
      throw error;
    }
  }

  /** Adds a row while the head is held, and ends the transaction, in one message. Returns and throws as `append`. */
  async appendAndCommit(row: LogRow, continued: Continued): Promise<boolean> {
    // A row that was not added leaves nothing to commit, and one that failed makes it a rollback.
    const [added] = await Promise.all([
      this.#query(APPEND, parametersOf(row, continued), "append"),
      this.#query("COMMIT"),
    ]);
    return added.length === 1;
  }

  /** Says, while the head is held, which schema the records have, and ends the transaction. */
  async migrateAndCommit(schemaVersion: number): Promise<void> {
    await this.#query("UPDATE pw_head SET schema_version = $1 WHERE id = 1", [schemaVersion]);
    await this.#query("COMMIT");
  }

  /** Lets the head go. */
  async rollback(): Promise<void> {
    if (this.isConnected) await this.#query("ROLLBACK");
  }

  async #open(): Promise<pg.Client> {
    const client = await connectDatabase(this.#address, { isPipelined: true }).catch((cause: unknown) => {
      throw new DatabaseUnreachable(whyUnreachable(cause), { cause });
    });
    const drop = (): void => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on("error", drop);
    client.on("end", drop);
    return client;
  }

  /** Runs a statement, again without its name where a pooler has none of that name; not at the end of a transaction. */
  async #ask(text: string, values: unknown[], name: string): Promise<SqlRow[]> {
    try {
      return await this.#query(text, values, name);
    } catch (error) {
      if (!(error instanceof DatabaseRefused) || !NO_STATEMENT.has(error.code)) throw error;
      // Within a transaction, which has failed, the first refusal is what counts.
      return await this.#query(text, values).catch((second: unknown) => {
        throw second instanceof DatabaseRefused ? error : second;
      });
    }
  }

  /** @param name of a statement that is asked again and again */
  async #query(text: string, values: unknown[] = [], name?: string): Promise<SqlRow[]> {
    const client = this.#client;
    if (client === undefined) throw broke();
    try {
      const named = name === undefined || !this.#areNamed ? {} : { name: `pw_${name}` };
      return (await client.query<SqlRow>({ ...named, text, values })).rows;
    } catch (error) {
      const failure = databaseFailure(error);
      const isRefused = failure instanceof DatabaseRefused;
      if (isRefused && NO_STATEMENT.has(failure.code)) this.#areNamed = false;
      // With a refusal the statement was rolled back and the connection stands; all else ends the connection.
      if (isRefused && this.#client === client) throw failure;
      this.disconnect();
      throw isRefused ? broke(error) : failure;
    }
  }
}

function parametersOf(row: LogRow, { epoch, tagSum }: Continued): unknown[] {
  return [
    ...[row.g, row.version, row.count, sumText(row.tagSum), row.mac, sumText(tagSum), epoch],
    ...[row.node, row.incarnation, row.format, row.first, row.body],
  ];
}
