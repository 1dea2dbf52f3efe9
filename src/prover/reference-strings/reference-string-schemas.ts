/** Shapes of reference strings on the wire. */
import Type, { type Static } from "typebox";
import { Timestamp, closed, nullable } from "../../platform/contract/schemas.js";

/** A folder for powers-of-tau files has one for each size; more are not looked at. */
export const FILES_MAX = 256;
/** Longest file name of common file systems. */
const FILE_LENGTH_MAX = 255;
/** As many as the reader of the files takes. */
const CONTRIBUTIONS_MAX = 20_000;

export const Sha256 = Type.String({ pattern: "^[0-9a-f]{64}$", description: "SHA-256 of the file, lower-case hex" });
const File = Type.String({
  minLength: 1,
  maxLength: FILE_LENGTH_MAX,
  description: "name of the file, in the folder that PROOFWRIGHT_PTAU_DIR names or as it was uploaded",
});

const members = {
  file: File,
  bytes: Type.Integer({ minimum: 0, description: "size of the file" }),
  uploaded: Type.Boolean({ description: "whether an administrator has uploaded it" }),
  received: Type.Integer({ minimum: 0, description: "bytes that have come; the next part of an upload begins there" }),
  origin: Type.Literal("ceremony", { description: "where it comes from; ceremony: a published powers-of-tau file" }),
  state: Type.Enum(["uploading", "found", "checking", "checked", "refused"], {
    description:
      "uploading: parts are missing; found: not checked yet; checking; checked: every point and equation holds, and provers may use it; refused: see `error`",
  }),
  progress: nullable(
    Type.Number({ minimum: 0, maximum: 1, description: "share of a running upload or check that is done" }),
  ),
  error: nullable(
    Type.Object({ code: Type.String(), message: Type.String() }, { description: "why the file was refused" }),
  ),
  sha256: nullable(Sha256),
  curve: nullable(Type.String()),
  power: nullable(Type.Integer({ description: "binary logarithm of the largest domain that it serves" })),
  ceremony_power: nullable(Type.Integer({ description: "power of the ceremony that the file was cut from" })),
  prepared: nullable(
    Type.Boolean({
      description:
        "whether it has Lagrange points; otherwise they are made for each key of plonk and groth16 that takes it, which costs minutes for large circuits",
    }),
  ),
  contributions_checked: nullable(
    Type.Boolean({ description: "whether the chain of contributions was verified; the points always are" }),
  ),
  checked_at: nullable(Timestamp),
};

export const ReferenceString = Type.Object(members, { description: "a structured reference string from a file" });
export type ReferenceString = Static<typeof ReferenceString>;

export const ReferenceStringDetails = Type.Object(
  {
    ...members,
    contributions: Type.Array(
      Type.Object({
        name: nullable(Type.String({ description: "as the contributor wrote it" })),
        kind: Type.Union([Type.Literal("contribution"), Type.Literal("beacon")]),
        response_hash: Type.String({ description: "BLAKE2b-512 of what the contributor sent, hex" }),
      }),
      { maxItems: CONTRIBUTIONS_MAX, description: "who took part in the ceremony, first to last" },
    ),
  },
  { description: "a structured reference string with its contributions" },
);
export type ReferenceStringDetails = Static<typeof ReferenceStringDetails>;

export const UploadParams = Type.Object({
  file: Type.String({
    pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,199}\\.ptau$",
    description: "name that the file is to have: letters, digits, dots, hyphens and underscores, ending with .ptau",
  }),
});

export const CheckReferenceString = closed({ file: File });
