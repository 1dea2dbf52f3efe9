/**
 * The OpenAPI document that the server answers. To make it takes a third of a second, in which nobody else is served.
 * So the build does it for the programs that it joins; all others make it with the first request.
 */
import { fileURLToPath } from "node:url";
import { ROUTE_LIST } from "../api.js";
import { apiSchemas } from "../api-schemas.js";
import { openApiDocument } from "../platform/contract/openapi.js";
import { StaticBytes } from "../platform/contract/static-bytes.js";
import { readStaticFile } from "../platform/files/static-file.js";
import { serverVersion } from "../platform/service/server-version.js";

/** The file, as seen from the folder of any joined program; its name has the hash of its content. */
declare const PREPARED_DOCUMENT: string | undefined;

export const SERVICE_NAME = "Proofwright";

/** Returns the document of all routes as JSON: what the build has prepared, or else made now. */
export function apiDocument(): StaticBytes {
  return preparedDocument() ?? new StaticBytes(makeApiDocument());
}

/** Makes the document of all routes, as JSON without spaces; also run by the build. */
export function makeApiDocument(): string {
  return JSON.stringify(apiDescription());
}

/** Returns the document of all routes as a value. */
export function apiDescription(): object {
  return openApiDocument({ title: SERVICE_NAME, version: serverVersion(), schemas: apiSchemas }, ROUTE_LIST);
}

function preparedDocument(): StaticBytes | undefined {
  if (typeof PREPARED_DOCUMENT !== "string") return undefined;
  try {
    return readStaticFile(fileURLToPath(new URL(PREPARED_DOCUMENT, import.meta.url)));
  } catch {
    // Removed by a later build.
    return undefined;
  }
}
