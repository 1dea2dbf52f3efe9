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

/** SQLSTATE of a server that takes no writes: it has become a standby, and another one takes them now. */
export const READ_ONLY = "25006";

/** Returns a sentence on why there is no connection. Of what pg says its code alone, which quotes nothing. */
export function whyUnreachable(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  const why = typeof code === "string" ? ` (${MEANINGS[code] ?? code})` : "";
  return `the cluster's database cannot be reached${why}`;
}

interface ConnectOptions {
  readonly answerMsMax?: number;
  readonly isPipelined?: boolean;
}

/** What is plain to operators of some codes. */
const MEANINGS: Readonly<Record<string, string>> = {
  "28P01": "it refuses the user or the password",
  "28000": "it refuses the user",
  "3D000": "it has no database of that name",
  "53300": "it has too many connections",
  "57P03": "it is starting or stopping",
  [READ_ONLY]: "its server is a standby",
};

/** A failure with which the database has answered a statement, and not done it: the connection stands. */
export interface Refusal {
  /** SQLSTATE. */
  readonly code: string;
}

/** Whether a failure of pg is a refusal; all others end the connection. */
export function isRefusal(error: unknown): error is Refusal {
  const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown };
  return severity === "ERROR" && typeof code === "string" && code !== READ_ONLY;
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
