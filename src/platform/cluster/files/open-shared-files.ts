/** Chooses the storage of files that the nodes of a cluster share: its database, or what its setting names. */
import type { SharedFiles } from "../../store/shared-files.js";
import { databaseAddress } from "../database-address.js";
import { PostgresFiles } from "./postgres-files.js";
import { openS3Files } from "./s3-files.js";

/**
 * Opens the storage, without asking it yet.
 * @param settings.artifacts_url see PROOFWRIGHT_ARTIFACTS_URL
 * @throws StartError for a URL of another form, or when the SDK of an S3-compatible storage is not installed
 */
export async function openSharedFiles(settings: {
  readonly database_url: string;
  readonly artifacts_url?: string | undefined;
}): Promise<SharedFiles> {
  return settings.artifacts_url === undefined
    ? new PostgresFiles(databaseAddress(settings.database_url))
    : await openS3Files(settings.artifacts_url);
}
