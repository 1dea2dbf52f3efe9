/**
 * Further signatures for the nonce of an open transaction: stored before they are sent, so that one of them is mined at
 * most.
 */
import { AppError } from "../../../platform/errors.js";
import type { QueuedTransaction } from "./queued-transaction.js";
import type { NonceQueueContext } from "./nonce-queue-context.js";
import type { TransactionWriter } from "../transaction-writer.js";
import type { Attempt } from "../transaction-record.js";

/** Bumps and cancellations of one transaction; more would only fill the record. */
export const ATTEMPTS_MAX = 12;

/** Stores a further attempt of an open transaction; false when it came to its end meanwhile. */
export async function addAttempt(
  ledger: TransactionWriter,
  entry: QueuedTransaction,
  attempt: Attempt,
): Promise<boolean> {
  const isCancel = attempt.kind === "cancel";
  const stored = await ledger.change(entry.owner, entry.id, (record) => {
    if (!record.watched || record.block !== null) return undefined;
    return {
      ...record,
      attempts: [...record.attempts, attempt],
      ...(isCancel ? { cancel_requested_at: ledger.now() } : { hash: attempt.hash }),
    };
  });
  if (stored === undefined) return false;
  entry.hashes = stored.attempts.map(({ hash }) => hash);
  return true;
}

/**
 * Signs the same transaction with the same nonce for more, where its fees were ours to choose and may still rise. True
 * when there is a new attempt.
 */
export async function signForMore(
  { ledger, fees, signing, networks }: Pick<NonceQueueContext, "ledger" | "fees" | "signing" | "networks">,
  entry: QueuedTransaction,
): Promise<boolean> {
  const record = ledger.read(entry.owner, entry.id);
  const last = record?.attempts.at(-1);
  const isChosen =
    record !== undefined && record.wishes.gas_price === undefined && record.wishes.max_fee_per_gas === undefined;
  if (
    record === undefined ||
    last === undefined ||
    record.signer === null ||
    !isChosen ||
    last.kind === "cancel" ||
    record.attempts.length >= ATTEMPTS_MAX
  )
    return false;
  try {
    const higher = await fees.raise(networks.find(entry.owner, entry.networkId), last, {});
    const attempt = await signing.sign(record, entry.nonce ?? 0, higher, "bump", ledger.now());
    return await addAttempt(ledger, entry, attempt);
  } catch (error) {
    // Above the cap, or the node is away: the bytes that there are wait for a cheaper block.
    if (!(error instanceof AppError)) throw error;
    return false;
  }
}
