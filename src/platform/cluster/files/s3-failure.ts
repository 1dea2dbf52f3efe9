/**
 * What a failure of an S3-compatible storage means. Messages of its SDK are not repeated, because they may quote
 * requests.
 */
import { AppError } from "../../errors.js";

const DENIED: ReadonlySet<unknown> = new Set([401, 403]);
const FULL = 507;
const NAME = /^[A-Za-z]{1,60}$/;

/** Whether the storage says that there is no such object. That there is no bucket is another matter. */
export function isMissing(error: unknown): boolean {
  const { name } = error as { readonly name?: unknown };
  return name === "NoSuchKey" || name === "NotFound" || name === "NoSuchUpload";
}

/** Returns `storage_full`, `storage_failed` where another try would end the same way, else `store_unreachable`. */
export function s3Failure(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { name, $metadata } = error as {
    readonly name?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  const what = typeof name === "string" && NAME.test(name) && name !== "Error" ? ` (${name})` : "";
  if (status === FULL)
    return new AppError("storage_full", { message: "the cluster's storage of files is full", cause: error });
  if (name === "CredentialsProviderError")
    return failed("no credentials of the cluster's storage of files were found in the environment", error);
  if (DENIED.has(status)) return failed(`the cluster's storage of files refuses access${what}`, error);
  if (status !== undefined && status >= 300 && status < 500 && status !== 408 && status !== 429)
    return failed(`the cluster's storage of files refused a request with status ${String(status)}${what}`, error);
  return new AppError("store_unreachable", {
    message: `the cluster's storage of files cannot be reached${what}; try again later`,
    retryAfterSec: 5,
    cause: error,
  });
}

function failed(message: string, cause: unknown): AppError {
  return new AppError("storage_failed", { message, retryAfterSec: 5, cause });
}
