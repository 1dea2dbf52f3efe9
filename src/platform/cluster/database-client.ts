/** Connections to the cluster's PostgreSQL, with the limits that keep a hung node from holding the others up. */
import pg from "pg";
import type { DatabaseAddress } from "./database-address.js";

const CONNECT_MS_MAX = 5_000;
const KEEP_ALIVE_MS = 5_000;
/** Longer than any statement may take in the database: then the connection is dead. */
const ANSWER_MS_MAX = 35_000;

/**
 * A node that hangs with the head in hand is ended after 5 s. A commit is on disk when it is answered, whatever the
 * role's default says; stricter settings of the operator, which wait for standbys, stay.
 */
const SESSION = `SELECT set_config('statement_timeout', '30s', false), set_config('lock_timeout', '5s', false),
  set_config('idle_in_transaction_session_timeout', '5s', false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('synchronous_commit',
    CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
      ELSE current_setting('synchronous_commit') END, false),
  pg_is_in_recovery() AS is_standby`;

/** SQLSTATE of a server that takes no writes. */
export const READ_ONLY = "25006";

interface ConnectOptions {
  readonly answerMsMax?: number;
  readonly isPipelined?: boolean;
}

/**
 * Opens a connection to a server that takes writes: a standby may lack what the primary has acknowledged, so that
 * nothing is read from it. Rejects with what pg says, or with READ_ONLY; its messages never contain the password.
 * @param options.answerMsMax a statement that is not answered within it has failed, and the connection with it
 * @param options.isPipelined whether statements are sent without waiting for the answers of those before
 */
export async function connectDatabase(
  address: DatabaseAddress,
  { answerMsMax = ANSWER_MS_MAX, isPipelined = false }: ConnectOptions = {},
): Promise<pg.Client> {
  const client = new pg.Client({
    ...address,
    application_name: "proofwright",
    pipeline: isPipelined,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    query_timeout: answerMsMax,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
  // pg reports a lost connection by an event as well as by the rejected promise; nobody listening ends the process.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ readonly is_standby: boolean }>(SESSION);
    if (rows[0]?.is_standby !== false) throw Object.assign(new Error("the server is a standby"), { code: READ_ONLY });
    return client;
  } catch (error) {
    void client.end().catch(() => undefined);
    throw error;
  }
}
