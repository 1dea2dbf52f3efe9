/** Vaults with their keys and secrets, and the seal. */
import type { Calls } from "../calls.js";
import type { BodyAt, FiltersAt } from "../endpoints.js";
import type { CallOptions } from "../transport.js";

/** Vaults. */
export function vaultCalls(calls: Calls) {
  return {
    /** Makes a vault. */
    create: (body: BodyAt<"POST /api/v1/vaults">, options?: CallOptions) =>
      calls.create("POST /api/v1/vaults", { body }, options),
    /** Reads a vault. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/vaults/:id", { params: { id } }, options),
    /** Lists vaults. */
    list: (query?: FiltersAt<"GET /api/v1/vaults">, options?: CallOptions) =>
      calls.list("GET /api/v1/vaults", { ...(query && { query }) }, options),
    /** Deletes a vault with its keys and secrets. */
    delete: (id: string, options?: CallOptions) => calls.json("DELETE /api/v1/vaults/:id", { params: { id } }, options),
    /** Plans the deletion of a vault. */
    scheduleDeletion: (id: string, body: BodyAt<"POST /api/v1/vaults/:id/schedule_deletion">, options?: CallOptions) =>
      calls.json("POST /api/v1/vaults/:id/schedule_deletion", { params: { id }, body }, options),
    /** Takes a planned deletion back. */
    restore: (id: string, options?: CallOptions) =>
      calls.json("POST /api/v1/vaults/:id/restore", { params: { id } }, options),
    /** Reads the public keys of a vault as a JWK set. */
    jwks: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/vaults/:id/jwks.json", { params: { id } }, options),
  };
}

/** Keys of vaults, which are used and never shown. */
export function keyCalls(calls: Calls) {
  return {
    /** Makes a key. */
    create: (vaultId: string, body: BodyAt<"POST /api/v1/vaults/:id/keys">, options?: CallOptions) =>
      calls.create("POST /api/v1/vaults/:id/keys", { params: { id: vaultId }, body }, options),
    /** Reads a key, without what is secret. */
    get: (vaultId: string, keyId: string, options?: CallOptions) =>
      calls.json("GET /api/v1/vaults/:id/keys/:key_id", { params: { id: vaultId, key_id: keyId } }, options),
    /** Lists the keys of a vault. */
    list: (vaultId: string, query?: FiltersAt<"GET /api/v1/vaults/:id/keys">, options?: CallOptions) =>
      calls.list("GET /api/v1/vaults/:id/keys", { params: { id: vaultId }, ...(query && { query }) }, options),
    /** Deletes a key. */
    delete: (vaultId: string, keyId: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/vaults/:id/keys/:key_id", { params: { id: vaultId, key_id: keyId } }, options),
    /** Lists the addresses of a wallet key. */
    addresses: (vaultId: string, keyId: string, options?: CallOptions) =>
      calls.list("GET /api/v1/vaults/:id/keys/:key_id/addresses", { params: { id: vaultId, key_id: keyId } }, options),
    /** Reads the extended public key of a wallet key. */
    xpub: (
      vaultId: string,
      keyId: string,
      query?: FiltersAt<"GET /api/v1/vaults/:id/keys/:key_id/xpub">,
      options?: CallOptions,
    ) =>
      calls.json(
        "GET /api/v1/vaults/:id/keys/:key_id/xpub",
        { params: { id: vaultId, key_id: keyId }, ...(query && { query }) },
        options,
      ),
  };
}

/** Signatures and keys that follow from a key. */
export function signingCalls(calls: Calls) {
  return {
    /** Signs a message. */
    sign: (
      vaultId: string,
      keyId: string,
      body: BodyAt<"POST /api/v1/vaults/:id/keys/:key_id/sign">,
      options?: CallOptions,
    ) =>
      calls.json(
        "POST /api/v1/vaults/:id/keys/:key_id/sign",
        { params: { id: vaultId, key_id: keyId }, body },
        options,
      ),
    /** Verifies a signature. */
    verify: (
      vaultId: string,
      keyId: string,
      body: BodyAt<"POST /api/v1/vaults/:id/keys/:key_id/verify">,
      options?: CallOptions,
    ) =>
      calls.json(
        "POST /api/v1/vaults/:id/keys/:key_id/verify",
        { params: { id: vaultId, key_id: keyId }, body },
        options,
      ),
    /** Derives a key. */
    derive: (
      vaultId: string,
      keyId: string,
      body: BodyAt<"POST /api/v1/vaults/:id/keys/:key_id/derive">,
      options?: CallOptions,
    ) =>
      calls.json(
        "POST /api/v1/vaults/:id/keys/:key_id/derive",
        { params: { id: vaultId, key_id: keyId }, body },
        options,
      ),
    /** Agrees on a secret with the owner of another key. */
    agree: (
      vaultId: string,
      keyId: string,
      body: BodyAt<"POST /api/v1/vaults/:id/keys/:key_id/agree">,
      options?: CallOptions,
    ) =>
      calls.json(
        "POST /api/v1/vaults/:id/keys/:key_id/agree",
        { params: { id: vaultId, key_id: keyId }, body },
        options,
      ),
  };
}

/** Encryption under a key. */
export function cipherCalls(calls: Calls) {
  return {
    /** Encrypts data. */
    encrypt: (
      vaultId: string,
      keyId: string,
      body: BodyAt<"POST /api/v1/vaults/:id/keys/:key_id/encrypt">,
      options?: CallOptions,
    ) =>
      calls.json(
        "POST /api/v1/vaults/:id/keys/:key_id/encrypt",
        { params: { id: vaultId, key_id: keyId }, body },
        options,
      ),
    /** Decrypts data. */
    decrypt: (
      vaultId: string,
      keyId: string,
      body: BodyAt<"POST /api/v1/vaults/:id/keys/:key_id/decrypt">,
      options?: CallOptions,
    ) =>
      calls.json(
        "POST /api/v1/vaults/:id/keys/:key_id/decrypt",
        { params: { id: vaultId, key_id: keyId }, body },
        options,
      ),
    /** Encrypts under the newest version of a key what an older one encrypted. */
    rewrap: (
      vaultId: string,
      keyId: string,
      body: BodyAt<"POST /api/v1/vaults/:id/keys/:key_id/rewrap">,
      options?: CallOptions,
    ) =>
      calls.json(
        "POST /api/v1/vaults/:id/keys/:key_id/rewrap",
        { params: { id: vaultId, key_id: keyId }, body },
        options,
      ),
  };
}

/** The life of keys. */
export function keyLifeCalls(calls: Calls) {
  return {
    /** Makes a new version of a key. */
    rotate: (vaultId: string, keyId: string, options?: CallOptions) =>
      calls.json("POST /api/v1/vaults/:id/keys/:key_id/rotate", { params: { id: vaultId, key_id: keyId } }, options),
    /** Forbids the use of a key. */
    disable: (vaultId: string, keyId: string, options?: CallOptions) =>
      calls.json("POST /api/v1/vaults/:id/keys/:key_id/disable", { params: { id: vaultId, key_id: keyId } }, options),
    /** Allows the use of a key again. */
    enable: (vaultId: string, keyId: string, options?: CallOptions) =>
      calls.json("POST /api/v1/vaults/:id/keys/:key_id/enable", { params: { id: vaultId, key_id: keyId } }, options),
    /** Plans the deletion of a key. */
    scheduleDeletion: (
      vaultId: string,
      keyId: string,
      body: BodyAt<"POST /api/v1/vaults/:id/keys/:key_id/schedule_deletion">,
      options?: CallOptions,
    ) =>
      calls.json(
        "POST /api/v1/vaults/:id/keys/:key_id/schedule_deletion",
        { params: { id: vaultId, key_id: keyId }, body },
        options,
      ),
    /** Takes a planned deletion back. */
    restore: (vaultId: string, keyId: string, options?: CallOptions) =>
      calls.json("POST /api/v1/vaults/:id/keys/:key_id/restore", { params: { id: vaultId, key_id: keyId } }, options),
  };
}

/** Secrets of vaults. */
export function secretCalls(calls: Calls) {
  return {
    /** Stores a secret. */
    create: (vaultId: string, body: BodyAt<"POST /api/v1/vaults/:id/secrets">, options?: CallOptions) =>
      calls.json("POST /api/v1/vaults/:id/secrets", { params: { id: vaultId }, body }, options),
    /** Reads a secret with its value. */
    get: (vaultId: string, secretId: string, options?: CallOptions) =>
      calls.json(
        "GET /api/v1/vaults/:id/secrets/:secret_id",
        { params: { id: vaultId, secret_id: secretId } },
        options,
      ),
    /** Lists secrets, without their values. */
    list: (vaultId: string, query?: FiltersAt<"GET /api/v1/vaults/:id/secrets">, options?: CallOptions) =>
      calls.list("GET /api/v1/vaults/:id/secrets", { params: { id: vaultId }, ...(query && { query }) }, options),
    /** Deletes a secret. */
    delete: (vaultId: string, secretId: string, options?: CallOptions) =>
      calls.json(
        "DELETE /api/v1/vaults/:id/secrets/:secret_id",
        { params: { id: vaultId, secret_id: secretId } },
        options,
      ),
    /** Plans the deletion of a secret. */
    scheduleDeletion: (
      vaultId: string,
      secretId: string,
      body: BodyAt<"POST /api/v1/vaults/:id/secrets/:secret_id/schedule_deletion">,
      options?: CallOptions,
    ) =>
      calls.json(
        "POST /api/v1/vaults/:id/secrets/:secret_id/schedule_deletion",
        { params: { id: vaultId, secret_id: secretId }, body },
        options,
      ),
    /** Takes a planned deletion back. */
    restore: (vaultId: string, secretId: string, options?: CallOptions) =>
      calls.json(
        "POST /api/v1/vaults/:id/secrets/:secret_id/restore",
        { params: { id: vaultId, secret_id: secretId } },
        options,
      ),
  };
}
