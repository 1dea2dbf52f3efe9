/**
 * A transaction as it is stored, its states, and what clients see of it.
 *
 *   created -> signed -> sent -> mined -> confirmed
 *      |          |        |       '-> (reorganisation) -> sent
 *      '----------'--------'-> failed | replaced | cancelled
 *                                 '-> mined, where a block has its bytes all the same (following/ended-watch.ts)
 *
 * `signed` is durable before anything leaves the server, so that the same bytes are sent again after any crash.
 */
import type { Subject, SubjectKind } from "../../platform/auth/principal.js";
import type { StoreValue } from "../../platform/store/store.js";
import type { ReceiptLog } from "./node-values.js";
import type { TransactionJson } from "./transaction-schemas.js";

export type TransactionState = TransactionJson["state"];

/** One signature. A type and not an interface, because only types are values of the store. */
export type Attempt = {
  /** 0x-hex Keccak-256 of the signed bytes. */
  readonly hash: string;
  readonly kind: "first" | "bump" | "cancel";
  readonly signed_at: string;
  /** Wei, decimal. `gas_price` for type 0, the other two for type 2. */
  readonly gas_price?: string;
  readonly max_fee_per_gas?: string;
  readonly max_priority_fee_per_gas?: string;
  /** The signed bytes as nodes take them, 0x-hex; until the transaction is final. */
  readonly raw?: string;
};

/** What the caller asked for; wei and gas in decimal. Stored, and returned to clients as `params`. */
export type RequestedValues = {
  readonly gas?: string;
  readonly gas_price?: string;
  readonly max_fee_per_gas?: string;
  readonly max_priority_fee_per_gas?: string;
  readonly nonce?: number;
};

export type TransactionFault = { readonly code: string; readonly message: string };

/** The key of a signer; transactions that callers signed themselves have none. */
export type SignerRecord = {
  readonly vault_id: string;
  readonly key_id: string;
  /** The path of a wallet's address; null for an account's key. */
  readonly path: string | null;
};

/** What the receipt says beyond the members of the record; bounded, because lists read whole records. */
export type StoredReceipt = {
  readonly is_success: boolean;
  /** The first ones; null where the node told none that are sound. */
  readonly logs: readonly ReceiptLog[] | null;
  readonly logs_count: number | null;
  /** Return data of the call that was repeated to find the reason of a revert, 0x-hex, cut; null without any. */
  readonly revert_data: string | null;
};

/** What a contract's method returned when it was simulated at submission. */
export type SimulatedReturn = { readonly method: string; readonly value: StoreValue };

export type TransactionRecord = {
  readonly id: string;
  readonly created_at: string;
  readonly owner_kind: SubjectKind;
  readonly owner_id: string;
  readonly network_id: string;
  readonly chain_id: number;
  readonly account_id: string | null;
  readonly wallet_id: string | null;
  readonly signer: SignerRecord | null;
  /** Checksummed. */
  readonly from: string;
  /** Checksummed; null creates a contract. */
  readonly to: string | null;
  /** Wei, decimal. */
  readonly value: string;
  /** 0x-hex. */
  readonly data: string;
  readonly gas: string;
  readonly wishes: RequestedValues;
  readonly ref: string;
  readonly description: string | null;
  readonly contract_id: string | null;
  readonly state: TransactionState;
  readonly nonce: number | null;
  /**
   * True from the commit of the first signature until the nonce is given back, or used for good: the store lets no
   * other transaction of the account have it meanwhile. Absent in records of earlier versions, whose nonces memory
   * alone keeps.
   */
  readonly holds_nonce?: boolean;
  /** In the order in which they were signed; all have the transaction's nonce. */
  readonly attempts: readonly Attempt[];
  /** The one that counts: the mined one, else the last that is not a cancellation. */
  readonly hash: string | null;
  readonly error: TransactionFault | null;
  readonly block: number | null;
  readonly block_hash: string | null;
  readonly block_timestamp: string | null;
  readonly gas_used: string | null;
  readonly effective_gas_price: string | null;
  readonly contract_address: string | null;
  /** Null while it is in no block; absent in records of earlier versions too. */
  readonly receipt?: StoredReceipt | null;
  readonly simulated_return?: SimulatedReturn;
  readonly broadcast_at: string | null;
  readonly finalized_at: string | null;
  readonly confirmed_at: string | null;
  readonly cancel_requested_at: string | null;
  /**
   * True until nothing can change any more; a transaction that reverted stays watched until it has its confirmations.
   */
  readonly watched: boolean;
  /**
   * True for a transaction that ended without a block although its bytes were signed: until the chain has used its
   * nonce for good, a block may have them.
   */
  readonly may_be_mined?: true;
};

/** The members of a transaction that was neither signed nor sent. */
export const UNSENT = {
  state: "created",
  nonce: null,
  holds_nonce: false,
  attempts: [],
  hash: null,
  error: null,
  block: null,
  block_hash: null,
  block_timestamp: null,
  gas_used: null,
  effective_gas_price: null,
  contract_address: null,
  broadcast_at: null,
  finalized_at: null,
  confirmed_at: null,
  cancel_requested_at: null,
  watched: true,
} as const satisfies Partial<TransactionRecord>;

/** Returns the owner of a record. */
export function ownerOf(record: Pick<TransactionRecord, "owner_kind" | "owner_id">): Subject {
  return { kind: record.owner_kind, id: record.owner_id };
}

/** Returns the signed bytes of the last attempt, 0x-hex; undefined once the transaction is final. */
export function lastRaw({ attempts }: TransactionRecord): string | undefined {
  return attempts.at(-1)?.raw;
}

/** Returns the attempts without their bytes, which are not needed once the transaction is final. */
export function withoutRaw(attempts: readonly Attempt[]): Attempt[] {
  return attempts.map(({ raw: _raw, ...attempt }) => attempt);
}

const STATUS: Readonly<Record<TransactionState, TransactionJson["status"]>> = {
  created: "pending",
  signed: "pending",
  sent: "pending",
  mined: "success",
  confirmed: "success",
  failed: "failed",
  replaced: "failed",
  cancelled: "failed",
};

/** Returns the three-valued status of a state. */
export function statusOf(state: TransactionState): TransactionJson["status"] {
  return STATUS[state];
}

/** Returns the number of blocks from the transaction's own to the head; null while one of them is unknown. */
export type Depth = (record: TransactionRecord) => number | null;

/** Returns a record as lists show it, but for `data`; receipts.ts has the rest. */
export function transactionOnWire(record: TransactionRecord, depth: Depth): TransactionJson {
  const {
    owner_kind: kind,
    owner_id: ownerId,
    wishes,
    attempts,
    signer,
    watched: _watched,
    may_be_mined: _mayBeMined,
    holds_nonce: _holdsNonce,
    chain_id: _chain,
    receipt: _receipt,
    simulated_return: _simulated,
    value,
    ...rest
  } = record;
  const last = attempts.at(-1);
  return {
    ...rest,
    application_id: kind === "application" ? ownerId : null,
    organization_id: kind === "organization" ? ownerId : null,
    user_id: kind === "user" ? ownerId : null,
    hd_derivation_path: signer?.path ?? null,
    signer: record.from,
    value: integerOrText(value),
    status: statusOf(record.state),
    params: wishes,
    gas_price: last?.gas_price ?? null,
    max_fee_per_gas: last?.max_fee_per_gas ?? null,
    max_priority_fee_per_gas: last?.max_priority_fee_per_gas ?? null,
    attempts: attempts.map(({ hash, kind: what, signed_at: at }) => ({ hash, kind: what, signed_at: at })),
    confirmations: depth(record),
    queue_latency: spanMs(record.created_at, record.broadcast_at),
    network_latency: spanMs(record.broadcast_at, record.finalized_at),
    e2e_latency: spanMs(record.created_at, record.finalized_at),
  };
}

/** Returns a number up to 2^53, to which numbers in JSON are exact, and the decimal text above. */
function integerOrText(decimal: string): number | string {
  const number = Number(decimal);
  return Number.isSafeInteger(number) ? number : decimal;
}

function spanMs(from: string | null, to: string | null): number | null {
  return from === null || to === null ? null : Math.max(0, Date.parse(to) - Date.parse(from));
}
