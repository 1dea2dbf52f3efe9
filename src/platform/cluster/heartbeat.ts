/**
 * The sign of life of a node: one statement every two seconds, beside the log, on a connection of its own. Its answer
 * says who else gave one, how late it is by the database's clock, and so how wrong this machine's clock is.
 */
import type pg from "pg";
import type { SqlRow } from "./cluster-schema.js";
import type { DatabaseAddress } from "./database-address.js";
import { connectDatabase } from "./database-client.js";

/** What a node says of itself. */
export interface NodeSigns {
  readonly incarnation: string;
  readonly node: string;
  readonly name: string;
  readonly build: string;
  /** What only this node does, by name. */
  readonly duties: readonly string[];
  /** Its place in the log. */
  readonly g: number;
}

export interface Beat {
  /** When each process gave its last sign, as text, by its incarnation: it changes with each sign. */
  readonly signs: ReadonlyMap<string, string>;
  /** How far the database's clock is ahead of this machine's, in milliseconds, as far as the way there tells. */
  readonly clockAheadMs: number;
}

/** A sign that takes longer was not given. */
const ANSWER_MS_MAX = 5_000;
/** Signs of processes that ended are kept for as long, for `proofwright cluster status`. */
const KEPT_HOURS = 1;

export class Heartbeat {
  readonly #address: DatabaseAddress;
  #client: pg.Client | undefined;

  constructor(address: DatabaseAddress) {
    this.#address = address;
  }

  /** Gives a sign of life. @throws what pg throws; the next call connects anew */
  async beat({ incarnation, node, name, build, duties, g }: NodeSigns): Promise<Beat> {
    const client = this.#client ?? (await this.#connect());
    try {
      const sentMs = Date.now();
      const { rows } = await client.query<SqlRow>(
        `WITH own AS (INSERT INTO pw_node (incarnation, node, name, build, duties, applied_g) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (incarnation) DO UPDATE SET duties = $5, applied_g = $6, seen_at = clock_timestamp())
          SELECT incarnation, seen_at::text AS seen, extract(epoch FROM clock_timestamp()) * 1000 AS now FROM pw_node
          UNION ALL SELECT NULL, NULL, extract(epoch FROM clock_timestamp()) * 1000`,
        [incarnation, node, name, build, duties.join(" "), g],
      );
      const hereMs = (sentMs + Date.now()) / 2;
      const others = rows.filter((row) => row["incarnation"] !== null);
      return {
        signs: new Map(others.map((row) => [String(row["incarnation"]), String(row["seen"])])),
        clockAheadMs: Number(rows.at(-1)?.["now"]) - hereMs,
      };
    } catch (error) {
      this.disconnect(client);
      throw error;
    }
  }

  async #connect(): Promise<pg.Client> {
    const client = await connectDatabase(this.#address, { answerMsMax: ANSWER_MS_MAX });
    client.on("error", () => {
      this.disconnect(client);
    });
    this.#client = client;
    return client;
  }

  /** Takes back what was said, as the process ends. Never rejects. */
  async leave(incarnation: string): Promise<void> {
    const client = this.#client;
    await client
      ?.query(
        `DELETE FROM pw_node WHERE incarnation = $1 OR seen_at < clock_timestamp() - make_interval(hours => $2)`,
        [incarnation, KEPT_HOURS],
      )
      .catch(() => undefined);
    if (client !== undefined) this.disconnect(client);
  }

  /** Ends the connection without waiting for the database. */
  disconnect(client = this.#client): void {
    if (client === undefined) return;
    if (this.#client === client) this.#client = undefined;
    client.end().catch(() => undefined);
  }
}
