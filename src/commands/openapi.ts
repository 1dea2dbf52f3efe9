/** `proofwright openapi`: prints the document of /openapi.json without a server. */
import { apiDescription } from "../app/api-document.js";

/** Lists and objects that fit are written on one line, which makes the document a tenth as long. */
const COLUMNS = 120;

/** Returns the text of src/openapi.json: the document of all routes. */
export function openApiText(): string {
  return `${formatJson(apiDescription())}\n`;
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
