/** The OpenAPI document as users get it: the checked-in copy is current, and its texts need no other document. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openApiText } from "../../../src/commands/openapi.js";
import { PACKAGE_ROOT } from "../../../src/platform/files/package-root.js";

const FILE = "src/openapi.json";
const REGENERATE = "npm run docs:openapi";
const DIFFERENCES_SHOWN = 30;
const VALUE_CHARACTERS = 100;
/** Words that point to a document which the repository does not have. */
const FOREIGN = /SPEC|specification|not shown|interoperability/;

type Json = string | number | boolean | null | Json[] | { [member: string]: Json };

/** Every scalar of a document by its JSON pointer (RFC 6901). */
function* scalars(value: Json, pointer = ""): Generator<[pointer: string, value: string]> {
  if (typeof value !== "object" || value === null) {
    yield [pointer, JSON.stringify(value)];
    return;
  }
  const members = Object.entries(value);
  if (members.length === 0 && pointer !== "") yield [pointer, Array.isArray(value) ? "[]" : "{}"];
  for (const [name, member] of members)
    yield* scalars(member, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
}

/** One line for each scalar that was added, removed or changed. */
function differences(before: Json, after: Json): string[] {
  const [old, now] = [new Map(scalars(before)), new Map(scalars(after))];
  const cut = (text: string): string =>
    text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS)}...` : text;
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((pointer) => {
    const [a, b] = [old.get(pointer), now.get(pointer)];
    if (a === b) return [];
    if (a === undefined) return [`added   ${pointer}: ${cut(b ?? "")}`];
    if (b === undefined) return [`removed ${pointer}: ${cut(a)}`];
    return [`changed ${pointer}: ${cut(a)} -> ${cut(b)}`];
  });
}

const made = openApiText();
const document = JSON.parse(made) as Json;

describe("the OpenAPI document of all routes", () => {
  it(`is checked in at ${FILE}`, () => {
    const checkedIn = readFileSync(join(PACKAGE_ROOT, FILE), "utf8");
    const found = differences(JSON.parse(checkedIn) as Json, document);
    const shown = found.slice(0, DIFFERENCES_SHOWN);
    if (found.length > shown.length) shown.push(`and ${String(found.length - shown.length)} more`);
    if (found.length > 0)
      expect.fail(
        [`${FILE} is out of date. If these changes are meant, run \`${REGENERATE}\`:`, ...shown].join("\n  "),
      );
    expect(checkedIn === made, `${FILE} differs in form only; run \`${REGENERATE}\``).toBe(true);
  });

  it("refers to nothing that its readers do not have", () => {
    const found = [...scalars(document)]
      .filter(([, text]) => FOREIGN.test(text))
      .map(([pointer, text]) => `${pointer}: ${text}`);
    expect(found).toEqual([]);
  });

  it.each([
    ["a changed text", { a: [{ b: "x" }] }, { a: [{ b: "y" }] }, ['changed /a/0/b: "x" -> "y"']],
    ["an added member", { a: {} }, { a: {}, "c/d": 1 }, ["added   /c~1d: 1"]],
    ["a removed list", { a: [] }, {}, ["removed /a: []"]],
    ["nothing", { a: null }, { a: null }, []],
  ] satisfies [string, Json, Json, string[]][])("is compared by paths: %s", (_name, before, after, lines) => {
    expect(differences(before, after)).toEqual(lines);
  });
});
