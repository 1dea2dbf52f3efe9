/** Schemas of vaults, keys, secrets and the seal on the wire, and the types that follow from them. */
import Type, { type Static } from "typebox";
import { closed, Description, Name, SAID_OWNER, Timestamp, Uuid } from "../platform/contract/schemas.js";

/** Longest plaintext of one encrypt call; callers encrypt larger data under a data key of their own. */
export const PLAINTEXT_BYTES_MAX = 64 * 1024;
/** Longest secret, counted in UTF-8. */
export const SECRET_BYTES_MAX = 4096;
/** Longest context. It is length-framed in derivations and hashed into every ciphertext. */
export const CONTEXT_BYTES_MAX = 1024;

/**
 * As long as a body: longer plaintexts and messages are refused with a code of their own, and a transaction with the
 * most data that it may have can be given as text.
 */
export const TEXT_CHARACTERS_MAX = 1024 * 1024;
/** Above the limit, so that the answer can be `secret_too_long`. */
const SECRET_CHARACTERS_MAX = 32 * 1024;
export const SPEC_CHARACTERS_MAX = 32;
const LIST_ITEMS_MAX = 100;

const DescriptionText = Type.String({ description: "empty when none was given" });

/** End of the recovery window of a planned deletion. */
const DeletesAt = Type.Optional(Timestamp);

export const Vault = closed(
  { id: Uuid, created_at: Timestamp, name: Type.String(), description: DescriptionText, deletes_at: DeletesAt },
  { description: "Vault" },
);
export const VaultList = Type.Array(Vault, { maxItems: LIST_ITEMS_MAX });
export const CreateVaultBody = closed(
  { ...SAID_OWNER, name: Name, description: Type.Optional(Description) },
  { description: "the vault belongs to the application or organization that is named, otherwise to the caller" },
);

export const Key = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    vault_id: Uuid,
    type: Type.Union([Type.Literal("symmetric"), Type.Literal("asymmetric")]),
    usage: Type.Union([Type.Literal("encrypt/decrypt"), Type.Literal("sign/verify")]),
    spec: Type.String(),
    name: Type.String(),
    description: DescriptionText,
    public_key: Type.Optional(
      Type.String({ description: "0x-prefixed hex; asymmetric keys. RSA: SubjectPublicKeyInfo (DER), exponent 65537" }),
    ),
    address: Type.Optional(
      Type.String({ description: "account address; secp256k1 keys, and BIP39 keys in the answer of a derivation" }),
    ),
    hd_derivation_path: Type.Optional(
      Type.String({ description: "path of the address; BIP39 keys in the answer of a derivation" }),
    ),
    disabled_at: Type.Optional(Timestamp),
    deletes_at: DeletesAt,
    input_key: Type.Optional(
      Type.Literal(true, { description: "a prover's key for encrypted inputs, made by POST /provers/:id/input_keys" }),
    ),
    server_only: Type.Optional(
      Type.Literal(true, {
        description:
          "the server made the key for its own statements, such as receipts: nobody signs with it; it can be disabled and deleted",
      }),
    ),
  },
  { description: "Key; private material is never returned" },
);
export const KeyList = Type.Array(Key, { maxItems: LIST_ITEMS_MAX });
/** Exactly, because names are not unique and lists are read by programs. */
const NameFilter = Type.Optional(Type.String({ maxLength: 200, description: "only those of this name, exactly" }));
export const VaultListQuery = closed({ name: NameFilter });
export const KeyListQuery = closed({
  name: NameFilter,
  spec: Type.Optional(
    Type.String({
      maxLength: SPEC_CHARACTERS_MAX,
      description: "only keys of this spec, in any letter case",
    }),
  ),
  type: Type.Optional(Type.String({ maxLength: SPEC_CHARACTERS_MAX, description: "only keys of this type" })),
});
export const KeyParams = closed({ id: Uuid, key_id: Uuid });

const KeyType = Type.Union([Type.Literal("symmetric"), Type.Literal("asymmetric")], {
  description: "must be the spec's; the spec's when absent",
});
const KeyUsage = Type.Union([Type.Literal("encrypt/decrypt"), Type.Literal("sign/verify")], {
  description: "must be the spec's; the spec's when absent",
});
const KeyOptions = closed({
  prefix: Type.Optional(
    Type.Union([Type.Literal("U"), Type.Literal("A"), Type.Literal("O"), Type.Literal("N"), Type.Literal("C")], {
      description: "Ed25519-nkey: whose key it is (user, account, operator, server, cluster); U unless given",
    }),
  ),
});
export const CreateKeyBody = closed({
  ...SAID_OWNER,
  type: Type.Optional(KeyType),
  usage: Type.Optional(KeyUsage),
  spec: Type.String({ minLength: 1, maxLength: SPEC_CHARACTERS_MAX, description: "in any letter case" }),
  name: Name,
  description: Type.Optional(Description),
  options: Type.Optional(KeyOptions),
});

const Data = Type.String({ maxLength: TEXT_CHARACTERS_MAX });
const Encoding = Type.Union([Type.Literal("utf8"), Type.Literal("hex")], {
  description: "how the plaintext is written; utf8 unless given",
});
/** `data` or, as existing clients send it, `message`. */
export const CIPHER_MEMBERS = {
  data: Type.Optional(Data),
  message: Type.Optional(Data),
  context: Type.Optional(Type.String({ maxLength: CONTEXT_BYTES_MAX })),
  encoding: Type.Optional(Encoding),
};
export const Secret = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    vault_id: Uuid,
    type: Type.String(),
    name: Type.String(),
    description: DescriptionText,
    deletes_at: DeletesAt,
  },
  { description: "Secret without its value" },
);
export const SecretList = Type.Array(Secret, { maxItems: LIST_ITEMS_MAX });
export const SecretWithValue = closed(
  { ...Secret.properties, value: Type.String() },
  { description: "Secret with its value" },
);
export const SecretListQuery = closed({
  name: NameFilter,
  type: Type.Optional(Type.String({ maxLength: 200, description: "only secrets of this type" })),
});
export const SecretParams = closed({ id: Uuid, secret_id: Uuid });
export const CreateSecretBody = closed({
  ...SAID_OWNER,
  name: Name,
  type: Name,
  description: Type.Optional(Description),
  value: Type.String({ minLength: 1, maxLength: SECRET_CHARACTERS_MAX, description: "at most 4096 bytes of UTF-8" }),
});

export const UnsealerKey = closed(
  {
    key: Type.String({ description: "24 words" }),
    validation_hash: Type.String({ pattern: "^0x[0-9a-f]{64}$", description: "SHA-256 of the words" }),
  },
  { description: "Seal key for another instance" },
);

export const SealKeyBody = closed(
  {
    key: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1024, description: "24 words; required where people hold the seal key" }),
    ),
  },
  { description: "`{}` where the seal provider holds the key itself" },
);
export const SealedHere = closed({ waiting_for: Type.Array(Type.String(), { description: "Names of nodes." }) });

export const SealStatus = closed({ sealed: Type.Boolean(), provider: Type.String(), initialised: Type.Boolean() });

export type VaultFilters = Static<typeof VaultListQuery>;
export type KeyFilters = Static<typeof KeyListQuery>;
export type SecretFilters = Static<typeof SecretListQuery>;
export type VaultJson = Static<typeof Vault>;
export type KeyJson = Static<typeof Key>;
export type SecretJson = Static<typeof Secret>;
export type SecretWithValueJson = Static<typeof SecretWithValue>;
export type CreateVaultInput = Static<typeof CreateVaultBody>;
export type CreateKeyInput = Static<typeof CreateKeyBody>;
export type KeyOptions = Static<typeof KeyOptions>;
export type CreateSecretInput = Static<typeof CreateSecretBody>;
