/**
 * JSON of an answer, as `JSON.stringify` writes it. That takes 3 ns for each character of a text, which is 6 us for 1
 * KiB in hex and as much as the rest of an answer; a look whether there is anything to escape takes a third of it.
 */

/** Characters that stand for themselves in a text of JSON (RFC 8259, section 7), as far as they are ASCII. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** The same text as `JSON.stringify`, for whatever that gives a text. */
export function writeJson(value: unknown): string {
  return (isRecord(value) ? writePlainTexts(value) : undefined) ?? JSON.stringify(value);
}

/** Undefined unless all members are texts, and neither they nor their names need an escape. */
function writePlainTexts(record: Readonly<Record<string, unknown>>): string | undefined {
  let text = "";
  for (const name of Object.keys(record)) {
    const value = record[name];
    if (typeof value !== "string" || !PLAIN.test(value) || !PLAIN.test(name)) return undefined;
    text += `${text === "" ? "{" : ","}"${name}":"${value}"`;
  }
  return text === "" ? undefined : `${text}}`;
}

/** A plain object: one of a class may have its own way to be written. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
