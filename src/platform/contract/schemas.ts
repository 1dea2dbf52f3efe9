/** Schemas that several areas share. Requests use closed objects and bounded texts and lists. */
import Type, { type TProperties, type TSchema } from "typebox";

export const Uuid = Type.String({ format: "uuid", minLength: 36, maxLength: 36, description: "UUID" });
export const Digest = Type.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256, lower-case hex" });
export const Timestamp = Type.String({
  format: "date-time",
  maxLength: 40,
  description: "ISO 8601 with fractional seconds",
});

/** Returns the schema of an object that rejects unknown members, naming them. */
export function closed<T extends TProperties>(
  properties: T,
  options: { readonly description?: string; readonly examples?: readonly unknown[] } = {},
) {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** Returns a schema that also accepts null. */
export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** Most members of an object that keeps what it does not know; the limits of the body bound their content. */
const KEPT_MEMBERS_MAX = 100;
/** Levels below an unknown member that are searched for secrets; deeper values are refused. */
const KEPT_LEVELS_MAX = 4;
/** Ends of names of members that hold secrets, without regard to case, underscores, hyphens and a plural's `s`. */
const SECRET_NAMES = [
  ...["password", "passwordhash", "passwd", "passphrase", "secret", "secrethash", "credential", "mnemonic"],
  ...["seedphrase", "secretkey", "privatekey", "privkey", "signingkey", "encryptionkey", "apikey", "accesskey"],
];
/** Tokens that admit their bearer; `gas_token` or `fee_token` names a contract. */
const SECRET_TOKENS = ["api", "access", "auth", "bearer", "refresh", "rpc", "session", "client", "service", "admin"];
const SECRET_ENDS = [...SECRET_NAMES, ...SECRET_TOKENS.map((kind) => `${kind}token`)].map(anySpelling).join("|");
/** A pattern for the rest of a name that says it holds a secret: one of the ends, or `token` alone. */
const SECRET = `(?:.*(?:${SECRET_ENDS})|${anySpelling("token")})[-_]*[sS]?$`;

/**
 * Returns the schema of an object that keeps members it does not know, as configurations of existing clients have them.
 * It rejects what would be kept by mistake: a known member in another spelling, which its writer believes in force, and
 * a name that says it holds a secret, at any level, which would be stored and answered as plain text.
 * @param options.dropsRefused of changes: null drops such a member at the top level, as an earlier version kept it
 */
export function keptObject<T extends TProperties>(
  properties: T,
  {
    patternProperties,
    dropsRefused = false,
    ...options
  }: {
    description?: string;
    patternProperties?: Readonly<Record<string, TSchema>>;
    dropsRefused?: boolean;
  } = {},
) {
  const refused = dropsRefused ? Type.Null() : false;
  const names = Object.keys(properties);
  const known = `(?!(?:${names.join("|")})$)`;
  const published = { ...options, description: keptDescription(options.description), maxProperties: KEPT_MEMBERS_MAX };
  return Type.Object(properties, {
    ...options,
    ...publishedAs(Type.Object(properties, { ...published, ...(patternProperties && { patternProperties }) })),
    additionalProperties: keptValue(KEPT_LEVELS_MAX),
    maxProperties: KEPT_MEMBERS_MAX,
    patternProperties: {
      ...patternProperties,
      [`^${known}(?:${names.map(anySpelling).join("|")})$`]: refused,
      [`^${known}${SECRET}`]: refused,
    },
  });
}

function keptDescription(description: string | undefined): string {
  const kept =
    "other members are kept as they are, but refused where their name says that they hold a secret, or spells a known one in another way";
  return description === undefined ? kept : `${description}; ${kept}`;
}

/** Returns the schema of any value without names of secrets; at level 0, one without members and items. */
function keptValue(levels: number): TSchema {
  if (levels === 0) return { maxProperties: 0, maxItems: 0 };
  const inner = keptValue(levels - 1);
  return { patternProperties: { [`^${SECRET}`]: false }, additionalProperties: inner, items: inner };
}

/** Returns a pattern for a name in any case, with underscores and hyphens anywhere; JSON Schema's have no flags. */
function anySpelling(name: string): string {
  return name
    .replaceAll("_", "")
    .split("")
    .map((character) =>
      /[a-z]/i.test(character) ? `[${character.toLowerCase()}${character.toUpperCase()}]` : character,
    )
    .join("[-_]*");
}

/**
 * Members by which existing clients say for whom something is made. `requireSaidOwner` and `saidOwner`
 * (auth/said-owner.ts) check them against the caller.
 */
export const SAID_OWNER = {
  user_id: Type.Optional(
    Type.Union([Uuid, Type.Null()], { description: "the user of the token; another user is 404" }),
  ),
  application_id: Type.Optional(
    Type.Union([Uuid, Type.Null()], {
      description: "the application of the token, or one that the caller may act for",
    }),
  ),
  organization_id: Type.Optional(
    Type.Union([Uuid, Type.Null()], {
      description: "the organization of the token, or one that the caller may act for",
    }),
  ),
};

const PUBLISHED_AS = "x-published-as";

/**
 * Returns options for a schema that OpenAPI shows as another one: where code checks a value more exactly, and names
 * what is wrong with codes of its own, the published schema says what the code accepts.
 */
export function publishedAs(published: TSchema): { readonly [PUBLISHED_AS]: TSchema } {
  return { [PUBLISHED_AS]: published };
}

/** Returns a schema as plain JSON, as it is published: without the symbols that its builder adds. */
export function publishedForm(schema: TSchema): object {
  const text = JSON.stringify(schema, (_name, value: unknown) =>
    typeof value === "object" && value !== null && PUBLISHED_AS in value ? value[PUBLISHED_AS] : value,
  );
  return JSON.parse(text) as object;
}

/** A name for people, without control characters. */
export const Name = Type.String({ minLength: 1, maxLength: 200, pattern: "^[^\\u0000-\\u001f\\u007f]+$" });
/** Query member of lists of things with names. */
export const NameFilter = Type.String({ minLength: 1, maxLength: 200, description: "only those of exactly this name" });
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
  revert: Type.Optional(
    Type.Object(
      {
        name: Type.Union([Type.String(), Type.Null()]),
        args: Type.Unknown(),
        data: Type.String({ description: "0x-hex" }),
      },
      { description: "why a contract refused a call: the error's name and arguments, as far as they are known" },
    ),
  ),
});
/** What stands in the place of an item of a batch that failed. */
export const BatchItemErrors = closed(
  { errors: Type.Array(closed({ message: Type.String(), code: Type.String(), path: Type.Optional(Type.String()) })) },
  { description: "why an item of a batch failed; the others are not affected" },
);
/** The body of a failure. Some routes add members (`proof: null`, `result: false`). */
export const ErrorBody = Type.Object(
  { message: Type.String(), errors: Type.Array(ErrorDetailSchema) },
  { description: "Failure" },
);
