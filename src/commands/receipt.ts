/**
 * `proofwright receipt verify` and `proofwright receipt schema`: checks a receipt without a server, and prints the
 * format of receipts.
 */
import { StartError } from "../platform/start-error.js";
import { receiptSchemaText } from "../prover/receipts/receipt-format.js";
import type { ReceiptClaims } from "../prover/receipts/receipt-schemas.js";
import { ReceiptError, verifyReceipt, type ExpectedReceipt, type ReceiptKeys } from "../verify-receipt.js";
import { parseJson, readTextFile } from "./read-text-file.js";

interface VerifyReceiptOptions {
  /** A compact JWS, or an answer of prove or verify that has it as `receipt`. */
  readonly file: string;
  readonly jwks: string;
  /** Hex, or an answer of prove, whose public signals are then compared, too. */
  readonly proof: string | undefined;
  /** A JSON list of decimals. */
  readonly publicSignals: string | undefined;
  readonly issuer: string | undefined;
  readonly prover: string | undefined;
  readonly json: boolean;
}

/** Exit statuses: the receipt is genuine and says that the proof is valid; or why not. */
const STATUS = { valid: 0, refused: 1, genuineButFalse: 3 } as const;
/** The answer to a batch of 1,000 with its receipts has some 3 MB. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;

/** Prints the schema. Returns exit status 0. */
export function printReceiptSchema(): number {
  process.stdout.write(receiptSchemaText());
  return 0;
}

/**
 * Checks a receipt and says what it says. Returns exit status 0 for a genuine receipt of a valid proof, 1 for one that
 * is not genuine or of something else, and 3 for a genuine one that says that the proof is not valid.
 * @throws StartError for a file that cannot be read
 */
export async function runVerifyReceipt(options: VerifyReceiptOptions): Promise<number> {
  const text = await textOf(options.file);
  const receipt = memberOf(text, "receipt") ?? text.trim();
  const keys = await keysOf(options.jwks);
  const expected = await expectedOf(options);
  try {
    const claims = await verifyReceipt(receipt, keys, expected);
    return tell(options, STATUS.valid, { ok: true, claims });
  } catch (error) {
    if (!(error instanceof ReceiptError)) throw error;
    const { code, message, claims } = error;
    const status = code === "result_unexpected" ? STATUS.genuineButFalse : STATUS.refused;
    return tell(options, status, { ok: false, code, message, ...(claims === undefined ? {} : { claims }) });
  }
}

interface Told {
  readonly ok: boolean;
  readonly code?: string;
  readonly message?: string;
  readonly claims?: ReceiptClaims;
}

function tell({ json }: VerifyReceiptOptions, status: number, told: Told): number {
  const text = json ? JSON.stringify(told, null, 2) : inWords(told);
  process.stdout.write(`${text}\n`);
  return status;
}

function inWords({ code, message, claims }: Told): string {
  const refusal = code === undefined ? [] : [`Not accepted (${code}): ${message ?? ""}.`];
  if (claims === undefined) return refusal.join("\n");
  const { action, prover, scheme, curve, setup, time, iss, proof_sha256: proof, note, checked_by: checkers } = claims;
  const signals = claims.public_signals?.join(", ") ?? `${String(claims.public_signals_count)}, not listed`;
  return [
    ...(code === undefined ? ["The receipt is genuine: the proof is valid."] : refusal),
    `  action          ${action} at ${time}, by ${iss}`,
    `  prover          ${prover.id} (${prover.name}), ${scheme} over ${curve}, setup ${setup.kind}`,
    `  verifying key   ${claims.keys.verifying_sha256}`,
    `  public signals  ${signals}`,
    `  proof           ${proof}`,
    ...(note === null ? [] : [`  note            ${String(note.index)} in store ${note.store_id}, root ${note.root}`]),
    `  checked by      ${checkers.join(", ")}`,
    ...(claims.on_chain === undefined ? [] : [`  contract        ${contractLine(claims.on_chain)}`]),
  ].join("\n");
}

function contractLine({ chain_id, address, code_hash }: NonNullable<ReceiptClaims["on_chain"]>): string {
  return `${address} on chain ${String(chain_id)}, code ${code_hash}`;
}

async function expectedOf({ proof, publicSignals, issuer, prover }: VerifyReceiptOptions): Promise<ExpectedReceipt> {
  const given = proof === undefined ? undefined : await textOf(proof);
  const answered = given === undefined ? undefined : memberOf(given, "public_signals");
  const listed = publicSignals === undefined ? answered : parseJson(await textOf(publicSignals), publicSignals);
  const hex = given === undefined ? undefined : (memberOf(given, "proof") ?? given.trim());
  return {
    ...(hex === undefined ? {} : { proof: hex }),
    ...(listed === undefined ? {} : { publicSignals: signalsOf(listed) }),
    ...(issuer === undefined ? {} : { issuer }),
    ...(prover === undefined ? {} : { proverId: prover }),
  };
}

function signalsOf(value: unknown): string[] {
  if (!Array.isArray(value) || !value.every((signal) => typeof signal === "string"))
    throw new StartError("the public signals are not a list of decimal texts.");
  return value;
}

async function keysOf(path: string): Promise<ReceiptKeys> {
  const keys = parseJson(await textOf(path), path);
  if (typeof keys !== "object" || keys === null || !("keys" in keys) || !Array.isArray(keys.keys))
    throw new StartError(`${path} is no key set: it has no list \`keys\`.`);
  return keys as ReceiptKeys;
}

/** Returns a member of a text that is a JSON object; undefined for other texts. */
function memberOf(text: string, name: "receipt" | "proof"): string | undefined;
function memberOf(text: string, name: "public_signals"): unknown;
function memberOf(text: string, name: string): unknown {
  if (!text.trimStart().startsWith("{")) return undefined;
  const value = parseJson(text, "the answer") as Readonly<Record<string, unknown>>;
  if (name === "public_signals") return value[name];
  if (typeof value[name] !== "string") throw new StartError(`the answer has no \`${name}\` that is text.`);
  return value[name];
}

async function textOf(path: string): Promise<string> {
  return await readTextFile(path, FILE_BYTES_MAX);
}
