/** The cluster's key: 32 bytes as 64 hex digits in a file of the operator's, which no database ever sees. */
import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { createPrivateFile, readPrivateFile } from "../files/private-file.js";
import { StartError } from "../start-error.js";
import { CLUSTER_KEY_BYTES } from "./log/log-row.js";

const HEX = /^[0-9a-f]{64}$/i;

/** Reads the key. @throws StartError when there is no file, or it holds something else, or others can read it */
export async function readClusterKey(file: string | undefined): Promise<Buffer> {
  if (file === undefined)
    throw new StartError(
      "PROOFWRIGHT_DATABASE_URL needs PROOFWRIGHT_CLUSTER_KEY_FILE, the file with the cluster's key.",
    );
  const path = resolve(file);
  const text = (await readPrivateFile(path))?.toString("utf8").trim();
  if (text === undefined)
    throw new StartError(
      `there is no file ${path}; \`proofwright cluster init\` makes it, and every node needs a copy.`,
    );
  if (!HEX.test(text)) throw new StartError(`${path} does not hold a cluster key of 64 hex digits.`);
  return Buffer.from(text, "hex");
}

/** Makes the key's file, of mode 0600, unless it is there, and returns the key. */
export async function openClusterKey(file: string): Promise<Buffer> {
  await createPrivateFile(resolve(file), Buffer.from(`${randomBytes(CLUSTER_KEY_BYTES).toString("hex")}\n`));
  return await readClusterKey(file);
}
