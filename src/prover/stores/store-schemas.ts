/** Shapes of the stores on the wire, and of the proofs about them. README.md beside this file explains them. */
import Type, { type Static } from "typebox";
import { Timestamp, Uuid, closed, nullable } from "../../platform/contract/schemas.js";
import { ProverReference } from "../labels/label-schemas.js";

const Element = Type.String({
  pattern: "^[0-9a-f]{64}$",
  description: "field element: 64 hex digits, big-endian, below the order of the curve's scalar field",
});
const Decimal = Type.String({ pattern: "^(0|[1-9][0-9]{0,77})$", description: "field element, decimal" });
const CircuitInputs = Type.Record(Type.String(), Type.Union([Decimal, Type.Array(Decimal)]), {
  description:
    "private inputs of the template in circuits/ that checks the proof: NoteInclusion and TreeConsistency of dense_tree.circom, NullifierMembership and NullifierAbsence of nullifier_tree.circom",
});
const Size = Type.Integer({ minimum: 0, maximum: 2 ** 32, description: "entries of the store" });
const Kind = Type.Union([Type.Literal("notes"), Type.Literal("nullifiers")], {
  description: "notes: a dense Merkle tree of notes; nullifiers: a sparse Merkle tree of spent keys",
});
const Curve = Type.String({ description: "curve over whose scalar field the tree hashes (Poseidon)" });

/** Provers of one store in its answer. */
export const PROVERS_OF_STORE_MAX = 100;

/** Enough for every proof: keys over BN254 have 254 bits. */
const CIRCUIT_LEVELS_MAX = 255;

export const ProofStore = Type.Object(
  {
    id: Uuid,
    created_at: Timestamp,
    name: Type.String(),
    kind: Kind,
    curve: Curve,
    size: Size,
    root: Element,
    provers: Type.Array(Uuid, {
      maxItems: PROVERS_OF_STORE_MAX,
      description: `those that use the store, at most ${String(PROVERS_OF_STORE_MAX)}`,
    }),
  },
  { description: "a store of notes or of nullifiers" },
);
export type ProofStore = Static<typeof ProofStore>;

export const NoteInclusion = Type.Object(
  {
    store_id: Uuid,
    curve: Curve,
    depth: Type.Integer({ description: "levels above the leaves" }),
    size: Size,
    root: Element,
    index: Type.Integer({ minimum: 0 }),
    leaf: Element,
    siblings: Type.Array(Element, { description: "one for each level from the leaves up" }),
    inputs: CircuitInputs,
  },
  { description: "a proof that a note is in the tree of a size" },
);
export type NoteInclusion = Static<typeof NoteInclusion>;

export const StoreConsistency = Type.Object(
  {
    store_id: Uuid,
    curve: Curve,
    depth: Type.Integer(),
    from_size: Size,
    from_root: Element,
    to_size: Size,
    to_root: Element,
    leaf: Type.String({ ...Element, description: "the later tree's leaf at place from_size; zeros where it has none" }),
    siblings: Type.Array(Element, {
      description: "of that place in the later tree, from the leaves up; none when the earlier tree is full",
    }),
    inputs: Type.Optional(CircuitInputs),
  },
  { description: "a proof that the tree of one size is the beginning of that of another" },
);
export type StoreConsistency = Static<typeof StoreConsistency>;

export const NullifierProof = Type.Object(
  {
    store_id: Uuid,
    curve: Curve,
    size: Size,
    root: Element,
    key: Element,
    found: Type.Boolean({ description: "true: the key was spent; false: it was not" }),
    value: Type.String({ ...Element, description: "what the tree has under the key; zeros where it has nothing" }),
    siblings: Type.Array(Element, { description: "from the root down, as far as the path goes" }),
    old_key: Type.String({ ...Element, description: "of a key that is absent: the other leaf on its path, or zeros" }),
    old_value: Element,
    is_old0: Type.Boolean({ description: "of a key that is absent: its path ends at an empty place" }),
    inputs: Type.Optional(CircuitInputs),
  },
  { description: "a proof that a key was spent, or that it was not, as of a root" },
);
export type NullifierProof = Static<typeof NullifierProof>;

export const StoreRoot = Type.Object(
  { size: Size, root: Element, created_at: Timestamp },
  { description: "the root that a store had after a commit" },
);
export type StoreRoot = Static<typeof StoreRoot>;

export const TreeHead = Type.Object(
  {
    store_id: Uuid,
    kind: Kind,
    curve: Curve,
    size: Size,
    root: Element,
    time: Timestamp,
    jws: Type.String({
      description: "compact JWS, EdDSA, `typ` pv-tree-head; its payload is the members above, as JSON",
    }),
    jwk: Type.Object(
      { kty: Type.Literal("OKP"), crv: Type.Literal("Ed25519"), x: Type.String(), kid: Uuid },
      { description: "the key that has signed, also in the vault's jwks.json; keep it, and compare it next time" },
    ),
    vault_id: Uuid,
  },
  { description: "a signed tree head" },
);
export type TreeHead = Static<typeof TreeHead>;

export const ProverNullifier = Type.Object(
  {
    key: Element,
    root: Element,
    size: Size,
    spent: Type.Boolean(),
    spent_at: nullable(Timestamp),
    value: Type.String({
      description:
        "base64: the note that the key has nullified, encrypted; of another key what the tree has under it; empty when it was not spent",
    }),
  },
  { description: "whether a key was spent with a prover" },
);
export type ProverNullifier = Static<typeof ProverNullifier>;

/** A spent key, in the answers of prove and verify. */
export const SpentKey = Type.Object(
  {
    key: Element,
    index: Type.Integer({ minimum: 0, description: "place among the spent keys of the store" }),
    size: Size,
    root: Type.String({ ...Element, description: "of the store of nullifiers after the commit" }),
  },
  { description: "what the proof has spent" },
);
export const SPENT = Type.Array(SpentKey, { maxItems: 2, description: "what was spent; absent when nothing was" });

const SIGNAL_NAME = { minLength: 1, maxLength: 200 } as const;
/** What a request spends. */
export const SPENDING = {
  nullifier: Type.Optional(
    Type.Union([Type.Boolean(), Type.String(SIGNAL_NAME)], {
      description:
        "the public signal whose value is spent, such as `NullifierHash` or `Keys[1]`; true for the prover's own `nullifier`, or the statement where it has none; false for none. What was spent before is 409 `note_double_spend`. Verify takes the prover's own unless told otherwise, prove none",
    }),
  ),
  spends: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2 ** 32 - 1,
      description: "index of a note of the prover's note store that this proof replaces, or spends",
    }),
  ),
};
/** What a prover's proofs spend whenever they are verified. */
export const OWN_NULLIFIER = Type.Union([Type.Literal(true), Type.String(SIGNAL_NAME)], {
  description:
    "what each verification spends, unless it says `nullifier: false`: the value of this public signal, or with true the statement itself",
});

const KeyText = Type.String({
  pattern: "^(0x[0-9a-fA-F]{1,64}|[0-9a-fA-F]{64}|[0-9]{1,80})$",
  maxLength: 80,
  description:
    "the key: 64 hex digits, or fewer with 0x, or a decimal as public signals are; one of exactly 64 digits needs a 0 before it",
});
export const StoreParams = closed({ id: Uuid });
export const StoreNoteParams = closed({
  id: Uuid,
  index: Type.String({ pattern: "^(0|[1-9][0-9]{0,9})$", maxLength: 10 }),
});
export const StoreKeyParams = closed({ id: Uuid, key: KeyText });
export const ProverKeyParams = closed({ id: ProverReference, key: KeyText });
export const SizeQuery = closed({ size: Type.Optional(Size) });
export const ConsistencyQuery = closed({
  from: Type.Optional(Type.Integer({ ...Size, description: "0 unless given" })),
  to: Type.Optional(Type.Integer({ ...Size, description: "the present size unless given" })),
});
export const PastTreeQuery = closed({
  root: Type.Optional(Element),
  size: Type.Optional(Type.Integer({ ...Size, description: "a size that `roots` lists" })),
  levels: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: CIRCUIT_LEVELS_MAX,
      description: "adds `inputs` for a circuit of so many levels, more than the proof has siblings; BN254 only",
    }),
  ),
});
