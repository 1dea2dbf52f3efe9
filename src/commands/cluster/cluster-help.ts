/** What `proofwright worker --help` says. */
export const WORKER_HELP = `Usage: proofwright worker [settings]

A node of a cluster that takes no requests and has no duties: it makes the proofs that wait as jobs (\`prove\`), and compiles circuits and makes
and checks their keys (\`compile\`). --labels (PROOFWRIGHT_LABELS) names one of the two where it shall not do both. It needs the settings of the
cluster's other nodes, an empty data folder of its own, and a seal provider (SEAL_UNSEAL_PROVIDER), as nobody can unseal it by a request. With
--metrics-port it serves /metrics, /livez and /readyz there. SIGTERM gives back what it has begun; other nodes go on with it.
`;

/** What `proofwright cluster --help` says. */
export const CLUSTER_HELP = `Usage: proofwright cluster init [--from=DATA_DIR] [settings]
       proofwright cluster status [--json] [settings]
       proofwright cluster finalize [settings]
       proofwright cluster leave [--without-files] [settings]

A cluster is several servers over one PostgreSQL. --database-url (PROOFWRIGHT_DATABASE_URL) says where that is, --cluster-key-file
(PROOFWRIGHT_CLUSTER_KEY_FILE) which file has the key that every node needs and the database never sees.

\`init\` makes the cluster in an empty database, and the key's file unless it is there. With --from it begins with the store, the files and the
keys of that stopped server's data folder, which stays as it is; its seal key, if development mode made it, is refused. Afterwards each node
starts as \`proofwright server\` with an empty data folder of its own.
\`status\` lists the nodes: their versions, duties, how far behind each is, and when it gave its last sign of life. Exit status 1 when one is late.
One that was killed is listed for an hour, or until it starts again.
\`finalize\` ends an upgrade when all nodes run the new version: from then on older ones are refused.
Where the new version changes the records, it migrates them while all nodes are stopped.
\`leave\` makes the stopped node's data folder of --data-dir the store of a single server, with everything that the cluster had committed when
the node stopped; the database stays as it is. The files that only the cluster's storage has are fetched first, for which it needs
--database-url (and --artifacts-url); where that storage is lost, --without-files goes on without them.
`;
