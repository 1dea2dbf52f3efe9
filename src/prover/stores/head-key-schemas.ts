/** Shapes of tree heads as they are signed, and of the keys that sign them. */
import Type, { type Static } from "typebox";
import { keySetSchema, signingKeySchema } from "../receipts/signing-key-schemas.js";

/** The type of a tree head, in the header of its signature. */
export const TREE_HEAD_TYPE = "pv-tree-head";

/** The payload of a tree head. */
export const TreeHeadClaims = Type.Object({
  store_id: Type.String({ pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" }),
  kind: Type.Enum(["notes", "nullifiers"]),
  curve: Type.Enum(["BN254", "BLS12_381"]),
  size: Type.Integer({ minimum: 0 }),
  root: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  time: Type.String({ minLength: 20, maxLength: 40 }),
});
export type TreeHeadClaims = Static<typeof TreeHeadClaims>;

export const TreeHeadKeySet = keySetSchema("tree heads");
export const TreeHeadKey = signingKeySchema("tree heads");
