/** The cluster's database, as the commands reach it. */
import type pg from "pg";
import type { Config } from "../../platform/config.js";
import { databaseAddress } from "../../platform/cluster/database-address.js";
import { connectDatabase } from "../../platform/cluster/database-client.js";
import { StartError } from "../../platform/start-error.js";

const NO_TABLE = "42P01";

/** Returns the URL of the settings. @throws StartError when there is none */
export function requireDatabaseUrl({ database_url: url }: Pick<Config, "database_url">): string {
  if (url === undefined)
    throw new StartError("--database-url is missing, or PROOFWRIGHT_DATABASE_URL: where the cluster's PostgreSQL is.");
  return url;
}

/**
 * Runs work on a connection, which it ends.
 * @throws StartError when the database cannot be reached, or holds no cluster
 */
export async function withDatabase<R>(config: Config, work: (client: pg.Client) => Promise<R>): Promise<R> {
  const client = await connectDatabase(databaseAddress(requireDatabaseUrl(config))).catch((cause: unknown) => {
    throw new StartError(`the cluster's database cannot be reached (${reasonOf(cause)}).`, { cause });
  });
  try {
    return await work(client);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === NO_TABLE)
      throw new StartError("the database has no cluster; `proofwright cluster init` makes one in it.", {
        cause: error,
      });
    throw error;
  } finally {
    client.end().catch(() => undefined);
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return typeof code === "string" ? code : String(message);
}
