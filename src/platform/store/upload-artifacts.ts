/** Brings the artifacts of a data folder into the storage that the nodes of a cluster share. */
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../errors.js";
import type { SharedFiles } from "./shared-files.js";

/** What is done of an upload, and what there is to do. */
export interface UploadProgress {
  readonly files: number;
  readonly bytes: number;
  readonly filesTotal: number;
  readonly bytesTotal: number;
}

const SHA256_HEX = /^[0-9a-f]{64}$/;

/**
 * Uploads all artifacts of a folder, which stays as it is and which nobody writes to. May be run again after a failure:
 * what is there is not sent again.
 * @param folder the data folder's `artifacts`; one that is missing has none
 * @param onProgress called at the start and after each file
 * @throws artifact_corrupt with the file's name when its content is not what that says, store_unreachable,
 *   storage_full, storage_failed
 */
export async function uploadArtifacts(
  folder: string,
  shared: Pick<SharedFiles, "put">,
  onProgress: (progress: UploadProgress) => void,
): Promise<UploadProgress> {
  const found = await filesOf(join(folder, "sha256"));
  const totals = { filesTotal: found.length, bytesTotal: found.reduce((sum, { bytes }) => sum + bytes, 0) };
  let progress = { files: 0, bytes: 0, ...totals };
  onProgress(progress);
  for (const file of found) {
    try {
      await shared.put(file);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "artifact_corrupt") throw error;
      const message = `the artifact ${file.sha256} does not have the content that its name says; restore a backup`;
      throw new AppError("artifact_corrupt", { message, cause: error });
    }
    progress = { ...totals, files: progress.files + 1, bytes: progress.bytes + file.bytes };
    onProgress(progress);
  }
  return progress;
}

async function filesOf(root: string): Promise<{ sha256: string; bytes: number; path: string }[]> {
  if (!existsSync(root)) return [];
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && SHA256_HEX.test(entry.name));
  return await Promise.all(
    files.map(async ({ name, parentPath }) => {
      const path = join(parentPath, name);
      return { sha256: name, bytes: (await stat(path)).size, path };
    }),
  );
}
