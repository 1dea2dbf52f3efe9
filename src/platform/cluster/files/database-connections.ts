/**
 * A few connections to the cluster's database for files, so that no file holds up a commit. They are made when they are
 * needed and ended when nobody has needed them for a while. Statements are tried again over a new connection, so that
 * each must have the same outcome when it is run twice.
 */
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { AppError } from "../../errors.js";
import type { SqlRow } from "../log/cluster-schema.js";
import type { DatabaseAddress } from "../database-address.js";
import { connectDatabase, isRefusal } from "../database-client.js";

/** Files that are sent or read at once; each piece takes one connection for as long as it is on its way. */
const CONNECTIONS_MAX = 4;
/** A connection that nobody needs is ended after it. */
const IDLE_MS = 30_000;
/** About the length of a planned failover of a managed database. */
const GIVE_UP_MS = 10_000;
const RETRY_MS = 250;
const DISK_FULL = "53100";
/** Serialisation, deadlock, a lock or a statement that took too long: the next try may pass. */
const PASSING: ReadonlySet<unknown> = new Set(["40001", "40P01", "55P03", "57014"]);

export class DatabaseConnections {
  readonly #address: DatabaseAddress;
  readonly #giveUpMs: number;
  readonly #idle: { readonly client: pg.Client; readonly timer: NodeJS.Timeout }[] = [];
  readonly #waiting: (() => void)[] = [];
  #used = 0;
  #isClosed = false;

  /** @param options.giveUpMs how long a statement is tried while the database is away. 10 s unless given. */
  constructor(address: DatabaseAddress, { giveUpMs = GIVE_UP_MS }: { readonly giveUpMs?: number } = {}) {
    this.#address = address;
    this.#giveUpMs = giveUpMs;
  }

  /**
   * Runs a statement in a transaction of its own, again and again while the database is away.
   * @returns its rows, and how many rows it has changed or found
   * @throws store_unreachable, storage_full, storage_failed
   */
  async query(text: string, values: readonly unknown[] = []): Promise<{ rows: SqlRow[]; count: number }> {
    const giveUpAtMs = performance.now() + this.#giveUpMs;
    for (;;) {
      try {
        return await this.#queryOnce(text, values);
      } catch (error) {
        const failure = failureOf(error);
        if (failure.code !== "store_unreachable" || performance.now() > giveUpAtMs || this.#isClosed) throw failure;
        await delay(RETRY_MS);
      }
    }
  }

  /** Ends the connections; statements that run fail. */
  close(): void {
    this.#isClosed = true;
    for (const { client, timer } of this.#idle.splice(0)) {
      clearTimeout(timer);
      end(client);
    }
  }

  async #queryOnce(text: string, values: readonly unknown[]): Promise<{ rows: SqlRow[]; count: number }> {
    if (this.#used >= CONNECTIONS_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#used += 1;
    let client: pg.Client | undefined;
    try {
      client = this.#takeIdle() ?? (await connectDatabase(this.#address));
      const { rows, rowCount } = await client.query<SqlRow>(text, [...values]);
      this.#putBack(client);
      return { rows, count: rowCount ?? 0 };
    } catch (error) {
      if (client !== undefined) {
        if (isRefusal(error)) this.#putBack(client);
        else end(client);
      }
      throw error;
    } finally {
      // A connection's place goes to whoever waits for one.
      const next = this.#waiting.shift();
      if (next === undefined) this.#used -= 1;
      else next();
    }
  }

  #takeIdle(): pg.Client | undefined {
    const taken = this.#idle.pop();
    clearTimeout(taken?.timer);
    return taken?.client;
  }

  #putBack(client: pg.Client): void {
    if (this.#isClosed) {
      end(client);
      return;
    }
    const timer = setTimeout(() => {
      this.#idle.splice(this.#idle.indexOf(entry), 1);
      end(client);
    }, IDLE_MS).unref();
    const entry = { client, timer };
    this.#idle.push(entry);
  }
}

function end(client: pg.Client): void {
  client.end().catch(() => undefined);
}

function failureOf(error: unknown): AppError {
  const { code } = error as { readonly code?: unknown };
  if (!isRefusal(error) || PASSING.has(code)) {
    const why = typeof code === "string" ? ` (${code})` : "";
    return new AppError("store_unreachable", {
      message: `the cluster's database, which has its files, cannot be reached${why}; try again later`,
      retryAfterSec: 5,
      cause: error,
    });
  }
  if (code === DISK_FULL)
    return new AppError("storage_full", { message: "the disk of the cluster's database is full", cause: error });
  return new AppError("storage_failed", {
    message: `the cluster's database refused a file (SQLSTATE ${String(code)})`,
    retryAfterSec: 5,
    cause: error,
  });
}
