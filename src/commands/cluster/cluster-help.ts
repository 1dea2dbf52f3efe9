/** What `proofwright cluster --help` says. */
export const CLUSTER_HELP = `Usage: proofwright cluster init [--from=DATA_DIR] [settings]
       proofwright cluster status [--json] [settings]
       proofwright cluster finalize [settings]
       proofwright cluster leave [settings]

A cluster is several servers over one PostgreSQL. --database-url (PROOFWRIGHT_DATABASE_URL) says where that is, --cluster-key-file
(PROOFWRIGHT_CLUSTER_KEY_FILE) which file has the key that every node needs and the database never sees.

\`init\` makes the cluster in an empty database, and the key's file unless it is there. With --from it begins with the store, the files and the
keys of that stopped server's data folder, which stays as it is; its seal key, if development mode made it, is refused. Afterwards each node
starts as \`proofwright server\` with an empty data folder of its own.
\`status\` lists the nodes: their versions, duties, how far behind each is, and when it gave its last sign of life. Exit status 1 when one is late.
\`finalize\` ends an upgrade when all nodes run the new version: from then on older ones are refused.
\`leave\` makes the stopped node's data folder of --data-dir the store of a single server, with everything that the cluster had committed when
the node stopped; the database stays as it is.
`;
