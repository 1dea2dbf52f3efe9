/**
 * Checks signed tree heads of stores offline: the signature under the store's published keys, and what the head says.
 * Imports no server code, so that it also runs in browsers.
 */
import Value from "typebox/value";
import { TREE_HEAD_TYPE, TreeHeadClaims } from "./prover/stores/head-key-schemas.js";
import { TokenError, verifySignedToken, type TokenKeys } from "./verify-signed-token.js";

/** What `GET /stores/:id/jwks.json` answers; any JWK set with the store's keys. */
export type TreeHeadKeys = TokenKeys;
export type { TreeHeadClaims } from "./prover/stores/head-key-schemas.js";

/** What the reader knows without the head; whatever is given must be what the head says. */
export interface ExpectedTreeHead {
  readonly storeId?: string;
  readonly kind?: TreeHeadClaims["kind"];
  readonly curve?: TreeHeadClaims["curve"];
  readonly size?: number;
  /** Hex of 64 digits. */
  readonly root?: string;
}

export type TreeHeadErrorCode =
  /** No compact JWS of this type and algorithm. */
  | "head_malformed"
  /** The key set does not have the key. */
  | "key_unknown"
  | "key_revoked"
  | "signature_invalid"
  /** Signed, and not of the format. */
  | "claims_invalid"
  /** Of another store, another size, another root, ... */
  | "head_mismatch";

/** Why a tree head is not accepted. */
export class TreeHeadError extends Error {
  override readonly name = "TreeHeadError";
  readonly code: TreeHeadErrorCode;

  constructor(code: TreeHeadErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** A head has some 500 characters. */
const HEAD_TOKEN = { name: "tree head", type: TREE_HEAD_TYPE, charactersMax: 4096 } as const;

/**
 * Returns what a tree head says, after its signature, its form and all that is expected of it are checked.
 * @param head compact JWS, the member `jws` of what the API answers
 * @param keys of the store, from its server or kept from then on; not those that an answer has beside the head
 * @throws TreeHeadError
 * @example
 *   const keys = await (await fetch(`${server}/api/v1/stores/${id}/jwks.json`)).json();
 *   const { root, size } = await verifyTreeHead(head.jws, keys, { storeId: id });
 */
export async function verifyTreeHead(
  head: string,
  keys: TreeHeadKeys,
  expected: ExpectedTreeHead = {},
): Promise<TreeHeadClaims> {
  const claims = readClaims(await signedPayload(head, keys));
  const pairs = [
    ["store", expected.storeId?.toLowerCase(), claims.store_id],
    ["kind", expected.kind, claims.kind],
    ["curve", expected.curve, claims.curve],
    ["size", expected.size, claims.size],
    ["root", expected.root, claims.root],
  ] as const;
  for (const [what, wanted, said] of pairs)
    if (wanted !== undefined && wanted !== said)
      throw new TreeHeadError("head_mismatch", `the tree head's ${what} is ${String(said)}, and not ${String(wanted)}`);
  return claims;
}

async function signedPayload(head: string, keys: TreeHeadKeys): Promise<Uint8Array> {
  try {
    return await verifySignedToken(head, keys, HEAD_TOKEN);
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    throw new TreeHeadError(error.fault === "malformed" ? "head_malformed" : error.fault, error.message);
  }
}

function readClaims(payload: Uint8Array): TreeHeadClaims {
  const claims = parsed(payload);
  if (!Value.Check(TreeHeadClaims, claims) || Number.isNaN(Date.parse(claims.time)))
    throw new TreeHeadError("claims_invalid", "the tree head is not of the format that this version knows");
  return claims;
}

function parsed(payload: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload)) as unknown;
  } catch {
    throw new TreeHeadError("claims_invalid", "the tree head's payload is no JSON");
  }
}
