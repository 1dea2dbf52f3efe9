/**
 * The short way for JSON that most requests bring: one object of a few texts. `JSON.parse` holds it to the grammar (RFC
 * 8259); what that lets through is counted out. Whatever else comes is left to json-scan.ts, which also says what is
 * wrong with it.
 */
import { isUtf8 } from "node:buffer";
import { FORBIDDEN_KEYS, type JsonLimits } from "./json-scan.js";

const QUOTE = '"';
/** UTF-8 of one UTF-16 unit. */
const UNIT_BYTES_MAX = 3;

/**
 * Reads an object whose members are all texts, without an escape. Gives what `findJsonFault` finds sound and
 * `parseJson` makes of it, or undefined.
 */
export function parsePlainJson(bytes: Buffer, limits: JsonLimits): Record<string, string> | undefined {
  if (limits.depthMax < 1 || !isUtf8(bytes)) return undefined;
  const text = bytes.toString("utf8");
  if (!text.startsWith("{") || text.includes("\\")) return undefined;
  const value = parsed(text);
  if (value === undefined) return undefined;
  const names = Object.keys(value);
  if (1 + 2 * names.length > limits.tokensMax) return undefined;
  for (const name of names) {
    if (
      typeof value[name] !== "string" ||
      FORBIDDEN_KEYS.has(name) ||
      UNIT_BYTES_MAX * name.length > limits.keyBytesMax
    )
      return undefined;
  }
  // Each text stands between two quotes, and there is no other quote without an escape. A member that came twice left
  // more behind.
  return hasQuotes(text, 4 * names.length) ? (value as Record<string, string>) : undefined;
}

/** The error of JSON.parse repeats what it read, and goes nowhere. */
function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function hasQuotes(text: string, count: number): boolean {
  let at = -1;
  for (let found = 0; found < count; found += 1) {
    at = text.indexOf(QUOTE, at + 1);
    if (at === -1) return false;
  }
  return !text.includes(QUOTE, at + 1);
}
