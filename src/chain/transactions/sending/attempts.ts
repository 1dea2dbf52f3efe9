/**
 * The signatures of an open transaction: all for the same nonce and stored before they are sent, so that at most one of
 * them is mined, whatever ends the process.
 */
import { AppError } from "../../../platform/errors.js";
import type { Attempt, TransactionRecord } from "../transaction-record.js";
import type { TransactionWriter } from "../transaction-writer.js";
import type { NonceQueueContext } from "./nonce-queue-context.js";
import type { TransactionNetwork } from "../transaction-ports.js";
import { addSignature, nonceOf, setAttempts, type QueuedTransaction } from "./queued-transaction.js";

/** Bumps and cancellations of one transaction; more would only fill the record. */
export const ATTEMPTS_MAX = 12;

/**
 * Signs a transaction that was just given its nonce, and stores the signature.
 * @returns the attempt once it is durable; undefined when the transaction was cancelled meanwhile
 * @throws NonceTaken, fee_cap_exceeded, and what the vault, the node and the store fail with
 */
export async function addFirstAttempt(
  { writer, fees, signing }: Pick<NonceQueueContext, "writer" | "fees" | "signing">,
  queued: QueuedTransaction,
  network: TransactionNetwork,
): Promise<Attempt | undefined> {
  const nonce = nonceOf(queued);
  const found = writer.find(queued.owner, queued.id);
  if (found?.value.state !== "created") return undefined;
  const attempt = await signing.sign(found.value, {
    nonce,
    fees: await fees.choose(network, found.value.wishes),
    kind: "first",
    now: writer.now(),
  });
  const stored = await writer.change(
    queued.owner,
    queued.id,
    (current) =>
      current.state === "created"
        ? { ...current, state: "signed", nonce, holds_nonce: true, attempts: [attempt], hash: attempt.hash }
        : undefined,
    found,
  );
  if (stored === undefined) return undefined;
  queued.state = addSignature(queued.state, attempt.hash);
  return attempt;
}

/**
 * Stores a further attempt of an open transaction.
 * @param signed the attempt and the nonce that it was signed for
 * @returns false when the transaction ended, was mined or got another nonce meanwhile
 */
export async function addAttempt(
  writer: TransactionWriter,
  queued: QueuedTransaction,
  { attempt, nonce }: { readonly attempt: Attempt; readonly nonce: number },
): Promise<boolean> {
  const isCancel = attempt.kind === "cancel";
  const stored = await writer.change(queued.owner, queued.id, (record) => {
    if (!record.watched || record.block !== null || record.nonce !== nonce) return undefined;
    return {
      ...record,
      attempts: [...record.attempts, attempt],
      ...(isCancel ? { cancel_requested_at: writer.now() } : { hash: attempt.hash }),
    };
  });
  if (stored === undefined) return false;
  queued.state = setAttempts(
    queued.state,
    stored.attempts.map(({ hash }) => hash),
  );
  return true;
}

/**
 * Signs the same transaction with the same nonce for higher fees, where the caller left the fees to the server.
 * @returns true when there is a new attempt; false when the fees may not rise, or cannot be known at present
 */
export async function signWithHigherFees(
  { writer, fees, signing, networks }: Pick<NonceQueueContext, "writer" | "fees" | "signing" | "networks">,
  queued: QueuedTransaction,
): Promise<boolean> {
  const record = writer.find(queued.owner, queued.id)?.value;
  const last = record === undefined ? undefined : raisableAttempt(record);
  if (record === undefined || last === undefined) return false;
  try {
    const higher = await fees.raise(networks.find(queued.owner, queued.networkId), last, {});
    const nonce = nonceOf(queued);
    const attempt = await signing.sign(record, { nonce, fees: higher, kind: "bump", now: writer.now() });
    return await addAttempt(writer, queued, { attempt, nonce });
  } catch (error) {
    // Above the cap, or the node does not answer: the present bytes wait for a cheaper block.
    if (!(error instanceof AppError)) throw error;
    return false;
  }
}

/** The last attempt, where its fees were the server's choice and may still rise. */
function raisableAttempt({ wishes, signer, attempts }: TransactionRecord): Attempt | undefined {
  const last = attempts.at(-1);
  const isChosenByServer = wishes.gas_price === undefined && wishes.max_fee_per_gas === undefined;
  if (!isChosenByServer || signer === null || last?.kind === "cancel" || attempts.length >= ATTEMPTS_MAX)
    return undefined;
  return last;
}
