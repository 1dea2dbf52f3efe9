/** What owners say of their provers and proofs: tags, which name a version, and free data. */
import Type, { type Static } from "typebox";
import { Description, Uuid, closed, nullable } from "../../platform/contract/schemas.js";

/** As many as Stripe's metadata has; the bytes of all keep a page of records small. */
const META_MEMBERS_MAX = 50;
export const META_BYTES_MAX = 8192;
/** Without brackets, which the query has around them; `__proto__` does not begin so. */
const META_NAME = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$";
const META_VALUE_LENGTH_MAX = 500;
export const TAGS_MAX = 16;

const NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,127}";
const TAG = "[A-Za-z0-9_][A-Za-z0-9._-]{0,127}";
/** The name of a prover that has tags. */
export const TAGGED_NAME_PATTERN = `^${NAME}$`;
const REFERENCE_LENGTH_MAX = 257;

export const Tag = Type.String({
  pattern: `^${TAG}$`,
  maxLength: 128,
  description: "letters, digits, `_`, `.` and `-`, not first `.` or `-`; its case counts",
});
export const Tags = Type.Array(Tag, { maxItems: TAGS_MAX });

/** The id of a prover, or a name and a tag. */
export const ProverReference = Type.Union(
  [
    Uuid,
    Type.String({
      pattern: `^${NAME}:${TAG}$`,
      maxLength: REFERENCE_LENGTH_MAX,
      description: "`name:tag` of an own prover",
    }),
  ],
  { description: "UUID, or `name:tag` of an own prover" },
);

const MetaValue = Type.String({ maxLength: META_VALUE_LENGTH_MAX });
export const Meta = Type.Record(Type.String({ pattern: META_NAME }), MetaValue, {
  maxProperties: META_MEMBERS_MAX,
  additionalProperties: false,
  description:
    "free data: at most 50 members and 8192 bytes; names of 1 to 40 letters, digits, `_`, `.`, `-` that begin with a letter or digit, values of at most 500 characters. Not for secrets",
});
export type Meta = Static<typeof Meta>;
/** Query member of lists: `meta[name]=value`. */
export const MetaFilter = Type.Record(Type.String({ pattern: META_NAME }), MetaValue, {
  maxProperties: META_MEMBERS_MAX,
  additionalProperties: false,
  description: "`meta[name]=value`: only those with all of these values",
});

/** Members of a prover's record. */
export const LABELS = {
  tags: Type.Array(Type.String(), { description: "tags by which `name:tag` names this prover now" }),
  pending_tags: Type.Array(Type.String(), {
    description: "tags that it gets when it is provisioned, unless another was registered for them after it",
  }),
  meta: Type.Record(Type.String(), Type.String(), { description: "free data of the owner" }),
};

/** Members of a prover to register. */
export const GIVEN_LABELS = {
  tags: Type.Optional(
    nullable(
      Type.Array(Tag, {
        maxItems: TAGS_MAX,
        description:
          "versions: `name:tag` names the prover once it is provisioned, and an earlier one no more. The prover's name then has at most 128 letters, digits, `.`, `_`, `-` and begins with a letter or digit",
      }),
    ),
  ),
  meta: Type.Optional(nullable(Meta)),
};

export const UpdateProver = closed(
  {
    description: Type.Optional(nullable(Description)),
    tags: Type.Optional(Tags),
    meta: Type.Optional(Meta),
  },
  { description: "what is given replaces what there was; the rest stays" },
);
export type UpdateProver = Static<typeof UpdateProver>;

/** Filters of the list of provers. */
export const LABEL_FILTERS = { tag: Type.Optional(Tag), meta: Type.Optional(MetaFilter) };
