/**
 * An open transaction in memory: what the lane and the watch need at hand. The store has the truth; this is made from
 * it at start.
 */
import type { Subject } from "../../../platform/auth/principal.js";
import { ownerOf, type TransactionFault, type TransactionRecord } from "../transaction-record.js";

export interface QueuedTransaction {
  readonly owner: Subject;
  readonly id: string;
  readonly networkId: string;
  /** The caller's own choice of a nonce. */
  readonly wishedNonce: number | undefined;
  nonce: number | undefined;
  /** Of all attempts, lower case, the last one last. */
  hashes: readonly string[];
  phase: "waiting" | "signed" | "sent" | "included";
  /** False only while it is certain that no node has ever taken it. */
  mayBeKnown: boolean;
  isSending: boolean;
  /** Monotonic; when it was last sent, and how long until the node is asked whether it still has it. */
  sentAtMs: number;
  resendDelayMs: number;
  /** When a node first took it; before the store says so. */
  broadcastAt: string | undefined;
  /** Monotonic; since when a node that was sent it again says that it has it. */
  oldSinceMs: number | undefined;
  /** Monotonic; of one that could not be sent: when to try again. */
  retryAtMs: number | undefined;
  /**
   * Why it is too cheap to be signed or taken at present; gone as soon as it is not. The node says it again after a
   * restart, so that no record has it.
   */
  tooCheap: TransactionFault | undefined;
  /** Monotonic; since when its nonce counts as mined and no receipt is found. */
  missingSinceMs: number | undefined;
  block: { readonly number: number; readonly hash: string } | undefined;
}

/** The delay until a pool is asked again doubles up to this. */
export const RESEND_MAX_MS = 60_000;

/**
 * @param options.isRestored after a restart: it is not known whether a node took it
 * @param options.resendMs how long a pool is trusted to keep it before it is asked
 */
export function entryOf(
  record: TransactionRecord,
  options: { readonly isRestored: boolean; readonly resendMs: number },
): QueuedTransaction {
  const block =
    record.block === null || record.block_hash === null ? undefined : { number: record.block, hash: record.block_hash };
  return {
    owner: ownerOf(record),
    id: record.id,
    networkId: record.network_id,
    wishedNonce: record.wishes.nonce,
    nonce: record.nonce ?? undefined,
    hashes: record.attempts.map(({ hash }) => hash),
    phase:
      block !== undefined
        ? "included"
        : record.state === "created"
          ? "waiting"
          : record.state === "signed"
            ? "signed"
            : "sent",
    mayBeKnown: options.isRestored,
    isSending: false,
    sentAtMs: -Infinity,
    resendDelayMs: options.resendMs,
    broadcastAt: record.broadcast_at ?? undefined,
    oldSinceMs: undefined,
    retryAtMs: undefined,
    tooCheap: undefined,
    missingSinceMs: undefined,
    block,
  };
}
