/**
 * An open transaction in memory, and the only ways in which it changes: pure functions from one state to the next.
 * The store has the truth; the state is made from the record at start.
 *
 *   waiting -> signed -> sent <-> included
 *      '---------'
 *
 * A transaction holds a nonce in every phase but `waiting`. It goes back to `waiting` only while no node can have it,
 * because another nonce would otherwise let the chain execute it twice.
 */
import type { Subject } from "../../../platform/auth/principal.js";
import { assert } from "../../../platform/errors.js";
import { ownerOf, type TransactionFault, type TransactionRecord } from "../transaction-record.js";

/** What all phases have. Times are monotonic milliseconds unless their name says otherwise. */
interface CommonState {
  /** Hashes of all attempts, lower case, the last one last. */
  readonly hashes: readonly string[];
  /** False only while it is certain that no node has ever taken the bytes. */
  readonly mayBeInPool: boolean;
  /** True from the moment at which the bytes are queued for the node until its answer was worked off. */
  readonly isSending: boolean;
  /** When a node last took the bytes, or was last asked whether it still has them; -Infinity before. */
  readonly sentAtMs: number;
  /** How long after `sentAtMs` the node is asked whether it still has the bytes. */
  readonly resendDelayMs: number;
  /** ISO 8601 time at which a node first took the bytes; known before the store has it. */
  readonly broadcastAt: string | undefined;
  /** Since when the node answers a repeated send with "already known". */
  readonly knownSinceMs: number | undefined;
  /** When to send again what could not be sent. */
  readonly retryAtMs: number | undefined;
  /**
   * Why it cannot be signed or sent at present. No record has it: the node says it again after a restart.
   */
  readonly sendFault: TransactionFault | undefined;
  /** How often in a row the bytes were refused without an end. */
  readonly refusals: number;
  /** Since when every answer was that the nonce is another transaction's. */
  readonly conflictSinceMs: number | undefined;
  /** Since when the chain counts the nonce as used and no receipt is found. */
  readonly receiptMissingSinceMs: number | undefined;
}

export interface BlockPosition {
  readonly number: number;
  /** 0x-hex. */
  readonly hash: string;
}

export type WaitingState = CommonState & { readonly phase: "waiting"; readonly nonce: undefined };
/** `signed` from the assignment of the nonce on: the signature follows, and then the first answer of a node. */
export type SignedState = CommonState & { readonly phase: "signed"; readonly nonce: number };
export type SentState = CommonState & { readonly phase: "sent"; readonly nonce: number };
export type IncludedState = CommonState & {
  readonly phase: "included";
  readonly nonce: number;
  readonly block: BlockPosition;
};
export type QueueState = WaitingState | SignedState | SentState | IncludedState;

/** One open transaction: who and what it is, and the state that the functions of this file replace as a whole. */
export interface QueuedTransaction {
  readonly owner: Subject;
  readonly id: string;
  readonly networkId: string;
  /** The nonce that the caller asked for; undefined when any will do. */
  readonly requestedNonce: number | undefined;
  state: QueueState;
}

/** The delay until a pool is asked again doubles up to this. */
const RESEND_MAX_MS = 60_000;
/** Until bytes that could not be sent are sent again: less than the block time of most chains. */
const RETRY_MS = 1_000;
/** The delay until refused bytes are sent again doubles up to this: a node repairs itself or is replaced in minutes. */
const RETRY_MAX_MS = 30_000;

/**
 * Returns the queued form of a stored open transaction.
 * @param options.isRestored true after a restart, when it is not known whether a node took the bytes
 * @param options.resendMs how long a pool is trusted to keep the bytes before it is asked
 */
export function queuedTransaction(
  record: TransactionRecord,
  options: { readonly isRestored: boolean; readonly resendMs: number },
): QueuedTransaction {
  return {
    owner: ownerOf(record),
    id: record.id,
    networkId: record.network_id,
    requestedNonce: record.wishes.nonce,
    state: stateOf(record, options),
  };
}

/** Returns the state of a transaction that has no nonce yet. */
export function waitingState(options: { readonly mayBeInPool: boolean; readonly resendMs: number }): WaitingState {
  return {
    phase: "waiting",
    nonce: undefined,
    hashes: [],
    mayBeInPool: options.mayBeInPool,
    isSending: false,
    sentAtMs: -Infinity,
    resendDelayMs: options.resendMs,
    broadcastAt: undefined,
    knownSinceMs: undefined,
    retryAtMs: undefined,
    sendFault: undefined,
    refusals: 0,
    conflictSinceMs: undefined,
    receiptMissingSinceMs: undefined,
  };
}

/** waiting -> signed: takes a nonce. The signature and the broadcast follow. */
export function assignNonce(state: QueueState, nonce: number): SignedState {
  assert(state.phase === "waiting", "only a waiting transaction takes a nonce");
  return { ...state, phase: "signed", nonce, isSending: true };
}

/**
 * signed -> waiting: gives the nonce back because the transaction could not be signed or stored.
 * @param sendFault why the fees were not acceptable, when that was the cause
 */
export function withdrawNonce(state: QueueState, sendFault?: TransactionFault): WaitingState {
  assert(state.phase === "signed" && state.hashes.length === 0, "only an unsigned transaction gives its nonce back");
  return { ...state, phase: "waiting", nonce: undefined, isSending: false, sendFault: sendFault ?? state.sendFault };
}

/** Notes the first signature, which is durable. */
export function addSignature(state: QueueState, hash: string): SignedState {
  assert(state.phase === "signed" && state.hashes.length === 0, "a transaction has one first signature");
  return { ...state, hashes: [hash], sendFault: undefined };
}

/** Notes that the record has further attempts. */
export function setAttempts(state: QueueState, hashes: readonly string[]): QueueState {
  assert(state.phase !== "waiting", "a transaction has its nonce before it is signed");
  return { ...state, hashes };
}

/**
 * signed -> waiting: discards the signature because the chain or a pool has the nonce for something else. Only while
 * no node can have the bytes.
 * @param options.resendMs how long a pool is trusted with the next bytes
 */
export function discardSignature(state: QueueState, options: { readonly resendMs: number }): WaitingState {
  assert(canDiscardSignature(state), "a transaction that a node may have keeps its nonce");
  return waitingState({ mayBeInPool: false, resendMs: options.resendMs });
}

/**
 * True while another nonce cannot make the transaction happen twice. Never once there is a second attempt, which may be
 * on its way to the node.
 */
export function canDiscardSignature(state: QueueState): boolean {
  return state.phase === "signed" && !state.mayBeInPool && state.hashes.length < 2;
}

/** Notes that the bytes are queued for the node. */
export function beginSend(state: QueueState): QueueState {
  return { ...state, isSending: true, retryAtMs: undefined };
}

/** Notes that the node's answer was worked off, or that nothing was sent. */
export function endSend(state: QueueState): QueueState {
  return { ...state, isSending: false };
}

/** Notes that the node gave no sound answer, so that it may have the bytes all the same. */
export function noteUnanswered(state: QueueState): QueueState {
  return { ...state, mayBeInPool: true };
}

/**
 * signed -> sent: a node has the bytes. One that is in a block stays there.
 * @param options.isRepeated the node said that it had the bytes already
 * @param options.now ISO 8601
 */
export function acceptSend(
  state: QueueState,
  options: { readonly nowMs: number; readonly now: string; readonly isRepeated: boolean },
): QueueState {
  assert(state.phase !== "waiting", "what was sent has a nonce");
  const next = {
    ...state,
    mayBeInPool: true,
    sendFault: undefined,
    refusals: 0,
    conflictSinceMs: undefined,
    knownSinceMs: options.isRepeated ? (state.knownSinceMs ?? options.nowMs) : state.knownSinceMs,
    sentAtMs: options.nowMs,
    broadcastAt: state.broadcastAt ?? options.now,
  };
  return next.phase === "signed" ? { ...next, phase: "sent" } : next;
}

/** Notes that the same bytes are to be sent again soon. */
export function retrySend(state: QueueState, nowMs: number): QueueState {
  return { ...state, retryAtMs: nowMs + RETRY_MS };
}

/** Notes why the bytes were refused without an end. They are sent again, each time after twice as long. */
export function holdRefused(state: QueueState, fault: TransactionFault, nowMs: number): QueueState {
  return {
    ...state,
    sendFault: fault,
    refusals: state.refusals + 1,
    retryAtMs: nowMs + Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** Math.min(state.refusals, 10)),
  };
}

/** Notes why the bytes cannot be sent at present, or with undefined that they can. */
export function setSendFault(state: QueueState, sendFault: TransactionFault | undefined): QueueState {
  return { ...state, sendFault };
}

/** Notes that the node says that the nonce is another transaction's. */
export function noteConflict(state: QueueState, nowMs: number): QueueState {
  return { ...state, conflictSinceMs: state.conflictSinceMs ?? nowMs };
}

/** True while the sender makes sure that the nonce is another transaction's, so as to take another nonce. */
export function looksForNonce(state: QueueState): boolean {
  return state.conflictSinceMs !== undefined && canDiscardSignature(state);
}

/**
 * True when a refusal for good ends the transaction: no node took the bytes, or none ever can. Never once there is a
 * second attempt, which may be on its way to the node.
 * @param options.isInvalid the bytes are against the rules of every chain
 */
export function canEndRefused(state: QueueState, options: { readonly isInvalid: boolean }): boolean {
  return state.phase === "signed" && state.hashes.length < 2 && (options.isInvalid || !state.mayBeInPool);
}

/** Notes that the node is asked whether it still has the bytes; the next time twice as much later. */
export function backOffResend(state: QueueState, nowMs: number): QueueState {
  return { ...state, sentAtMs: nowMs, resendDelayMs: Math.min(RESEND_MAX_MS, state.resendDelayMs * 2) };
}

/** Notes that something was done about bytes that the node knows and does not count. */
export function forgetStuck(state: QueueState): QueueState {
  return { ...state, knownSinceMs: undefined };
}

/** Notes that the chain counts the nonce as used and no receipt was found. */
export function missReceipt(state: QueueState, nowMs: number): QueueState {
  return { ...state, receiptMissingSinceMs: state.receiptMissingSinceMs ?? nowMs };
}

/** Notes that a receipt was found. */
export function findReceipt(state: QueueState): QueueState {
  return { ...state, receiptMissingSinceMs: undefined };
}

/** signed | sent | included -> included: a block has the transaction, or another block than before. */
export function include(state: QueueState, block: BlockPosition): IncludedState {
  assert(state.phase !== "waiting", "what is in a block has a nonce");
  return { ...state, phase: "included", block };
}

/** included -> sent: the block is no longer part of the chain. The pool is asked soon whether it has the bytes. */
export function dropFromBlock(
  state: QueueState,
  options: { readonly nowMs: number; readonly resendMs: number },
): SentState {
  assert(state.phase === "included", "only what is in a block can fall out of it");
  const { block: _block, ...rest } = state;
  return { ...rest, phase: "sent", sentAtMs: options.nowMs, resendDelayMs: options.resendMs };
}

/** True when the node should be asked whether it still has the bytes. */
export function isStale(state: QueueState, nowMs: number): boolean {
  return state.phase === "sent" && nowMs - state.sentAtMs >= state.resendDelayMs;
}

/**
 * True when the node has had the bytes for some time and there was no other attempt. If its count stops below their
 * nonce it will never mine them, and nothing after them: a pool that takes a transaction while it mines the one before
 * can lose sight of it. Other bytes for the nonce set it free. They are tried once, because what a node says of its
 * pool may be wrong and each attempt costs an eighth more.
 */
export function isStuck(state: QueueState, nowMs: number, patienceMs: number): boolean {
  return (
    state.phase === "sent" &&
    state.knownSinceMs !== undefined &&
    state.hashes.length === 1 &&
    nowMs - state.knownSinceMs >= patienceMs
  );
}

/** True when what could not be sent is to be sent again now. */
export function isRetryDue(state: QueueState, nowMs: number): boolean {
  return state.retryAtMs !== undefined && state.retryAtMs <= nowMs && !state.isSending;
}

/** Returns the nonce of a transaction that is past `waiting`. */
export function nonceOf({ state }: QueuedTransaction): number {
  assert(state.phase !== "waiting", "a signed transaction has a nonce");
  return state.nonce;
}

function stateOf(
  record: TransactionRecord,
  { isRestored, resendMs }: { readonly isRestored: boolean; readonly resendMs: number },
): QueueState {
  const common = {
    // What was not signed when the server ended is certain to be nowhere.
    ...waitingState({ mayBeInPool: isRestored && record.state !== "created", resendMs }),
    hashes: record.attempts.map(({ hash }) => hash),
    broadcastAt: record.broadcast_at ?? undefined,
  };
  if (record.state === "created") return common;
  assert(record.nonce !== null, "a signed transaction has a nonce");
  if (record.block !== null && record.block_hash !== null)
    return {
      ...common,
      phase: "included",
      nonce: record.nonce,
      block: { number: record.block, hash: record.block_hash },
    };
  return { ...common, phase: record.state === "signed" ? "signed" : "sent", nonce: record.nonce };
}
