/** `proofwright openapi`: prints the document of /openapi.json without a server. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROUTE_LIST } from "../api.js";
import { apiSchemas } from "../api-schemas.js";
import { openApiDocument } from "../platform/contract/openapi.js";
import { PACKAGE_ROOT } from "../platform/files/package-root.js";

/** Lists and objects that fit are written on one line, which makes the document a tenth as long. */
const COLUMNS = 120;

/** Returns the text of src/openapi.json: the document of all routes. */
export function openApiText(): string {
  const { version } = JSON.parse(readFileSync(join(PACKAGE_ROOT, "package.json"), "utf8")) as { version: string };
  return `${formatJson(openApiDocument({ title: "Proofwright", version, schemas: apiSchemas }, ROUTE_LIST))}\n`;
}

/** Prints the document on standard output. Returns the exit code. */
export function printOpenApi(): number {
  process.stdout.write(openApiText());
  return 0;
}

/** @param prefix name of the member, such as `"paths": `, which stands before the value on its line */
function formatJson(value: unknown, indent = "", prefix = ""): string {
  const line = `${indent}${prefix}${JSON.stringify(value)}`;
  if (line.length < COLUMNS || typeof value !== "object" || value === null) return line;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => formatJson(member, `${indent} `, Array.isArray(value) ? "" : `${JSON.stringify(name)}: `));
  return `${indent}${prefix}${open}\n${members.join(",\n")}\n${indent}${close}`;
}
