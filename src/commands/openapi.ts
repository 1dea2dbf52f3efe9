/** `proofwright openapi`: the document of /openapi.json without a server. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROUTE_LIST } from "../api.js";
import { openApiDocument } from "../platform/contract/openapi.js";
import { PACKAGE_ROOT } from "../platform/files/package-root.js";

/** Prints the document. Returns exit status 0. */
export function printOpenApi(): number {
  const { version } = JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as { version: string };
  process.stdout.write(`${JSON.stringify(openApiDocument({ title: "Proofwright", version }, ROUTE_LIST), null, 2)}\n`);
  return 0;
}
