/**
 * Moves what the operations of an OpenAPI document repeat to its `components`, and refers to it there. A schema with a
 * title is always a component of that name; another one is named after the operation that needs it first.
 */
import { createHash } from "node:crypto";

export type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [member: string]: Json };
export type JsonObject = { readonly [member: string]: Json };

/** Shorter ones stay where they are: a reference would not be shorter, and is harder to read. */
const SCHEMA_CHARACTERS_MIN = 120;
/** Codes in the name of a failure; where there are more, a hash of the failure follows. */
const CODES_NAMED_MAX = 3;
const HASH_CHARACTERS = 8;
const NOT_IN_NAMES = /[^A-Za-z0-9]+/;

/** Collects schemas that are used more than once. First every schema is counted, then every schema is placed. */
export class SharedSchemas {
  /** By name; complete once every schema was placed. */
  readonly components: Record<string, JsonObject> = {};
  readonly #uses = new Map<string, number>();
  readonly #names = new Map<string, string>();

  /** Counts a use of a schema. Its parts are counted once, because they move with it. */
  count(schema: JsonObject): void {
    const key = JSON.stringify(schema);
    const uses = this.#uses.get(key) ?? 0;
    this.#uses.set(key, uses + 1);
    if (uses > 0) return;
    mapParts(schema, (part) => {
      this.count(part);
      return part;
    });
  }

  /**
   * Returns a reference to the schema where it is shared, otherwise the schema with its shared parts replaced.
   * @param name PascalCase, of the place; names the component unless the schema has a title
   */
  place(schema: JsonObject, name: string): JsonObject {
    const key = JSON.stringify(schema);
    if (!this.#isShared(schema, key)) return this.#placeParts(schema, name);
    const known = this.#names.get(key);
    if (known !== undefined) return reference("schemas", known);
    const own = this.#freeName(typeof schema["title"] === "string" ? pascalCase(schema["title"]) : name);
    this.#names.set(key, own);
    // Taken before its parts are placed, so that none of them gets its name.
    this.components[own] = schema;
    this.components[own] = this.#placeParts(schema, own);
    return reference("schemas", own);
  }

  #placeParts(schema: JsonObject, name: string): JsonObject {
    return mapParts(schema, (part, place) => this.place(part, `${name}${place}`));
  }

  #isShared(schema: JsonObject, key: string): boolean {
    if (schema["$ref"] !== undefined) return false;
    return schema["title"] !== undefined || (key.length >= SCHEMA_CHARACTERS_MIN && (this.#uses.get(key) ?? 0) > 1);
  }

  #freeName(wanted: string): string {
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? wanted : `${wanted}${String(number)}`;
      if (this.components[name] === undefined) return name;
    }
  }
}

/** Collects failures that several operations answer. First every failure is counted, then every failure is placed. */
export class SharedFailures {
  readonly components: Record<string, JsonObject> = {};
  readonly #uses = new Map<string, number>();

  /** Counts a use of a failure. */
  count(failure: JsonObject): void {
    const key = JSON.stringify(failure);
    this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
  }

  /** Returns a reference to the failure, named after its status and codes; the failure itself if it is used once. */
  place(failure: JsonObject, status: number, codes: readonly string[]): JsonObject {
    const key = JSON.stringify(failure);
    if ((this.#uses.get(key) ?? 0) < 2) return failure;
    const plain = [String(status), ...codes.slice(0, CODES_NAMED_MAX)].join(".");
    const isPlain =
      codes.length <= CODES_NAMED_MAX && [undefined, key].includes(JSON.stringify(this.components[plain]));
    const hash = createHash("sha256").update(key).digest("hex").slice(0, HASH_CHARACTERS);
    const name = isPlain ? plain : `${plain}.${hash}`;
    this.components[name] = failure;
    return reference("responses", name);
  }
}

/** Returns the words of a text as one word, each beginning with a capital. */
export function pascalCase(text: string): string {
  return text
    .split(NOT_IN_NAMES)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
}

function reference(kind: "schemas" | "responses", name: string): JsonObject {
  return { $ref: `#/components/${kind}/${name}` };
}

/** Returns a schema with each schema directly in it replaced; `place` is where that one stands, in PascalCase. */
function mapParts(schema: JsonObject, map: (part: JsonObject, place: string) => JsonObject): JsonObject {
  const mapIf = (value: Json, place: string): Json => (isObject(value) ? map(value, place) : value);
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]): [string, Json] => {
      switch (keyword) {
        case "properties":
        case "patternProperties":
          return [keyword, mapMembers(value, mapIf)];
        case "items":
          return [keyword, mapIf(value, "Item")];
        case "additionalProperties":
          return [keyword, mapIf(value, "Member")];
        case "anyOf":
        case "allOf":
        case "oneOf":
          return [keyword, (value as readonly Json[]).map((part, index) => mapIf(part, `Option${String(index + 1)}`))];
        default:
          return [keyword, value];
      }
    }),
  );
}

function mapMembers(members: Json, map: (value: Json, place: string) => Json): JsonObject {
  return Object.fromEntries(
    Object.entries(members as JsonObject).map(([name, value]) => [name, map(value, pascalCase(name))]),
  );
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
