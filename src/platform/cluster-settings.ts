/** The settings that make a server a node of a cluster. */
import Type from "typebox";
import { setting } from "./setting-spec.js";

export const CLUSTER_SETTINGS = {
  database_url: setting({
    env: "PROOFWRIGHT_DATABASE_URL",
    flag: "database-url",
    schema: Type.String({ minLength: 1, maxLength: 2000 }),
    secret: true,
    description:
      "`postgres://user:password@host:port/database` of the cluster that this server is a node of (PostgreSQL 15 or later); `?host=/folder` names a Unix socket instead, `?sslrootcert=file` the certificates that the database's is checked with; beyond this machine the connection is TLS with a checked certificate",
  }),
  database_replicated: setting({
    env: "PROOFWRIGHT_DATABASE_REPLICATED",
    flag: "database-replicated",
    schema: Type.Boolean(),
    default: false,
    description:
      "says that the database's service keeps what it acknowledges over a failover by itself, as managed ones do: no warning then when `synchronous_standby_names` is empty",
  }),
  cluster_key_file: setting({
    env: "PROOFWRIGHT_CLUSTER_KEY_FILE",
    flag: "cluster-key-file",
    schema: Type.String({ minLength: 1, maxLength: 4096 }),
    description: "file with the cluster's key, which every node needs and the database never sees",
  }),
  artifacts_url: setting({
    env: "PROOFWRIGHT_ARTIFACTS_URL",
    flag: "artifacts-url",
    schema: Type.String({ minLength: 1, maxLength: 2000 }),
    description:
      "where the nodes of a cluster have their large files, the same on all: `s3://bucket/prefix?region=...`, and `&endpoint=https://...` for another S3-compatible storage; credentials come from the environment as AWS's SDK finds them, and need s3:GetObject, PutObject, DeleteObject, AbortMultipartUpload, ListBucket and ListBucketMultipartUploads; default: the cluster's database",
  }),
  node_name: setting({
    env: "PROOFWRIGHT_NODE_NAME",
    flag: "node-name",
    schema: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$" }),
    description: "name of this node for operators; default: the name of the machine",
  }),
  labels: setting({
    env: "PROOFWRIGHT_LABELS",
    flag: "labels",
    schema: Type.String({ pattern: "^(none|(prove|compile)(,(prove|compile))*)$" }),
    default: "prove,compile",
    description:
      "which waiting work this node of a cluster takes: `prove` (proofs as jobs), `compile` (circuits, their keys and checks), comma separated, or `none`; requests it serves in any case",
  }),
  reads: setting({
    env: "PROOFWRIGHT_READS",
    flag: "reads",
    schema: Type.Union([Type.Literal("strict"), Type.Literal("local")]),
    default: "strict",
    description:
      "`strict`: a node asks the database before it serves a request, so that what any node has answered holds on every node; `local`: it serves what it has, which is a fraction of a second old and never more than five seconds",
  }),
};
