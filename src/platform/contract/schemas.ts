/** Schemas that several areas share. Requests use closed objects and bounded texts and lists. */
import Type, { type TProperties, type TSchema } from "typebox";

export const Uuid = Type.String({ format: "uuid", minLength: 36, maxLength: 36, description: "UUID" });
export const Timestamp = Type.String({
  format: "date-time",
  maxLength: 40,
  description: "ISO 8601 with fractional seconds",
});

/** Returns the schema of an object that rejects unknown members, naming them. */
export function closed<T extends TProperties>(properties: T, options: { description?: string } = {}) {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** Returns a schema that also accepts null. */
export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** A name for people, without control characters. */
export const Name = Type.String({ minLength: 1, maxLength: 200, pattern: "^[^\\u0000-\\u001f\\u007f]+$" });
/** A text for people, which may have several lines. */
export const Description = Type.String({
  maxLength: 2000,
  pattern: "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f]*$",
});

export const IdParams = closed({ id: Uuid });

/** Query members of every list. */
export const PAGE_QUERY = {
  page: Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1, description: "1-based page" }),
  rpp: Type.Integer({ minimum: 1, maximum: 100, default: 25, description: "results per page" }),
};

const ErrorDetailSchema = Type.Object({
  message: Type.String(),
  code: Type.String(),
  path: Type.Optional(Type.String()),
});
/** The body of a failure. Some routes add members (`proof: null`, `result: false`). */
export const ErrorBody = Type.Object(
  { message: Type.String(), errors: Type.Array(ErrorDetailSchema) },
  { description: "Failure" },
);
