/**
 * A small secret of the server that outlives its process, wherever it is kept: in a file of the data folder, or in the
 * store of a cluster, sealed under the cluster's key (cluster/cluster-secrets.ts).
 */
import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { StartError } from "../start-error.js";
import { createPrivateFile, readPrivateFile, replacePrivateFile } from "./private-file.js";

export interface SecretFile {
  /** Where it is, for messages. */
  readonly where: string;
  /** Returns the content, or undefined when there is none. Throws PrivateFileError when it cannot be trusted. */
  read(): Promise<Buffer | undefined>;
  /** Stores the first content. Returns false, and changes nothing, when there is one. */
  create(content: Uint8Array): Promise<boolean>;
  /** Replaces the content: after a crash it is the old or the new one. */
  replace(content: Uint8Array): Promise<void>;
  /** Returns a number that differs after each change; undefined when there is no content. */
  version(): Promise<number | undefined>;
  /**
   * Calls the listener after another process has changed it, where that is told; reads that must see it wait for
   * what it returns, which never rejects. Returns a function that ends it.
   */
  onChange(listener: () => void | Promise<void>): () => void;
}

const SECRET_KEY_BYTES = 32;

/** Returns a secret that is a file of mode 0600. */
export function secretFile(path: string): SecretFile {
  return {
    where: path,
    read: () => readPrivateFile(path),
    create: (content) => createPrivateFile(path, content),
    replace: (content) => replacePrivateFile(path, content),
    version: () =>
      stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => undefined,
      ),
    // Who needs to know looks at `version` now and then.
    onChange: () => () => undefined,
  };
}

/**
 * Returns the 32 random bytes of a secret, which are made when there are none.
 * @throws StartError when the content has another length
 */
export async function secretKey(file: SecretFile, wayOut: string): Promise<Buffer> {
  const known = await file.read();
  if (known === undefined) await file.create(randomBytes(SECRET_KEY_BYTES));
  const key = known ?? (await file.read());
  if (key?.length === SECRET_KEY_BYTES) return key;
  throw new StartError(`${file.where} does not hold ${String(SECRET_KEY_BYTES)} bytes; ${wayOut}`);
}
