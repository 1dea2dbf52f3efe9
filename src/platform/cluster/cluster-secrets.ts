/**
 * The secrets that all nodes share, as records of the store that the database's keepers cannot read:
 *   cluster_secret / name -> base64 of nonce(12) || AES-256-GCM of the content || tag(16)
 * The key is HKDF-SHA256(cluster key, no salt, "pv/v1/cluster-secrets", 32), the associated data
 * "pv/v1/cluster-secret\0" || name, so that one secret does not pass for another.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { AppError, assert } from "../errors.js";
import type { SecretFile } from "../files/secret-file.js";
import type { Nodes } from "../nodes/nodes.js";
import { StoreConflict, type Store, type StoreKey } from "../store/store.js";
import { CLUSTER_KEY_BYTES } from "./log/log-row.js";

/** Name of the key that links the audit log, without which no node can write. */
export const AUDIT_SECRET = "audit-key";
export const CLUSTER_SECRET_TABLE = "cluster_secret";
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

export interface SealedSecret {
  readonly sealed: string;
}

/** Returns the key of a secret's record. */
export function clusterSecretKey(name: string): StoreKey {
  return [CLUSTER_SECRET_TABLE, name];
}

/** Seals a secret under the cluster's key. */
export function sealClusterSecret(clusterKey: Uint8Array, name: string, content: Uint8Array): SealedSecret {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, sealingKey(clusterKey), nonce).setAAD(associated(name));
  const sealed = Buffer.concat([nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()]);
  return { sealed: sealed.toString("base64") };
}

/** Opens a sealed secret. @throws data_corrupt when another key sealed it, or it was changed */
export function openClusterSecret(clusterKey: Uint8Array, name: string, { sealed }: SealedSecret): Buffer {
  const bytes = Buffer.from(sealed, "base64");
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, sealingKey(clusterKey), nonce, { authTagLength: TAG_BYTES })
      .setAAD(associated(name))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch (cause) {
    throw new AppError("data_corrupt", {
      message: `the secret ${JSON.stringify(name)} of the cluster does not open: the cluster key is another one, or the record was changed`,
      cause,
    });
  }
}

/** Returns a secret of the cluster. */
export function clusterSecret(name: string, { store, clusterKey }: ClusterSecretParts): SecretFile {
  const key = clusterSecretKey(name);
  const put = (content: Uint8Array): { key: StoreKey; value: { sealed: string } } => ({
    key,
    value: { ...sealClusterSecret(clusterKey, name, content) },
  });
  return {
    where: `the secret ${JSON.stringify(name)} of the cluster`,
    read: () => {
      const found = store.get<SealedSecret>(key);
      return Promise.resolve(found === undefined ? undefined : openClusterSecret(clusterKey, name, found.value));
    },
    create: async (content) => {
      try {
        await store.commit({ checks: [{ key, version: "absent" }], puts: [put(content)] });
        return true;
      } catch (error) {
        if (error instanceof StoreConflict) return false;
        throw error;
      }
    },
    replace: (content) => store.commit({ puts: [put(content)] }),
    version: () => Promise.resolve(store.get(key)?.version),
    onChange: (listener) =>
      store.onChange(CLUSTER_SECRET_TABLE, (keys) =>
        keys.some((changed) => changed[1] === name) ? listener() : undefined,
      ),
  };
}

export interface ClusterSecretParts {
  readonly store: Store & Pick<Nodes, "onChange">;
  readonly clusterKey: Uint8Array;
}

function sealingKey(clusterKey: Uint8Array): Buffer {
  assert(clusterKey.length === CLUSTER_KEY_BYTES, "a cluster key has 32 bytes");
  return Buffer.from(hkdfSync("sha256", clusterKey, new Uint8Array(0), "pv/v1/cluster-secrets", KEY_BYTES));
}

function associated(name: string): Buffer {
  return Buffer.from(`pv/v1/cluster-secret\0${name}`);
}
