/**
 * A schema as readers and generators of code want it: `enum` in place of unions of constants, `type: ["string",
 * "null"]` in place of a union with null, UUIDs and times by their format alone. It accepts the same values; the
 * validators are compiled from the schema itself.
 */
import type { TSchema } from "typebox";
import type { Json, JsonObject } from "./openapi-components.js";
import { publishedForm, Timestamp, Uuid } from "./schemas.js";

const NULL: JsonObject = { type: "null" };
/** Types whose union with null is written as a list of types: no other keyword of theirs says anything about null. */
const SCALARS: readonly Json[] = ["string", "integer", "number", "boolean"];
/** Formats that say all that the keywords beside them say. */
const PLAIN_FORMATS: Readonly<Record<string, TSchema>> = { uuid: Uuid, "date-time": Timestamp };

/** Returns the readable form of a schema, as plain JSON. */
export function readableForm(schema: TSchema): JsonObject {
  return readable(publishedForm(schema) as JsonObject) as JsonObject;
}

function readable(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(readable);
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(
    Object.entries(value).map(([keyword, member]): [string, Json] => [
      keyword,
      VALUE_KEYWORDS.has(keyword) ? member : keyword === "properties" ? readableMembers(member) : readable(member),
    ]),
  );
  return readableFormat(readableUnion(inner));
}

/** Keywords whose values are no schemas, and stay as they are. */
const VALUE_KEYWORDS: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "required"]);

/** Names of members are no keywords: a member may be called `enum`. */
function readableMembers(members: Json): JsonObject {
  return Object.fromEntries(Object.entries(members as JsonObject).map(([name, member]) => [name, readable(member)]));
}

function readableFormat(schema: JsonObject): JsonObject {
  const usual = typeof schema.format === "string" ? PLAIN_FORMATS[schema.format] : undefined;
  if (usual === undefined) return typedEnum(schema);
  const said = Object.entries(usual).filter(([keyword]) => keyword !== "type" && keyword !== "format");
  return without(
    schema,
    said.filter(([keyword, value]) => schema[keyword] === value).map(([keyword]) => keyword),
  );
}

/** Says the type of constants, which generators ask for. */
function typedEnum(schema: JsonObject): JsonObject {
  const values = schema.enum as readonly Json[] | undefined;
  if (values === undefined || schema.type !== undefined) return schema;
  const types = [...new Set(values.map(typeOf))];
  return { type: types.length === 1 ? (types[0] ?? null) : types, ...schema };
}

function typeOf(value: Json): string {
  return value === null ? "null" : Number.isInteger(value) ? "integer" : typeof value;
}

function readableUnion(schema: JsonObject): JsonObject {
  const options = schema.anyOf as readonly JsonObject[] | undefined;
  if (options === undefined) return schema;
  const { anyOf: _options, ...rest } = schema;
  const flat = options.flatMap((option) => flatOptions(option));
  const constants = flat.filter(isConstant);
  if (constants.length === flat.length) return typedEnum({ ...rest, enum: flat.flatMap(valuesOf) });
  const others = flat.filter((option) => !isNull(option));
  const [only] = others;
  const isNullable = others.length < flat.length;
  if (isNullable && others.length === 1 && only !== undefined && SCALARS.includes(only.type ?? null))
    return withNull({ ...only, ...rest });
  return { ...rest, anyOf: [...others, ...(isNullable ? [NULL] : [])] };
}

/** A union in a union is one, unless it says something of its own. */
function flatOptions(option: JsonObject): readonly JsonObject[] {
  const isPlain = option.anyOf !== undefined && Object.keys(option).length === 1;
  return isPlain ? (option.anyOf as readonly JsonObject[]) : [option];
}

function isConstant(option: JsonObject): boolean {
  return (
    isNull(option) || ((option.const !== undefined || option.enum !== undefined) && option.description === undefined)
  );
}

function isNull({ type, description }: JsonObject): boolean {
  return type === "null" && description === undefined;
}

function valuesOf(option: JsonObject): readonly Json[] {
  if (isNull(option)) return [null];
  return option.enum === undefined ? [option.const ?? null] : (option.enum as readonly Json[]);
}

function withNull(schema: JsonObject): JsonObject {
  const { enum: values, const: value, ...rest } = schema;
  const listed = values as readonly Json[] | undefined;
  const allowed = listed ?? (value === undefined ? undefined : [value]);
  return {
    ...rest,
    type: [schema.type ?? null, "null"],
    ...(allowed === undefined ? {} : { enum: [...allowed, null] }),
  };
}

function without(schema: JsonObject, keywords: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.includes(keyword)));
}
