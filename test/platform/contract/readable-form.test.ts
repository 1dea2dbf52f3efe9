/**
 * The readable form of schemas: how it is written, and that it accepts the same values as the schema that the server
 * validates with.
 */
import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";
import Type, { type TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { describe, expect, it } from "vitest";
import { apiSchemas } from "../../../src/api-schemas.js";
import { readableForm } from "../../../src/platform/contract/readable-form.js";
import { closed, nullable, publishedForm, Timestamp, Uuid } from "../../../src/platform/contract/schemas.js";

const ONE_OF = Type.Union([Type.Literal("a"), Type.Literal("b")], { description: "a or b" });

describe("the readable form", () => {
  it.each([
    ["a union of constants", ONE_OF, { type: "string", enum: ["a", "b"], description: "a or b" }],
    ["numbers", Type.Union([Type.Literal(0), Type.Literal(1)]), { type: "integer", enum: [0, 1] }],
    [
      "a union with null",
      nullable(ONE_OF),
      { type: ["string", "null"], enum: ["a", "b", null], description: "a or b" },
    ],
    ["a text or null", nullable(Type.String({ maxLength: 3 })), { type: ["string", "null"], maxLength: 3 }],
    ["a constant or null", nullable(Type.Literal("x")), { type: ["string", "null"], enum: ["x", null] }],
    ["a UUID", Uuid, { type: "string", format: "uuid" }],
    [
      "a UUID with a meaning",
      { ...Uuid, description: "the owner" },
      { type: "string", format: "uuid", description: "the owner" },
    ],
    ["a time", Timestamp, { type: "string", format: "date-time" }],
    [
      "a union that stays one",
      nullable(Type.Union([Type.String(), Type.Integer()])),
      { anyOf: [{ type: "string" }, { type: "integer" }, { type: "null" }] },
    ],
  ] satisfies [string, TSchema, object][])("writes %s", (_name, schema, expected) => {
    expect(readableForm(schema)).toEqual(expected);
  });

  it("takes names of members for names, and values for values", () => {
    const schema = closed({ enum: Type.String({ default: { anyOf: [{ const: 1 }] } }), const: ONE_OF });
    const form = readableForm(schema) as { properties: Record<string, unknown> };
    expect(Object.keys(form.properties)).toEqual(["enum", "const"]);
    expect(form.properties.enum).toEqual({ type: "string", default: { anyOf: [{ const: 1 }] } });
  });
});

/** Every schema inside of a schema. */
function* parts(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield value as Record<string, unknown>;
  for (const inner of Object.values(value)) yield* parts(inner);
}

it("accepts the values that the validators accept, and no others", () => {
  const ajv = new Ajv2020({ strict: false });
  formatsPlugin.default(ajv);
  const seen = new Set<string>();
  for (const schema of Object.values<TSchema>(apiSchemas)) {
    for (const part of parts(publishedForm(schema))) {
      const text = JSON.stringify(part);
      const form = readableForm(part);
      const isSchema = typeof part.type === "string" || Array.isArray(part.anyOf) || Array.isArray(part.enum);
      const isLeaf = isSchema && !text.includes(`"properties"`);
      if (!isLeaf || seen.has(text) || JSON.stringify(form) === text) continue;
      seen.add(text);
      const [before, after] = [Compile(part as TSchema), ajv.compile(form)];
      const constants = [...parts(part)].flatMap((inner) => [inner.const, ...((inner.enum ?? []) as unknown[])]);
      const samples: unknown[] = [
        ...[null, true, false, 0, 1, -1, 0.5, 2 ** 53, "", "x", "1", "0x00", "a".repeat(300), [], ["x"], {}, { x: 1 }],
        ...["7a4c1f2e-1111-4222-8333-000000000001", "7A4C1F2E-1111-4222-8333-00000000000", "2026-01-02T03:04:05.678Z"],
        ...constants.filter((constant) => constant !== undefined),
      ];
      for (const sample of samples)
        expect(after(sample), `${JSON.stringify(sample)} of ${text}`).toBe(before.Check(sample));
    }
  }
  expect(seen.size).toBeGreaterThan(50);
});
