/** The key that links the audit log, as the writer thread of a node finds it in the replica that it has joined with. */
import { encodeKey } from "../store/keys.js";
import { readBinary, type Environment } from "../store/lmdb/lmdb-environment.js";
import { decodeRecord } from "../store/record.js";
import { AUDIT_SECRET, clusterSecretKey, openClusterSecret, type SealedSecret } from "./cluster-secrets.js";

/**
 * Returns the key, 32 bytes; undefined when the cluster was made without one.
 * @throws data_corrupt when another cluster key sealed it
 */
export function auditKeyOf(environment: Environment, clusterKey: Uint8Array): Buffer | undefined {
  const key = encodeKey(clusterSecretKey(AUDIT_SECRET));
  const bytes = readBinary(environment, key);
  if (bytes === undefined) return undefined;
  const sealed = JSON.parse(decodeRecord(key, bytes).json.toString("utf8")) as SealedSecret;
  return openClusterSecret(clusterKey, AUDIT_SECRET, sealed);
}
