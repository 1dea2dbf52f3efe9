/**
 * The members of a body that comes as files: which of them are texts, how the others are read, and what they are called
 * in the query beside an archive. Imports no server code.
 */
import Type, { type TObject, type TProperties, type TSchema } from "typebox";
import type { RouteSpec } from "./route.js";

interface Kind {
  readonly type?: string;
  readonly anyOf?: readonly Kind[];
  readonly items?: Kind;
}

const EXAMPLES: Readonly<Record<string, string>> = {
  boolean: "true",
  integer: "1",
  number: "1",
  object: '{"name": "value"}',
};

/** A text in the query; the body's schema says what it may be. */
const TEXT_LENGTH_MAX = 8192;

/** Returns the parameters of the query beside an archive: the members of the body, but for the files. */
export function archiveQuery({ body, filesBody }: Pick<RouteSpec, "body" | "filesBody">): TProperties {
  return Object.fromEntries(
    Object.entries(membersOf(body))
      .filter(([name]) => name !== filesBody?.member)
      .map(([name, schema]) => [
        name,
        Type.Optional(
          Type.String({
            maxLength: TEXT_LENGTH_MAX,
            description: `beside an archive: the body's \`${name}\`${isText(schema) ? "" : ", as JSON"}`,
          }),
        ),
      ]),
  );
}

/** Whether a member of the body is a text, which a field or parameter holds as it is; any other one is JSON there. */
export function isTextMember(body: TSchema | undefined, name: string): boolean {
  const schema = membersOf(body)[name];
  // An unknown member stays a text: the schema refuses its name.
  return schema === undefined || isText(schema);
}

/** Returns JSON text of the kind that a member of the body is of, to show how one is written. */
export function jsonExample(body: TSchema | undefined, name: string): string {
  return exampleOf(membersOf(body)[name] ?? {});
}

function exampleOf({ type, anyOf, items }: Kind): string {
  const [first] = anyOf?.filter((kind) => kind.type !== "null") ?? [];
  if (first !== undefined) return exampleOf(first);
  if (type === "array") return `[${exampleOf(items ?? {})}]`;
  return EXAMPLES[type ?? ""] ?? '"text"';
}

function membersOf(body: TSchema | undefined): TProperties {
  return (body as Partial<TObject> | undefined)?.properties ?? {};
}

function isText({ type, anyOf }: Kind): boolean {
  return type === "string" || (anyOf?.some(isText) ?? false);
}
