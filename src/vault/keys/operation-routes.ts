/**
 * Route definitions of what is done with keys. SPEC 4.2 refers to the Signing and Verification API and shows none of it
 * but derive; paths, members and statuses are those that existing clients use. Plain values; no server code.
 */
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import {
  AgreeBody,
  AgreeReply,
  BlsAggregateBody,
  BlsAggregateReply,
  BlsVerifyBody,
  CipherReply,
  DecryptBody,
  DeriveKeyBody,
  DeriveReply,
  EncryptBody,
  HdAddressList,
  Jwks,
  SignBody,
  SignReply,
  VerifyBody,
  VerifyDetachedBody,
  VerifyReply,
  Xpub,
  XpubQuery,
} from "./operation-schemas.js";
import { KeyParams } from "../schemas.js";

/**
 * A thousand items of 1 KiB, or one of 64 KiB as text with many escapes. Reading a larger body would hold up the event
 * loop.
 */
const BODY_BYTES_MAX = 1024 * 1024;
/** What a batch of `encrypt` answers, in hex: its long texts are read ten times as fast as other JSON. */
const DECRYPT_BODY_BYTES_MAX = 2.25 * 1024 * 1024;
/** A thousand items with options, or a large document of typed data. */
const JSON_TOKENS_MAX = 50_000;
/** A batch of slow signatures; it is cut off when the caller goes away. */
const DEADLINE_MS = 120_000;

const EXAMPLE_DIGEST = "9c22ff5f21f0b81b113e63f7db6da94fedef11b2119b4088b89664fb9a3cb658";

const base = { area: "vault", needsUnsealed: true } as const;
const limits = { bodyBytesMax: BODY_BYTES_MAX, jsonTokensMax: JSON_TOKENS_MAX, deadlineMs: DEADLINE_MS } as const;
const BATCHES =
  "With `batch`, up to 1000 items are answered in order under `batch`; an item that fails holds its `errors` and does not affect the others.";
const MESSAGE_ERRORS = [
  "message_required",
  "message_too_long",
  "message_out_of_field",
  "digest_length_invalid",
  "option_unsupported",
  "algorithm_unsupported",
  "transaction_invalid",
  "typed_data_invalid",
  "derivation_path_invalid",
] as const;

export const operationRoutes = {
  deriveKey: defineRoute({
    ...base,
    ...limits,
    id: "deriveKey",
    method: "POST",
    path: "/api/v1/vaults/:id/keys/:key_id/derive",
    summary: "Derive a child key, or an address of a wallet",
    description: `ChaCha20 keys: a nonce serves once per key; the same nonce again is a conflict. BIP39 keys: the answer is the key with \`address\` and \`hd_derivation_path\`, and the address goes onto the wallet's list. ${BATCHES}`,
    auth: { permissions: ["create", "vault_use"] },
    params: KeyParams,
    body: DeriveKeyBody,
    creates: true,
    responses: { 201: { description: "The child key, or the wallet with the address", schema: DeriveReply } },
    errors: [
      "not_found",
      "spec_cannot_derive",
      "nonce_reused",
      "key_disabled",
      "derivation_path_invalid",
      "derivation_index_exhausted",
      "option_unsupported",
      "conflict",
    ],
    example: { body: { nonce: 7, context: "payments/2026", name: "payments 2026", description: "" } },
  }),
  signMessage: defineRoute({
    ...base,
    ...limits,
    id: "signMessage",
    method: "POST",
    path: "/api/v1/vaults/:id/keys/:key_id/sign",
    summary: "Sign a message, a transaction or typed data",
    description: `Every signature was verified before it is answered. secp256k1 and BIP39 keys sign 32-byte digests unless the options say otherwise, always with low S. ${BATCHES}`,
    auth: { permissions: ["vault_use"] },
    params: KeyParams,
    body: SignBody,
    responses: { 201: { description: "The signature", schema: SignReply, mayBeText: true } },
    errors: [
      "not_found",
      "spec_cannot_sign",
      "key_disabled",
      "derivation_index_exhausted",
      "signature_self_check_failed",
      ...MESSAGE_ERRORS,
    ],
    example: { body: { message: EXAMPLE_DIGEST } },
  }),
  verifySignature: defineRoute({
    ...base,
    ...limits,
    id: "verifySignature",
    method: "POST",
    path: "/api/v1/vaults/:id/keys/:key_id/verify",
    summary: "Verify a signature with a key of the vault",
    description: `A wrong signature is \`verified: false\`, whatever is wrong with it; only what is not hex is refused. ${BATCHES}`,
    auth: { permissions: ["vault_use"] },
    params: KeyParams,
    body: VerifyBody,
    responses: { 200: { description: "Whether the signature is the key's", schema: VerifyReply, mayBeText: true } },
    errors: ["not_found", "spec_cannot_verify", "key_disabled", "signature_malformed", ...MESSAGE_ERRORS],
    example: { body: { message: EXAMPLE_DIGEST, signature: "00" } },
  }),
  encrypt: defineRoute({
    ...base,
    ...limits,
    id: "encrypt",
    method: "POST",
    path: "/api/v1/vaults/:id/keys/:key_id/encrypt",
    summary: "Encrypt data with a key",
    description: BATCHES,
    auth: { permissions: ["vault_use"] },
    params: KeyParams,
    body: EncryptBody,
    responses: { 200: { description: "The ciphertext", schema: CipherReply, mayBeText: true } },
    errors: ["not_found", "spec_cannot_encrypt", "key_disabled", "message_too_long"],
    example: { body: { data: "hello", context: "greeting" } },
  }),
  decrypt: defineRoute({
    ...base,
    ...limits,
    id: "decrypt",
    method: "POST",
    path: "/api/v1/vaults/:id/keys/:key_id/decrypt",
    summary: "Decrypt data with a key",
    description: BATCHES,
    auth: { permissions: ["vault_use"] },
    params: KeyParams,
    body: DecryptBody,
    bodyBytesMax: DECRYPT_BODY_BYTES_MAX,
    responses: { 200: { description: "The plaintext", schema: CipherReply, mayBeText: true } },
    errors: ["not_found", "spec_cannot_decrypt", "decryption_failed", "key_disabled"],
    example: { body: { data: "0x0101…", context: "greeting" } },
  }),
  agree: defineRoute({
    ...base,
    ...limits,
    id: "agree",
    method: "POST",
    path: "/api/v1/vaults/:id/keys/:key_id/agree",
    summary: "Agree on a key with the holder of another X25519 key",
    description: `C25519 keys only. Both sides get the same 32 bytes: HKDF-SHA-256 of the X25519 secret, without salt, info = "pv/v1/agree" 0x00, the smaller public key, the larger one, the context's length (2 bytes) and the context. ${BATCHES}`,
    auth: { permissions: ["vault_use"] },
    params: KeyParams,
    body: AgreeBody,
    responses: { 200: { description: "The shared key", schema: AgreeReply, mayBeText: true } },
    errors: ["not_found", "spec_cannot_agree", "public_key_invalid", "key_disabled"],
    example: {
      body: { public_key: "0xde9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f", context: "session" },
    },
  }),
  listAddresses: defineRoute({
    ...base,
    id: "listAddresses",
    method: "GET",
    path: "/api/v1/vaults/:id/keys/:key_id/addresses",
    summary: "List the addresses that were derived from a wallet",
    description: "Those of `derive`, and those that signed with the next index.",
    auth: { permissions: ["read"] },
    params: KeyParams,
    list: true,
    responses: { 200: { description: "Addresses, oldest first", schema: HdAddressList } },
    errors: ["not_found", "spec_cannot_derive"],
  }),
  getXpub: defineRoute({
    ...base,
    id: "getXpub",
    method: "GET",
    path: "/api/v1/vaults/:id/keys/:key_id/xpub",
    summary: "Get the extended public key of a wallet's account",
    description:
      "Needs a permission of its own: it tells every address of the account, and together with the private key of one of them all others.",
    auth: { permissions: ["vault_use", "secret_read"] },
    params: KeyParams,
    query: XpubQuery,
    responses: { 200: { description: "The extended public key", schema: Xpub } },
    errors: ["not_found", "spec_has_no_xpub", "key_disabled"],
  }),
  getVaultJwks: defineRoute({
    ...base,
    id: "getVaultJwks",
    method: "GET",
    path: "/api/v1/vaults/:id/jwks.json",
    summary: "Get the public keys of a vault as a JSON Web Key Set",
    description:
      "Ed25519, Ed25519-nkey, P-256, secp256k1, RSA and C25519 keys; `kid` is the key's id. The pages are those of the vault's asymmetric keys.",
    auth: { permissions: ["read"] },
    params: IdParams,
    list: true,
    responses: { 200: { description: "The key set", schema: Jwks } },
    errors: ["not_found"],
  }),
  verifyDetached: defineRoute({
    ...base,
    ...limits,
    id: "verifyDetached",
    method: "POST",
    path: "/api/v1/verify",
    summary: "Verify a signature with a public key of the caller's",
    description: BATCHES,
    auth: { permissions: ["vault_use"] },
    body: VerifyDetachedBody,
    responses: { 200: { description: "Whether the signature is the key's", schema: VerifyReply } },
    errors: ["key_spec_unknown", "spec_cannot_verify", "public_key_invalid", "signature_malformed", ...MESSAGE_ERRORS],
    example: {
      body: {
        spec: "Ed25519",
        public_key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        message: "72",
        signature: "00",
      },
    },
  }),
  blsAggregate: defineRoute({
    ...base,
    ...limits,
    id: "blsAggregate",
    method: "POST",
    path: "/api/v1/bls/aggregate",
    summary: "Add BLS signatures up",
    description: BATCHES,
    auth: { permissions: ["vault_use"] },
    body: BlsAggregateBody,
    responses: { 201: { description: "The aggregate", schema: BlsAggregateReply } },
    errors: ["signature_malformed"],
    example: { body: { signatures: ["00"] } },
  }),
  blsVerify: defineRoute({
    ...base,
    ...limits,
    id: "blsVerify",
    method: "POST",
    path: "/api/v1/bls/verify",
    summary: "Verify an aggregate of BLS signatures on different messages",
    description: BATCHES,
    auth: { permissions: ["vault_use"] },
    body: BlsVerifyBody,
    responses: {
      200: { description: "Whether the aggregate is that of each key on its message", schema: VerifyReply },
    },
    errors: ["public_key_invalid", "signature_malformed", "messages_not_distinct", "digest_length_invalid"],
    example: { body: { messages: ["00".repeat(32)], public_keys: ["00"], signature: "00" } },
  }),
} as const;
