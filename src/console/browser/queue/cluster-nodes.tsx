/** The nodes of a cluster, as the server that is asked knows them. */
import { Panel, Table } from "../parts/ui.js";

export interface Cluster {
  readonly position: number;
  readonly nodes: readonly {
    readonly name: string;
    readonly node: string;
    readonly role: string;
    readonly version: string;
    readonly position: number;
    readonly seal: string;
    readonly duties: readonly string[];
    readonly silent_seconds: number;
  }[];
}

/** A table of them, the node that answers first. */
export function ClusterNodes({ position, nodes }: Cluster) {
  return (
    <Panel title="Nodes">
      <Table
        label="Nodes"
        rows={nodes}
        keyOf={({ node }) => node}
        columns={[
          { title: "Node", cell: ({ name }) => <code>{name}</code> },
          { title: "Role", cell: ({ role }) => role },
          { title: "Version", cell: ({ version }) => version },
          { title: "Vault", cell: ({ seal }) => seal || "starting" },
          { title: "Behind", isNumber: true, cell: (node) => Math.max(0, position - node.position) },
          { title: "Last sign", isNumber: true, cell: ({ silent_seconds: silent }) => `${silent.toFixed(1)} s` },
          { title: "Duties", cell: ({ duties }) => duties.join(", ") || "–" },
        ]}
      />
    </Panel>
  );
}
