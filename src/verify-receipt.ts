/**
 * Checks receipts offline: the signature under the prover's published keys, and that the receipt is of the proof and
 * the public signals at hand. Imports no server code, so that it also runs in browsers.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import Value from "typebox/value";
import { RECEIPT_TYPE, ReceiptClaims } from "./prover/receipts/receipt-schemas.js";
import { TokenError, verifySignedToken, type TokenKeys } from "./verify-signed-token.js";

/** What `GET /provers/:id/jwks.json` answers; any JWK set with the prover's keys. */
export type ReceiptKeys = TokenKeys;

/** What the reader knows without the receipt; whatever is given must be what the receipt says. */
export interface ExpectedReceipt {
  /** Hex as prove answers it, with or without 0x. */
  readonly proof?: string;
  /** Decimal, outputs first. */
  readonly publicSignals?: readonly string[];
  readonly issuer?: string;
  readonly proverId?: string;
  /** SHA-256 of verifying_key.json, lower-case hex. */
  readonly verifyingKeySha256?: string;
  readonly action?: ReceiptClaims["action"];
  /** True unless given: a receipt may also say that a proof is not valid. `any` takes both. */
  readonly result?: boolean | "any";
}

export type ReceiptErrorCode =
  /** No compact JWS of this type and algorithm. */
  | "receipt_malformed"
  /** The key set does not have the key. */
  | "key_unknown"
  | "key_revoked"
  | "signature_invalid"
  /** Signed, and not of the format, or at odds with itself. */
  | "claims_invalid"
  /** Not of this proof, these public signals, this prover, ... */
  | "receipt_mismatch"
  /** The receipt says that the proof is not valid (or, where `result: false` was expected, that it is). */
  | "result_unexpected";

/** Why a receipt is not accepted. */
export class ReceiptError extends Error {
  override readonly name = "ReceiptError";
  readonly code: ReceiptErrorCode;
  /** What a receipt says that is genuine and unexpected. */
  readonly claims: ReceiptClaims | undefined;

  constructor(code: ReceiptErrorCode, message: string, claims?: ReceiptClaims) {
    super(message);
    this.code = code;
    this.claims = claims;
  }
}

/** A receipt of 256 signals has some 40 KB. */
const RECEIPT_TOKEN = { name: "receipt", type: RECEIPT_TYPE, charactersMax: 128 * 1024 } as const;
const WORD_BYTES = 32;
const HEX = /^([0-9a-f]{2})+$/i;
const DECIMAL = /^(0|[1-9][0-9]{0,77})$/;

/**
 * Returns what a receipt says, after its signature, its form and all that is expected of it are checked.
 * @param receipt compact JWS
 * @param keys of the prover, from its server or kept from then on
 * @throws ReceiptError
 * @example
 *   const keys = await (await fetch(`${server}/api/v1/provers/${id}/jwks.json`)).json();
 *   const { time } = await verifyReceipt(receipt, keys, { proof, publicSignals, proverId: id });
 */
export async function verifyReceipt(
  receipt: string,
  keys: ReceiptKeys,
  expected: ExpectedReceipt = {},
): Promise<ReceiptClaims> {
  const claims = readClaims(await signedPayload(receipt, keys));
  const publicSignals = expected.publicSignals ?? claims.public_signals ?? undefined;
  const code = expected.publicSignals === undefined ? "claims_invalid" : "receipt_mismatch";
  if (publicSignals !== undefined) requireSignals(claims, publicSignals, code);
  requireExpected(claims, expected);
  const { result = true } = expected;
  if (result !== "any" && claims.result !== result)
    throw new ReceiptError(
      "result_unexpected",
      `the receipt is genuine and says that the proof is ${claims.result ? "valid" : "not valid"}`,
      claims,
    );
  return claims;
}

async function signedPayload(receipt: string, keys: ReceiptKeys): Promise<Uint8Array> {
  try {
    return await verifySignedToken(receipt, keys, RECEIPT_TOKEN);
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    throw new ReceiptError(error.fault === "malformed" ? "receipt_malformed" : error.fault, error.message);
  }
}

function readClaims(payload: Uint8Array): ReceiptClaims {
  const claims = parsed(payload);
  if (!Value.Check(ReceiptClaims, claims))
    throw new ReceiptError("claims_invalid", "the receipt is not of the format that this version knows");
  const isConsistent =
    claims.sub === claims.prover.id &&
    Math.floor(Date.parse(claims.time) / 1000) === claims.iat &&
    claims.checked_by.includes("contract") === (claims.on_chain !== undefined);
  if (!isConsistent) throw new ReceiptError("claims_invalid", "the receipt contradicts itself");
  return claims;
}

function parsed(payload: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload)) as unknown;
  } catch {
    throw new ReceiptError("claims_invalid", "the receipt's payload is no JSON");
  }
}

/** Compares hashes of the signals, and of the statement that has them; otherwise throws an error of this code. */
function requireSignals(claims: ReceiptClaims, publicSignals: readonly string[], code: ReceiptErrorCode): void {
  if (!publicSignals.every((signal) => DECIMAL.test(signal)))
    throw new ReceiptError(code, "public signals are decimal field elements");
  const bytes = concatBytes(...publicSignals.map(wordOf));
  const statement = concatBytes(
    utf8ToBytes("pv/v1/proof"),
    hexToBytes(claims.sub.replaceAll("-", "")),
    hexToBytes(claims.keys.verifying_sha256),
    bytes,
  );
  if (
    claims.public_signals_count !== publicSignals.length ||
    claims.public_signals_sha256 !== hashOf(bytes) ||
    claims.statement_sha256 !== hashOf(statement)
  )
    throw new ReceiptError(code, "the receipt is of other public signals");
}

function requireExpected(claims: ReceiptClaims, expected: ExpectedReceipt): void {
  const { proof, issuer, proverId, verifyingKeySha256, action } = expected;
  if (proof !== undefined) {
    const hex = proof.replace(/^0x/, "");
    if (!HEX.test(hex) || claims.proof_sha256 !== hashOf(hexToBytes(hex.toLowerCase())))
      throw new ReceiptError("receipt_mismatch", "the receipt is of another proof");
  }
  const pairs = [
    ["issuer", issuer, claims.iss],
    ["prover", proverId?.toLowerCase(), claims.sub],
    ["verifying key", verifyingKeySha256?.toLowerCase(), claims.keys.verifying_sha256],
    ["action", action, claims.action],
  ] as const;
  for (const [what, wanted, said] of pairs)
    if (wanted !== undefined && wanted !== said)
      throw new ReceiptError("receipt_mismatch", `the receipt's ${what} is ${said}, and not ${wanted}`);
}

/** A number beyond 32 bytes has no hash in any receipt. */
function wordOf(signal: string): Uint8Array {
  const hex = BigInt(signal)
    .toString(16)
    .padStart(2 * WORD_BYTES, "0");
  return hexToBytes(hex.length % 2 === 0 ? hex : `0${hex}`);
}

function hashOf(bytes: Uint8Array): string {
  return bytesToHex(sha256(bytes));
}
