/** Schemas of operations with keys: signing, verifying, encrypting, agreeing, wallets, key sets. */
import Type, { type Static, type TObject, type TProperties } from "typebox";
import {
  BatchItemErrors,
  closed,
  Description,
  Name,
  publishedAs,
  Timestamp,
  Uuid,
} from "../../platform/contract/schemas.js";
import { CIPHER_MEMBERS, CONTEXT_BYTES_MAX, Key, SPEC_CHARACTERS_MAX, TEXT_CHARACTERS_MAX } from "../schemas.js";
import { SIGNABLE_OBJECTS } from "./signable-schemas.js";

/** Longest message to sign; longer data is hashed by the caller and its digest signed. */
export const MESSAGE_BYTES_MAX = 64 * 1024;
/** Items of one batch. */
const BATCH_ITEMS_MAX = 1000;
/** Each message of an aggregate costs a pairing, about 10 ms. */
const BLS_MESSAGES_MAX = 128;
const BLS_SIGNATURES_MAX = 1000;
/** Signers of one message: as many as Ethereum's sync committees have. A proof of possession costs two pairings. */
const BLS_KEYS_MAX = 512;
/** Hex with 0x. */
const BLS_KEY_CHARACTERS_MAX = 98;
const BLS_SIGNATURE_CHARACTERS_MAX = 194;
/** Room for 32-byte messages as BLS takes them, in hex. */
const BLS_MESSAGE_CHARACTERS_MAX = 66;
/** A compact JWS of the longest message. */
const SIGNATURE_CHARACTERS_MAX = 92_000;
/** Hex or PEM of an RSA key of 4096 bits, with room. */
const PUBLIC_KEY_CHARACTERS_MAX = 2048;
const PATH_CHARACTERS_MAX = 64;
const UINT31_MAX = 2 ** 31 - 1;
const INDEX_MAX = 2 ** 32 - 2;

const MESSAGE_FORMATS = ["raw", "personal_sign", "eip712", "transaction", "authorization", "jws"] as const;
const DIGESTS = ["none", "keccak256", "sha256"] as const;
const ALGORITHMS = ["EdDSA", "ES256", "ES256K", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"] as const;

function oneOf<Values extends string[]>(names: readonly [...Values], description: string) {
  return Type.Enum(names, { description });
}

export const HdWalletOptions = closed(
  {
    hd_derivation_path: Type.Optional(
      Type.String({
        maxLength: PATH_CHARACTERS_MAX,
        description:
          "m/44'/60'/account'/change/index, in this spelling only: an apostrophe for hardened levels, no leading zeros; excludes the other members",
      }),
    ),
    purpose: Type.Optional(Type.Integer({ minimum: 0, maximum: UINT31_MAX, description: "44 unless given" })),
    coin: Type.Optional(Type.Integer({ minimum: 0, maximum: UINT31_MAX, description: "60 (ether), the only one" })),
    coin_abbr: Type.Optional(Type.String({ maxLength: 8, description: "ETH, the only one" })),
    account: Type.Optional(Type.Integer({ minimum: 0, maximum: UINT31_MAX })),
    change: Type.Optional(Type.Integer({ minimum: 0, maximum: UINT31_MAX })),
    index: Type.Optional(
      Type.Integer({ minimum: 0, maximum: INDEX_MAX, description: "from 2^31 on the hardened child" }),
    ),
    next: Type.Optional(
      Type.Boolean({
        description: "take the next unused index of the account; excludes `index`",
      }),
    ),
  },
  { description: "BIP39 keys: which key of the wallet; m/44'/60'/0'/0/0 unless given" },
);

const JwsHeader = closed(
  { typ: Type.Optional(Type.String({ maxLength: 64 })), cty: Type.Optional(Type.String({ maxLength: 64 })) },
  { description: "further members of the JWS header" },
);

export const SignOptions = closed({
  format: Type.Optional(
    oneOf(
      MESSAGE_FORMATS,
      "the form of the message: `raw` (bytes, the default), `personal_sign` (EIP-191), `eip712` (typed data), `transaction` (Ethereum, types 0, 1, 2 and 4), `authorization` (EIP-7702), `jws` (payload of a compact JWS)",
    ),
  ),
  encoding: Type.Optional(oneOf(["hex", "utf8"], "encoding of a text message; hex unless given")),
  digest: Type.Optional(
    oneOf(
      DIGESTS,
      "secp256k1 and BIP39 keys: hash of a raw message; `none` (the message is a 32-byte digest) unless given",
    ),
  ),
  algorithm: Type.Optional(oneOf(ALGORITHMS, "RSA: PS256 unless given; other keys have one algorithm")),
  header: Type.Optional(JwsHeader),
  hdwallet: Type.Optional(HdWalletOptions),
});
const MESSAGE_TEXT =
  "hex with or without 0x, at most 64 KiB; may be empty where the format or the algorithm hashes it (not for digests and babyJubJub); an object for typed data and transactions";
/** The form of a message depends on the format, and is checked by the code of the key spec. */
const Message = Type.Union(
  [Type.String({ maxLength: TEXT_CHARACTERS_MAX }), Type.Object({}, { additionalProperties: true })],
  {
    ...publishedAs(
      Type.Union([Type.String({ maxLength: TEXT_CHARACTERS_MAX }), ...SIGNABLE_OBJECTS], { description: MESSAGE_TEXT }),
    ),
    description: MESSAGE_TEXT,
  },
);
const Signature = Type.String({
  maxLength: SIGNATURE_CHARACTERS_MAX,
  description: "hex with or without 0x; the compact form for `jws`",
});

/** One item, or `batch` with many. */
function itemOrBatch<T extends TProperties>(members: T, description: string) {
  return closed(
    {
      ...members,
      batch: Type.Optional(
        Type.Array(closed(members), {
          minItems: 1,
          maxItems: BATCH_ITEMS_MAX,
          description: "many items instead of one; returned in order",
        }),
      ),
    },
    { description },
  );
}

function resultOrBatch<T extends TObject>(item: T) {
  return Type.Union([
    item,
    closed({ batch: Type.Array(Type.Union([item, BatchItemErrors]), { maxItems: BATCH_ITEMS_MAX }) }),
  ]);
}

const SIGN_MEMBERS = { message: Type.Optional(Message), options: Type.Optional(SignOptions) };
export const SignBody = itemOrBatch(SIGN_MEMBERS, "A message to sign");
export const VerifyBody = itemOrBatch(
  { ...SIGN_MEMBERS, signature: Type.Optional(Signature) },
  "A message and its signature",
);
export const CipherItem = closed(CIPHER_MEMBERS);
export const EncryptBody = itemOrBatch(
  CIPHER_MEMBERS,
  "Plaintext in `data` (or `message`), at most 64 KiB; `context` must be given again to decrypt. The nonce is always chosen by the server.",
);
export const DecryptBody = itemOrBatch(
  CIPHER_MEMBERS,
  "Ciphertext in `data` (or `message`) as hex, with or without 0x",
);
export const RewrapBody = itemOrBatch(
  { data: CIPHER_MEMBERS.data, context: CIPHER_MEMBERS.context },
  "Ciphertext in `data` as hex, with or without 0x, and the context that it was encrypted for",
);
const AGREE_MEMBERS = {
  public_key: Type.Optional(
    Type.String({
      maxLength: PUBLIC_KEY_CHARACTERS_MAX,
      description: "the peer's key as hex: 32 bytes of X25519, or an uncompressed point of P-256, 65 bytes",
    }),
  ),
  context: Type.Optional(
    Type.String({
      maxLength: CONTEXT_BYTES_MAX,
      description: "purpose of the shared key; both sides must use the same",
    }),
  ),
};
export const AgreeBody = itemOrBatch(AGREE_MEMBERS, "The peer to agree with");
export const DeriveOptions = closed({ hdwallet: Type.Optional(HdWalletOptions) });
const DERIVE_MEMBERS = {
  nonce: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2 ** 32 - 1,
      description: "ChaCha20: used once per key; a random one when absent",
    }),
  ),
  context: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: CONTEXT_BYTES_MAX,
      description:
        "ChaCha20, required: machine-readable purpose of the child, at most 1024 bytes; part of the derivation",
    }),
  ),
  name: Type.Optional(Name),
  description: Type.Optional(Description),
  hd_derivation_path: Type.Optional(
    Type.String({ maxLength: PATH_CHARACTERS_MAX, description: "BIP39: m/44'/60'/0'/0/0 unless given" }),
  ),
  options: Type.Optional(DeriveOptions),
};
export const DeriveKeyBody = itemOrBatch(
  DERIVE_MEMBERS,
  "ChaCha20: `context` and `name` are required, the child is a key. BIP39: a path, or `options.hdwallet`; returns the wallet with the address at the path.",
);
export const DeriveReply = resultOrBatch(Key);
const DETACHED_MEMBERS = {
  spec: Type.Optional(Type.String({ maxLength: SPEC_CHARACTERS_MAX, description: "in any letter case" })),
  public_key: Type.Optional(
    Type.String({
      maxLength: PUBLIC_KEY_CHARACTERS_MAX,
      description:
        "hex with or without 0x; also PEM for RSA, whose public exponent must be 65537, and the text form for nkeys",
    }),
  ),
  ...SIGN_MEMBERS,
  signature: Type.Optional(Signature),
};
export const VerifyDetachedBody = itemOrBatch(DETACHED_MEMBERS, "A message, its signature and the public key");

const Hex = Type.String({ description: "0x-prefixed hex" });
export const SignResult = closed(
  {
    signature: Type.String({ description: "hex without 0x; secp256k1: r(32) || s(32) || v(1)" }),
    address: Type.Optional(Type.String({ description: "account that signed; BIP39 keys" })),
    hd_derivation_path: Type.Optional(Type.String({ description: "path of the key that signed; BIP39 keys" })),
    r: Type.Optional(Hex),
    s: Type.Optional(Hex),
    yParity: Type.Optional(Type.Integer({ description: "0 or 1" })),
    v: Type.Optional(Type.Integer({ description: "27 or 28; of transactions the value in the transaction" })),
    raw_transaction: Type.Optional(Type.String({ description: "the signed transaction, as nodes accept it" })),
    transaction_hash: Type.Optional(Hex),
    jws: Type.Optional(Type.String({ description: "compact form" })),
    inputs: Type.Optional(
      closed(
        {
          PublicKey: Type.Array(Type.String()),
          Message: Type.String(),
          R8: Type.Array(Type.String()),
          S: Type.String(),
        },
        { description: "babyJubJub: inputs of the circuit eddsa_signature" },
      ),
    ),
  },
  { description: "A signature" },
);
export const SignReply = resultOrBatch(SignResult);
export const VerifyResult = closed({ verified: Type.Boolean() });
export const VerifyReply = resultOrBatch(VerifyResult);
export const CipherResult = closed({
  data: Type.String({ description: "ciphertext as 0x-prefixed hex, or the plaintext" }),
});
export const CipherReply = resultOrBatch(CipherResult);
export const AgreeResult = closed({
  shared_key: Type.String({
    description: "32 bytes as 0x-prefixed hex: HKDF of the shared secret with both public keys and the context",
  }),
});
export const AgreeReply = resultOrBatch(AgreeResult);

const BLS_AGGREGATE_MEMBERS = {
  signatures: Type.Optional(
    Type.Array(Type.String({ maxLength: BLS_SIGNATURE_CHARACTERS_MAX }), {
      minItems: 1,
      maxItems: BLS_SIGNATURES_MAX,
      description: "96-byte signatures as hex",
    }),
  ),
};
export const BlsAggregateBody = itemOrBatch(BLS_AGGREGATE_MEMBERS, "Signatures to add up");
export const BlsAggregateResult = closed({ aggregate_signature: Type.String({ description: "hex without 0x" }) });
export const BlsAggregateReply = resultOrBatch(BlsAggregateResult);
const BLS_VERIFY_MEMBERS = {
  messages: Type.Optional(
    Type.Array(Type.String({ maxLength: BLS_MESSAGE_CHARACTERS_MAX }), {
      minItems: 1,
      maxItems: BLS_MESSAGES_MAX,
      description: "32 bytes each, as hex, all different",
    }),
  ),
  public_keys: Type.Optional(
    Type.Array(Type.String({ maxLength: BLS_KEY_CHARACTERS_MAX }), {
      minItems: 1,
      maxItems: BLS_MESSAGES_MAX,
      description: "48-byte keys as hex, one for each message",
    }),
  ),
  signature: Type.Optional(
    Type.String({ maxLength: BLS_SIGNATURE_CHARACTERS_MAX, description: "the aggregate, as hex" }),
  ),
};
export const BlsVerifyBody = itemOrBatch(
  BLS_VERIFY_MEMBERS,
  "Messages, the key of each, and the aggregate of their signatures",
);

export const Possession = closed(
  {
    public_key: Type.String({ description: "48 bytes as 0x-prefixed hex" }),
    proof: Type.String({ description: "96 bytes as hex without 0x" }),
  },
  { description: "A proof of possession" },
);
const BLS_POSSESSION_MEMBERS = {
  public_key: Type.Optional(Type.String({ maxLength: BLS_KEY_CHARACTERS_MAX, description: "48 bytes as hex" })),
  proof: Type.Optional(Type.String({ maxLength: BLS_SIGNATURE_CHARACTERS_MAX, description: "96 bytes as hex" })),
};
export const BlsPossessionBody = itemOrBatch(BLS_POSSESSION_MEMBERS, "A public key and the proof of its possession");
const BLS_FAST_MEMBERS = {
  message: Type.Optional(
    Type.String({ maxLength: 2 * MESSAGE_BYTES_MAX + 2, description: "the one message of all signers, as hex" }),
  ),
  public_keys: Type.Optional(
    Type.Array(Type.String({ maxLength: BLS_KEY_CHARACTERS_MAX }), {
      minItems: 1,
      maxItems: BLS_KEYS_MAX,
      description: "48-byte keys as hex",
    }),
  ),
  proofs: Type.Optional(
    Type.Array(Type.String({ maxLength: BLS_SIGNATURE_CHARACTERS_MAX }), {
      minItems: 1,
      maxItems: BLS_KEYS_MAX,
      description: "proofs of possession as hex, one for each key; required unless `proofs_checked`",
    }),
  ),
  proofs_checked: Type.Optional(
    Type.Boolean({
      description: "true: the caller has checked the possession of each key before, as by `verify_possession`",
    }),
  ),
  signature: Type.Optional(
    Type.String({ maxLength: BLS_SIGNATURE_CHARACTERS_MAX, description: "the aggregate, as hex" }),
  ),
};
export const BlsFastBody = itemOrBatch(
  BLS_FAST_MEMBERS,
  "One message, its signers, and the aggregate of their signatures",
);

export const Jwks = closed({
  keys: Type.Array(Type.Object({}, { additionalProperties: true, description: "JSON Web Key (RFC 7517)" })),
});
export const HdAddress = closed(
  {
    id: Uuid,
    created_at: Timestamp,
    address: Type.String(),
    hd_derivation_path: Type.String(),
    index: Type.Integer({ description: "last level of the path; from 2^31 on hardened" }),
  },
  { description: "An address that was derived from the wallet" },
);
export const HdAddressList = Type.Array(HdAddress, { maxItems: 100 });
export const XpubQuery = closed({
  account: Type.Optional(Type.Integer({ minimum: 0, maximum: UINT31_MAX, description: "0 unless given" })),
});
export const Xpub = closed({
  xpub: Type.String({ description: "extended public key of the account (BIP-32)" }),
  hd_derivation_path: Type.String(),
});

export type SignMessage = Static<typeof Message>;
export type SignOptions = Static<typeof SignOptions>;
export type HdWalletOptions = Static<typeof HdWalletOptions>;
export type SignResultJson = Static<typeof SignResult>;
export type SignInput = Static<typeof SignBody>;
export type DeriveKeyInput = Static<typeof DeriveKeyBody>;
export type VerifyInput = Static<typeof VerifyBody>;
export type CipherBatchInput = Static<typeof EncryptBody>;
export type RewrapInput = Static<typeof RewrapBody>;
export type AgreeInput = Static<typeof AgreeBody>;
export type VerifyDetachedInput = Static<typeof VerifyDetachedBody>;
export type BlsAggregateInput = Static<typeof BlsAggregateBody>;
export type BlsVerifyInput = Static<typeof BlsVerifyBody>;
export type BlsFastInput = Static<typeof BlsFastBody>;
export type BlsPossessionInput = Static<typeof BlsPossessionBody>;
export type PossessionJson = Static<typeof Possession>;
export type HdAddressJson = Static<typeof HdAddress>;
export type ItemErrorsJson = Static<typeof BatchItemErrors>;
