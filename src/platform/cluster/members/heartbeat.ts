/**
 * The sign of life of a node: one statement every two seconds, beside the log, on a connection of its own. Its answer
 * says who else gave one, how late it is by the database's clock, and so how wrong this machine's clock is.
 */
import type pg from "pg";
import type { NodeRole } from "../../nodes/nodes.js";
import type { SqlRow } from "../log/cluster-schema.js";
import type { DatabaseAddress } from "../database-address.js";
import type { ClockSample, CommonClock } from "./common-clock.js";
import { connectDatabase } from "../database-client.js";

/** What a node says of itself. */
export interface NodeSigns {
  readonly incarnation: string;
  readonly node: string;
  readonly name: string;
  readonly role: NodeRole;
  readonly build: string;
  /** What only this node does, by name. */
  readonly duties: readonly string[];
  /** State of its vault, such as `unsealed`; empty while the vault is not open. */
  readonly seal: string;
  /** Its place in the log. */
  readonly g: number;
}

/** What a node said with its last sign. */
export interface NodeSign extends NodeSigns {
  /** When it gave the sign, as text, which changes with each. */
  readonly sign: string;
  /** How long ago that was, in seconds. */
  readonly silentSec: number;
}

export interface Beat {
  /** The last sign of each process, by its incarnation; of this one, the sign before. */
  readonly signs: ReadonlyMap<string, NodeSign>;
  readonly clock: ClockSample;
}

/** A sign that takes longer was not given. */
const ANSWER_MS_MAX = 5_000;
/** Gives the sign, and answers a row for each process that gave one before, or one without a process. */
const BEAT = `WITH own AS (INSERT INTO pw_node (incarnation, node, name, role, build, duties, seal, applied_g)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      ON CONFLICT (incarnation) DO UPDATE SET duties = $6, seal = $7, applied_g = $8, seen_at = clock_timestamp())
  SELECT extract(epoch FROM clock.now) * 1000 AS now, pw_node.*, seen_at::text AS sign,
      extract(epoch FROM clock.now - seen_at) AS silent
    FROM (SELECT clock_timestamp() AS now) clock LEFT JOIN pw_node ON true`;
/** Signs of processes that were killed are kept for `proofwright cluster status`, an hour at least. */
export const LONG_PAST = "seen_at < clock_timestamp() - interval '1 hour'";

export class Heartbeat {
  readonly #address: DatabaseAddress;
  readonly #clock: Pick<CommonClock, "machineMs">;
  #client: pg.Client | undefined;

  constructor(address: DatabaseAddress, { clock }: { readonly clock: Pick<CommonClock, "machineMs"> }) {
    this.#address = address;
    this.#clock = clock;
  }

  /** Gives a sign of life. @throws what pg throws; the next call connects anew */
  async beat(signs: NodeSigns): Promise<Beat> {
    const client = this.#client ?? (await this.#connect());
    const { incarnation, node, name, role, build, duties, seal, g } = signs;
    try {
      const sentMs = this.#clock.machineMs();
      const { rows } = await client.query<SqlRow>(BEAT, [
        ...[incarnation, node, name, role, build],
        ...[duties.join(" "), seal, g],
      ]);
      const answeredMs = this.#clock.machineMs();
      const given = rows.filter((row) => row["incarnation"] !== null).map(signOf);
      return {
        signs: new Map(given.map((sign) => [sign.incarnation, sign])),
        clock: {
          aheadMs: Number(rows[0]?.["now"]) - (sentMs + answeredMs) / 2,
          roundTripMs: Math.max(0, answeredMs - sentMs),
        },
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

  /** Takes back what earlier processes of this node said, and what is long past. Never rejects. */
  async forgetEnded({ node, incarnation }: Pick<NodeSigns, "node" | "incarnation">): Promise<void> {
    await this.#client
      ?.query(`DELETE FROM pw_node WHERE (node = $1 AND incarnation <> $2) OR ${LONG_PAST}`, [node, incarnation])
      .catch(() => undefined);
  }

  /** Takes back what was said, as the process ends, and what is long past. Never rejects. */
  async leave(incarnation: string): Promise<void> {
    const client = this.#client;
    await client
      ?.query(`DELETE FROM pw_node WHERE incarnation = $1 OR ${LONG_PAST}`, [incarnation])
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

function signOf(row: SqlRow): NodeSign {
  return {
    incarnation: String(row["incarnation"]),
    node: String(row["node"]),
    name: String(row["name"]),
    role: row["role"] === "worker" ? "worker" : "server",
    build: String(row["build"]),
    duties: String(row["duties"]).split(" ").filter(Boolean),
    seal: String(row["seal"]),
    g: Number(row["applied_g"]),
    sign: String(row["sign"]),
    silentSec: Math.max(0, Number(row["silent"])),
  };
}
