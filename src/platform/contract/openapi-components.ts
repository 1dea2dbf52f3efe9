/**
 * Moves what the operations of an OpenAPI document repeat to its `components`, and refers to it there. Schemas with a
 * name or a title are always components of that name, bodies and answers too; another one is named after the operation
 * that needs it first.
 */
import { createHash } from "node:crypto";

export type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [member: string]: Json };
export type JsonObject = { readonly [member: string]: Json };

/** Shorter ones stay where they are: a reference would not be shorter, and is harder to read. */
const SCHEMA_CHARACTERS_MIN = 120;
/** Texts, numbers and lists read better in their place, and have no name in generated code. */
const PLAIN_CHARACTERS_MIN = 300;
/** A failure as a component has some 260 characters, and its name saves each operation 25 or more. */
const USES_OF_SHORT_MIN = 10;
/** Of a hash that tells apart what would have the same name. */
const HASH_CHARACTERS = 6;
const NOT_IN_NAMES = /[^A-Za-z0-9]+/;

/** Collects schemas that are used more than once. First every schema is counted, then every schema is placed. */
export class SharedSchemas {
  /** By name; complete once every schema was placed. */
  readonly components: Record<string, JsonObject> = {};
  readonly #uses = new Map<string, number>();
  /** Names of components by their schema. */
  readonly #names = new Map<string, string>();
  /** Names that were given, by the schema. */
  readonly #given: ReadonlyMap<string, string>;

  /** @param named schemas that are components of these names wherever they are used */
  constructor(named: Readonly<Record<string, JsonObject>> = {}) {
    // Of two names of one schema the first counts.
    this.#given = new Map(
      Object.entries(named)
        .reverse()
        .map(([name, schema]) => [JSON.stringify(schema), name]),
    );
  }

  /** Counts a use of a schema. The parts of a component are counted once, because they move with it. */
  count(schema: JsonObject): void {
    const key = JSON.stringify(schema);
    const uses = this.#uses.get(key) ?? 0;
    this.#uses.set(key, uses + 1);
    if (uses > 0 && (!isFrame(schema) || this.#hasName(schema, key))) return;
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
    return this.#component(schema, key, name);
  }

  /**
   * Returns a reference to the schema of a whole body or answer, under which generated code knows it; of a list, the
   * list with a reference to its items.
   */
  placeWhole(schema: JsonObject, name: string): JsonObject {
    if (schema["type"] === "array") return this.#placeParts(schema, name);
    const isComponent = schema["type"] === "object" || schema["anyOf"] !== undefined;
    return isComponent ? this.#component(schema, JSON.stringify(schema), name) : this.place(schema, name);
  }

  #component(schema: JsonObject, key: string, name: string): JsonObject {
    const known = this.#names.get(key);
    if (known !== undefined) return reference("schemas", known);
    const titled = typeof schema["title"] === "string" ? pascalCase(schema["title"]) : name;
    const own = this.#freeName(this.#given.get(key) ?? titled);
    this.#names.set(key, own);
    // Taken before its parts are placed, so that none of them gets its name.
    this.components[own] = schema;
    this.components[own] = this.#placeParts(schema, own);
    return reference("schemas", own);
  }

  #placeParts(schema: JsonObject, name: string): JsonObject {
    return mapParts(schema, (part, place) => {
      if (place !== undefined) return this.place(part, `${name}${place}`);
      const isNamed = this.#hasName(part, JSON.stringify(part));
      return isNamed ? this.place(part, name) : this.#placeParts(part, name);
    });
  }

  #isShared(schema: JsonObject, key: string): boolean {
    if (schema["$ref"] !== undefined) return false;
    if (this.#hasName(schema, key)) return true;
    if (isFrame(schema)) return false;
    const least = schema["properties"] === undefined ? PLAIN_CHARACTERS_MIN : SCHEMA_CHARACTERS_MIN;
    return key.length >= least && (this.#uses.get(key) ?? 0) > 1;
  }

  #hasName(schema: JsonObject, key: string): boolean {
    return schema["title"] !== undefined || this.#given.has(key);
  }

  /** Refuses to number schemas, because nobody who reads generated code could tell which is which. */
  #freeName(wanted: string): string {
    if (this.components[wanted] === undefined) return wanted;
    throw new Error(`Two schemas would be the component ${wanted}. Name one of them in src/api-schemas.ts.`);
  }
}

/**
 * Collects parts that several operations have: failures, parameters. First every part is counted, then every part is
 * placed.
 */
export class SharedParts {
  readonly components: Record<string, JsonObject> = {};
  readonly #kind: "parameters" | "responses";
  readonly #uses = new Map<string, number>();
  /** The most used part of each name, which has the name without a hash; of equally used ones the first. */
  readonly #plain = new Map<string, string>();

  constructor(kind: "parameters" | "responses") {
    this.#kind = kind;
  }

  /** Counts a use of a part. */
  count(part: JsonObject, name: string): void {
    const key = JSON.stringify(part);
    const uses = (this.#uses.get(key) ?? 0) + 1;
    this.#uses.set(key, uses);
    const plain = this.#plain.get(name);
    if (plain === undefined || uses > (this.#uses.get(plain) ?? 0)) this.#plain.set(name, key);
  }

  /**
   * Returns a reference to the part under its name, to which a hash is added where it is not the usual one.
   * @param short says the same as the part in few words, such as another reference with a description; then the part
   *   is a component only where many operations have it, as it is longer than what its name saves a few of them
   */
  place(part: JsonObject, name: string, short?: JsonObject): JsonObject {
    const key = JSON.stringify(part);
    if ((this.#uses.get(key) ?? 0) < (short === undefined ? 2 : USES_OF_SHORT_MIN)) return short ?? part;
    const hash = createHash("sha256").update(key).digest("hex").slice(0, HASH_CHARACTERS);
    const own = this.#plain.get(name) === key ? name : `${name}.${hash}`;
    this.components[own] = part;
    return reference(this.#kind, own);
  }
}

/** Returns the words of a text as one word, each beginning with a capital. */
export function pascalCase(text: string): string {
  return text
    .split(NOT_IN_NAMES)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
}

function reference(kind: "schemas" | "parameters" | "responses", name: string): JsonObject {
  return { $ref: `#/components/${kind}/${name}` };
}

/** Lists and values that may be null read better in their place: what they hold is the component. */
function isFrame(schema: JsonObject): boolean {
  return schema["type"] === "array" || onlyOption(schema["anyOf"]) !== undefined;
}

/** Returns the option beside null, where there is one only. */
function onlyOption(options: Json): Json {
  const others = Array.isArray(options) ? (options as readonly JsonObject[]).filter(({ type }) => type !== "null") : [];
  return others.length === 1 ? others[0] : undefined;
}

/**
 * Returns a schema with each schema directly in it replaced.
 * @param map its second argument is where a part stands, in PascalCase; undefined for one of several options, which has
 *   no name of its own there
 */
function mapParts(schema: JsonObject, map: (part: JsonObject, place: string | undefined) => JsonObject): JsonObject {
  const mapIf = (value: Json, place: string | undefined): Json => (isObject(value) ? map(value, place) : value);
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
        case "oneOf": {
          const place = onlyOption(value) === undefined ? undefined : "";
          return [keyword, (value as readonly Json[]).map((part) => mapIf(part, place))];
        }
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
