/** `proofwright cluster status`: the nodes, how far behind each is, and what each does alone. */
import type { Config } from "../../platform/config.js";
import { HEAD_COLUMNS, headOf, type SqlRow } from "../../platform/cluster/log/cluster-schema.js";
import { LONG_PAST } from "../../platform/cluster/members/heartbeat.js";
import { StartError } from "../../platform/start-error.js";
import { withDatabase } from "./cluster-database.js";

interface NodeStatus {
  readonly name: string;
  readonly node: string;
  readonly role: string;
  readonly build: string;
  readonly duties: readonly string[];
  /** State of its vault, such as `unsealed`. */
  readonly seal: string;
  /** Commits of the cluster that the node had not applied at its last sign of life. */
  readonly behind: number;
  /** How long ago it gave that sign. */
  readonly seconds_silent: number;
}

interface ClusterStatus {
  readonly cluster: string;
  readonly position: number;
  readonly folded: number;
  readonly format: number;
  readonly schema_version: number;
  readonly records: number;
  readonly nodes: readonly NodeStatus[];
}

/** A node gives a sign every two seconds; the others give it up after fifteen. */
const LATE_SECONDS = 6;

/**
 * Prints the state of the cluster; a node that was killed is part of it for an hour. Returns exit status 1 when a node
 * is late, 0 otherwise.
 */
export async function runClusterStatus(config: Config, { isJson }: { readonly isJson: boolean }): Promise<number> {
  const status = await withDatabase(config, async (client) => {
    const heads = await client.query<SqlRow>(`SELECT ${HEAD_COLUMNS} FROM pw_head WHERE id = 1`);
    const folds = await client.query<SqlRow>("SELECT g FROM pw_fold WHERE id = 1");
    const nodes = await client.query<SqlRow>(
      `SELECT node, name, role, build, duties, seal, applied_g, extract(epoch FROM clock_timestamp() - seen_at) AS silent
        FROM pw_node WHERE NOT (${LONG_PAST}) ORDER BY name, node`,
    );
    return statusOf({ head: heads.rows[0], folded: folds.rows[0], nodes: nodes.rows });
  });
  process.stdout.write(isJson ? `${JSON.stringify(status, undefined, 2)}\n` : table(status));
  return status.nodes.some(isLate) ? 1 : 0;
}

function statusOf(rows: {
  readonly head: SqlRow | undefined;
  readonly folded: SqlRow | undefined;
  readonly nodes: readonly SqlRow[];
}): ClusterStatus {
  if (rows.head === undefined)
    throw new StartError("the database has no cluster; `proofwright cluster init` makes one in it.");
  const head = headOf(rows.head);
  return {
    cluster: head.cluster,
    position: head.g,
    folded: Number(rows.folded?.["g"] ?? 0),
    format: head.format,
    schema_version: head.schemaVersion,
    records: head.count,
    nodes: rows.nodes.map((row) => ({
      name: String(row["name"]),
      node: String(row["node"]),
      role: String(row["role"]),
      build: String(row["build"]),
      duties: String(row["duties"]).split(" ").filter(Boolean),
      seal: String(row["seal"]),
      behind: Math.max(0, head.g - Number(row["applied_g"])),
      seconds_silent: Math.round(10 * Number(row["silent"])) / 10,
    })),
  };
}

function isLate({ seconds_silent: silent }: NodeStatus): boolean {
  return silent > LATE_SECONDS;
}

function table({ cluster, position, folded, format, schema_version: schema, records, nodes }: ClusterStatus): string {
  const head = `Cluster ${cluster}: ${String(records)} records at commit ${String(position)} (folded to ${String(folded)}), format ${String(format)}, schema ${String(schema)}\n`;
  if (nodes.length === 0) return `${head}No node has given a sign of life.\n`;
  const lines = nodes.map((node) => [
    node.name,
    node.role,
    node.build,
    isLate(node) ? `late: ${String(node.seconds_silent)} s` : `${String(node.seconds_silent)} s`,
    String(node.behind),
    node.seal || "-",
    node.duties.join(" ") || "-",
  ]);
  const rows = [["NODE", "ROLE", "VERSION", "LAST SIGN", "BEHIND", "VAULT", "DUTIES"], ...lines];
  const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return `${head}\n${rows
    .map((row) =>
      row
        .map((text, at) => text.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n")}\n`;
}
