/** The tables of large files in the cluster's database, where they are kept there. */

/**
 * Statements that make the tables; each may run again. A row with -1 bytes is being removed. A piece needs its row, so
 * that one that comes late, over a connection that was given up, is refused instead of staying for ever.
 */
export const FILE_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS pw_artifact_file (upload uuid PRIMARY KEY, sha256 bytea NOT NULL, bytes bigint NOT NULL,
    is_whole boolean NOT NULL DEFAULT false, put_by uuid, put_at timestamptz NOT NULL DEFAULT clock_timestamp())`,
  "CREATE UNIQUE INDEX IF NOT EXISTS pw_artifact_whole ON pw_artifact_file (sha256) WHERE is_whole",
  `CREATE TABLE IF NOT EXISTS pw_artifact (upload uuid NOT NULL REFERENCES pw_artifact_file, part int NOT NULL,
    bytes bytea NOT NULL, PRIMARY KEY (upload, part))`,
  // Keys are as good as random: to try to compress them takes processor time for nothing.
  "ALTER TABLE pw_artifact ALTER COLUMN bytes SET STORAGE EXTERNAL",
];
