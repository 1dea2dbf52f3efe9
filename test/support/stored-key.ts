/** A proving key in memory, as the registry hands it to what proves. */
import type { SharedBytes } from "../../src/engine/protocol.js";
import type { StoredProvingKey } from "../../src/prover/compute/compute.js";

/** Returns the key as one that lies in the artifact store. */
export function storedKey(key: SharedBytes): StoredProvingKey {
  return {
    sha256: key.sha256,
    byteLength: key.bytes.byteLength,
    read: () => Promise.resolve(key),
    shared: () => Promise.resolve(key),
  };
}
