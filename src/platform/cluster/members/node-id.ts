/** The UUID of a node, which stays with its data folder through all its processes. */
import { join } from "node:path";
import { createPrivateFile, readPrivateFile } from "../../files/private-file.js";
import { isUuid, newId } from "../../ids.js";
import { StartError } from "../../start-error.js";

export const NODE_ID_FILE = "node-id";

/** Reads the id of a data folder, and makes it at the first start. @throws StartError when the file is damaged */
export async function openNodeId(dataDir: string): Promise<string> {
  const path = join(dataDir, NODE_ID_FILE);
  await createPrivateFile(path, Buffer.from(`${newId()}\n`));
  const id = (await readPrivateFile(path))?.toString("utf8").trim() ?? "";
  if (!isUuid(id))
    throw new StartError(`${path} does not hold a UUID; delete it, and the node is taken for a new one.`);
  return id;
}
