/**
 * The sentences with which nodes refuse eth_sendRawTransaction, and what they mean. Clients agree on no error codes, so
 * that their words are all there is. Each is taken from the source of its client, and stands as it is there in
 * refusal-sentences.test.ts; a new client is a few rows here and its sentences there.
 *
 * Only `invalid`, `refused` and a lack of funds may end a transaction, so that the rows of the first two are few:
 * sentences that a node does not say of a transaction that it has in its pool. Left out are those that it may say all
 * the same, such as geth's cap on the fee of what comes over RPC, and those of a node of another chain ("invalid
 * sender", "Wrong chainId").
 */

export type SendOutcome =
  /** In the node's pool, now or before. */
  | "accepted"
  /** The nonce was mined, with this transaction or another. */
  | "nonce_too_low"
  /** The pool holds another transaction with this nonce. */
  | "underpriced"
  /** The fees are not enough for the present block. */
  | "fee_too_low"
  /** The same bytes may be taken later. */
  | "later"
  /** The account cannot pay at present. */
  | "insufficient_funds"
  /** Against the rules of this node, or of the chain at present; another node may have the bytes. */
  | "refused"
  /** Against the rules of every chain: no node ever has the bytes. */
  | "invalid"
  /** In words that are not in the table: the node may have the bytes. */
  | "unexplained";

export interface RefusalSentence {
  readonly pattern: RegExp;
  /** Clients, or `services` for hosted nodes, that say it; a sentence of one may be seen from others, too. */
  readonly clients: readonly string[];
  readonly outcome: Exclude<SendOutcome, "unexplained">;
}

const GETH_FAMILY = ["geth", "reth", "erigon", "nethermind", "anvil"] as const;

/** The node has the bytes, or the chain or the pool has their nonce. */
const KNOWN: readonly RefusalSentence[] = [
  { pattern: /already known/i, clients: ["geth", "reth", "erigon", "nethermind"], outcome: "accepted" },
  { pattern: /\bknown transaction/i, clients: ["besu", "geth before 1.9"], outcome: "accepted" },
  { pattern: /already imported/i, clients: ["anvil", "parity"], outcome: "accepted" },
  { pattern: /existing txn with same hash/i, clients: ["erigon"], outcome: "accepted" },
  { pattern: /alreadyknown/i, clients: ["nethermind before 2026"], outcome: "accepted" },
  { pattern: /already in (the )?(mem)?pool/i, clients: ["services"], outcome: "accepted" },
  { pattern: /already exists/i, clients: ["services"], outcome: "accepted" },
  { pattern: /duplicate transaction/i, clients: ["services"], outcome: "accepted" },

  { pattern: /nonce (is )?too low/i, clients: [...GETH_FAMILY, "besu", "hardhat", "parity"], outcome: "nonce_too_low" },
  { pattern: /^(internal_error: )?mined$/i, clients: ["erigon"], outcome: "nonce_too_low" },
  { pattern: /nonce too small/i, clients: ["services"], outcome: "nonce_too_low" },
  { pattern: /oldnonce/i, clients: ["nethermind before 2026"], outcome: "nonce_too_low" },
  { pattern: /nonce.{0,20}(already|has been) used/i, clients: ["services"], outcome: "nonce_too_low" },
  { pattern: /invalid nonce.{0,40}(lower|below)/i, clients: ["services"], outcome: "nonce_too_low" },
  { pattern: /less than (the )?current nonce/i, clients: ["services"], outcome: "nonce_too_low" },

  {
    pattern: /replacement.{0,30}(underpriced|too low|not allowed|insufficient)/i,
    clients: [...GETH_FAMILY, "besu", "hardhat"],
    outcome: "underpriced",
  },
  { pattern: /underpriced replacement/i, clients: ["services"], outcome: "underpriced" },
  { pattern: /(to|could not) replace/i, clients: ["erigon", "geth"], outcome: "underpriced" },
  { pattern: /replacementnotallowed/i, clients: ["nethermind before 2026"], outcome: "underpriced" },
  { pattern: /feetoolowtocompete/i, clients: ["nethermind before 2026"], outcome: "underpriced" },
];

/** Against the rules of the protocol, which depend on neither state nor node (EIP-1559, 2028, 2681, 3860, 7623). */
const INVALID: readonly RefusalSentence[] = [
  {
    pattern: /intrinsic ?gas ?(is )?(too low|exceeds gas limit)/i,
    clients: ["geth", "reth", "nethermind", "besu", "anvil"],
    outcome: "invalid",
  },
  { pattern: /\bintrinsicgas(toolow)?\b/i, clients: ["erigon", "nethermind before 2026"], outcome: "invalid" },
  { pattern: /callgascostmorethangaslimit|gasfloormorethangaslimit/i, clients: ["anvil"], outcome: "invalid" },
  { pattern: /floor data (gas )?cost/i, clients: ["geth", "nethermind"], outcome: "invalid" },
  { pattern: /initcode (too large|size exceeded)/i, clients: GETH_FAMILY, outcome: "invalid" },
  {
    pattern: /priority fee per gas (higher than|exceeds) max fee/i,
    clients: ["geth", "reth", "anvil", "besu"],
    outcome: "invalid",
  },
  { pattern: /invalidmaxpriorityfeepergas/i, clients: ["nethermind"], outcome: "invalid" },
  { pattern: /gas uint64 overflow|gasuintoverflow/i, clients: ["geth", "reth", "erigon", "anvil"], outcome: "invalid" },
  { pattern: /nonce has max value/i, clients: ["geth", "reth", "anvil"], outcome: "invalid" },
  { pattern: /transaction cost overflow/i, clients: ["nethermind"], outcome: "invalid" },
];

/** Against what this node, its fork or its newest block allows. */
const REFUSED: readonly RefusalSentence[] = [
  { pattern: /exceeds (the )?block'?s? gas ?limit/i, clients: ["geth", "reth", "besu", "hardhat"], outcome: "refused" },
  { pattern: /gas limit (is )?too high/i, clients: ["geth", "reth", "erigon"], outcome: "refused" },
  { pattern: /gas limit reached/i, clients: ["nethermind"], outcome: "refused" },
  { pattern: /^gaslimitexceeded/i, clients: ["nethermind before 2026"], outcome: "refused" },
  { pattern: /exceeds max transaction gas limit/i, clients: ["reth"], outcome: "refused" },
  { pattern: /transaction gas limit cap exceeded/i, clients: ["besu"], outcome: "refused" },
  { pattern: /intrinsic gas too high|gas limit is greater than the block/i, clients: ["anvil"], outcome: "refused" },
  {
    pattern: /oversized data|transaction too large|rlptoolong/i,
    clients: ["geth", "reth", "erigon", "nethermind"],
    outcome: "refused",
  },
  { pattern: /transaction type (is )?not supported/i, clients: ["geth", "reth"], outcome: "refused" },
  {
    pattern: /unsupported transaction type|invalid transaction type/i,
    clients: ["nethermind", "besu"],
    outcome: "refused",
  },
  { pattern: /supporting this transaction type is not activated/i, clients: ["erigon"], outcome: "refused" },
  { pattern: /sender (is )?not an eoa/i, clients: ["geth", "reth", "nethermind", "anvil"], outcome: "refused" },
  { pattern: /sender account not authorized/i, clients: ["besu"], outcome: "refused" },
];

const FEES: readonly RefusalSentence[] = [
  {
    pattern: /less than (the )?(block )?base ?fee/i,
    clients: ["geth", "reth", "erigon", "anvil"],
    outcome: "fee_too_low",
  },
  { pattern: /below (the )?(current )?base ?fee/i, clients: ["besu", "services"], outcome: "fee_too_low" },
  { pattern: /priority fee below minimum/i, clients: ["reth"], outcome: "fee_too_low" },
  { pattern: /fee ?cap.{0,20}(less|below)/i, clients: ["erigon"], outcome: "fee_too_low" },
  { pattern: /max ?fee.{0,60}(less|lower|below)/i, clients: ["hardhat", "nethermind"], outcome: "fee_too_low" },
  { pattern: /underpriced/i, clients: ["geth", "reth", "erigon", "nethermind"], outcome: "fee_too_low" },
  { pattern: /gas price (is )?(too low|below)/i, clients: ["besu", "parity"], outcome: "fee_too_low" },
  { pattern: /fee ?too ?low/i, clients: ["erigon", "nethermind before 2026"], outcome: "fee_too_low" },
];

const FUNDS: readonly RefusalSentence[] = [
  {
    pattern: /insufficient (funds|balance|sender balance)/i,
    clients: [...GETH_FAMILY, "parity"],
    outcome: "insufficient_funds",
  },
  { pattern: /doesn't have enough funds/i, clients: ["hardhat"], outcome: "insufficient_funds" },
  { pattern: /not enough funds/i, clients: ["services"], outcome: "insufficient_funds" },
  { pattern: /upfront cost exceeds/i, clients: ["besu"], outcome: "insufficient_funds" },
  { pattern: /insufficientfunds/i, clients: ["nethermind before 2026"], outcome: "insufficient_funds" },
];

const LATER: readonly RefusalSentence[] = [
  {
    pattern: /nonce (is )?too (high|distant|far)/i,
    clients: ["geth", "reth", "nethermind", "besu", "hardhat", "anvil"],
    outcome: "later",
  },
  { pattern: /lower nonce exists/i, clients: ["besu"], outcome: "later" },
  { pattern: /future nonce/i, clients: ["services"], outcome: "later" },
  { pattern: /nonce gap/i, clients: ["nethermind"], outcome: "later" },
  { pattern: /nonce.{0,20}higher/i, clients: ["services"], outcome: "later" },
  { pattern: /queued limit/i, clients: ["services"], outcome: "later" },
  { pattern: /pool (is )?(full|overflow)/i, clients: ["geth", "reth", "erigon"], outcome: "later" },
  { pattern: /pool.{0,20}(full|limit)/i, clients: ["services"], outcome: "later" },
  { pattern: /spammer/i, clients: ["erigon"], outcome: "later" },
  { pattern: /already reserved/i, clients: ["geth", "reth"], outcome: "later" },
  { pattern: /pending transaction( type conflict)?$/i, clients: ["nethermind"], outcome: "later" },
  { pattern: /node is syncing/i, clients: ["nethermind"], outcome: "later" },
  { pattern: /sync is still in progress|pool not enabled/i, clients: ["besu"], outcome: "later" },
  { pattern: /limit exceeded/i, clients: ["geth", "services"], outcome: "later" },
  { pattern: /too many/i, clients: ["parity", "services"], outcome: "later" },
  { pattern: /rate limit/i, clients: ["services"], outcome: "later" },
  { pattern: /try again/i, clients: ["services"], outcome: "later" },
  { pattern: /in-flight transaction limit/i, clients: ["geth"], outcome: "later" },
  { pattern: /gapped-nonce/i, clients: ["geth"], outcome: "later" },
];

/** The first pattern that matches decides, so that special sentences stand before general ones. */
export const REFUSAL_SENTENCES: readonly RefusalSentence[] = [
  ...KNOWN,
  ...INVALID,
  ...REFUSED,
  ...FEES,
  ...FUNDS,
  ...LATER,
];
