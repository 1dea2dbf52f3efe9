/** The routes of receipts, as plain values: the keys that check them, and their format. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import { IdParams } from "../../platform/contract/schemas.js";
import {
  RECEIPT_SCHEMA_PATH,
  ReceiptKey,
  ReceiptKeyParams,
  ReceiptKeySet,
  RevokeReceiptKey,
} from "./receipt-schemas.js";

const UPDATE = { permissions: ["update"] } as const;

export const receiptRoutes = {
  getReceiptSchema: defineRoute({
    id: "getReceiptSchema",
    area: "prover",
    method: "GET",
    path: RECEIPT_SCHEMA_PATH,
    summary: "The format of receipts as JSON Schema",
    auth: "public",
    responses: { 200: { description: "JSON Schema 2020-12 of a receipt's claims", bytes: "application/schema+json" } },
  }),
  getReceiptKeySet: defineRoute({
    id: "getReceiptKeySet",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/jwks.json",
    summary: "Public keys that check a prover's receipts (RFC 7517)",
    auth: "public",
    description:
      "For everybody who knows the prover's id, which its receipts name. Keys stay here after their rotation and after the prover's deletion, so that old receipts can be checked; revoked ones move to `revoked_keys`. 404 for a prover that has signed nothing yet.",
    params: IdParams,
    responses: { 200: { description: "Key set", schema: ReceiptKeySet } },
    errors: ["not_found"],
  }),
  listReceiptKeys: defineRoute({
    id: "listReceiptKeys",
    area: "prover",
    method: "GET",
    path: "/api/v1/provers/:id/receipt_keys",
    summary: "List the keys that sign a prover's receipts",
    auth: { permissions: ["read"] },
    list: true,
    params: IdParams,
    responses: { 200: { description: "Keys, oldest first", schema: Type.Array(ReceiptKey) } },
    errors: ["not_found"],
  }),
  rotateReceiptKey: defineRoute({
    id: "rotateReceiptKey",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers/:id/receipt_keys",
    summary: "Sign receipts with a new key",
    auth: UPDATE,
    needsUnsealed: true,
    creates: true,
    keepsOnce: true,
    description:
      "Makes a new key, which signs from now on. The one before it stays published for the receipts that it has signed, and its private key is deleted from the vault.",
    params: IdParams,
    responses: { 201: { description: "The new key", schema: ReceiptKey } },
    errors: ["not_found", "prover_keys_missing", "receipt_key_limit_reached", "vault_sealed", "storage_full"],
  }),
  revokeReceiptKey: defineRoute({
    id: "revokeReceiptKey",
    area: "prover",
    method: "POST",
    path: "/api/v1/provers/:id/receipt_keys/:kid/revoke",
    summary: "Revoke a key that signed receipts",
    auth: UPDATE,
    needsUnsealed: true,
    description:
      "For a key that others may have had. All of its receipts fail from then on, earlier ones too: who has the key writes any time into them. The next receipt is signed with a new key. Also of a prover that is deleted; again changes nothing.",
    params: ReceiptKeyParams,
    body: RevokeReceiptKey,
    bodyOptional: true,
    responses: { 200: { description: "The revoked key", schema: ReceiptKey } },
    errors: ["not_found", "vault_sealed", "storage_full"],
    example: { body: { reason: "the backup that held it was stolen" } },
  }),
} as const;
