/** Chooses the storage of files that the nodes of a cluster share: its database, or what its setting names. */
import { AppError } from "../../errors.js";
import { StartError } from "../../start-error.js";
import type { SharedFiles } from "../../store/shared-files.js";
import { databaseAddress } from "../database-address.js";
import { PostgresFiles } from "./postgres-files.js";
import { openS3Files } from "./s3-files.js";

/** No content has this hash that anybody knows. */
const NO_FILE = "0".repeat(64);

/**
 * Opens the storage of a cluster that was made, and asks it for a file that it has not got and for a list, so that a
 * wrong bucket or missing rights are known at the start.
 * @param settings.artifacts_url see PROOFWRIGHT_ARTIFACTS_URL
 * @throws StartError for a URL of another form, when the SDK of an S3-compatible storage is not installed, and with the
 *   reason when the storage does not answer or refuses
 */
export async function openSharedFiles(settings: {
  readonly database_url: string;
  readonly artifacts_url?: string | undefined;
}): Promise<SharedFiles> {
  const shared =
    settings.artifacts_url === undefined
      ? new PostgresFiles(databaseAddress(settings.database_url))
      : await openS3Files(settings.artifacts_url);
  try {
    await shared.keep(NO_FILE);
    // S3 does not say of a single object whether its bucket is missing.
    await shared.old()[Symbol.asyncIterator]().next();
    return shared;
  } catch (error) {
    await shared.close();
    throw error instanceof AppError ? new StartError(`${error.message}.`, { cause: error }) : error;
  }
}
