/**
 * The sentences with which nodes refuse eth_sendRawTransaction, and what they mean. Clients agree on no error codes, so
 * that their words are all there is. A new client is a few rows here and its sentences in refusal-sentences.test.ts.
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
  | "insufficient_funds"
  | "refused";

export interface RefusalSentence {
  readonly pattern: RegExp;
  /** Clients, or `services` for hosted nodes, that say it; a sentence of one may be seen from others, too. */
  readonly clients: readonly string[];
  readonly outcome: Exclude<SendOutcome, "refused">;
}

const GETH_FAMILY = ["geth", "reth", "erigon", "nethermind", "anvil"] as const;

/** The first pattern that matches decides, so that special sentences stand before general ones. */
export const REFUSAL_SENTENCES: readonly RefusalSentence[] = [
  { pattern: /already known/i, clients: ["geth", "reth", "erigon", "nethermind"], outcome: "accepted" },
  { pattern: /known transaction/i, clients: ["besu", "geth before 1.9"], outcome: "accepted" },
  { pattern: /already imported/i, clients: ["anvil", "parity"], outcome: "accepted" },
  { pattern: /alreadyknown/i, clients: ["nethermind"], outcome: "accepted" },
  { pattern: /already in (the )?(mem)?pool/i, clients: ["services"], outcome: "accepted" },
  { pattern: /already exists/i, clients: ["services"], outcome: "accepted" },
  { pattern: /duplicate transaction/i, clients: ["services"], outcome: "accepted" },

  { pattern: /nonce (is )?too low/i, clients: [...GETH_FAMILY, "besu", "hardhat", "parity"], outcome: "nonce_too_low" },
  { pattern: /nonce too small/i, clients: ["services"], outcome: "nonce_too_low" },
  { pattern: /oldnonce/i, clients: ["nethermind"], outcome: "nonce_too_low" },
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
  { pattern: /replacementnotallowed/i, clients: ["nethermind"], outcome: "underpriced" },
  { pattern: /feetoolowtocompete/i, clients: ["nethermind"], outcome: "underpriced" },

  {
    pattern: /less than (the )?(block )?base ?fee/i,
    clients: ["geth", "reth", "erigon", "anvil"],
    outcome: "fee_too_low",
  },
  { pattern: /below (the )?base ?fee/i, clients: ["services"], outcome: "fee_too_low" },
  { pattern: /fee ?cap.{0,20}(less|below)/i, clients: ["erigon"], outcome: "fee_too_low" },
  { pattern: /max ?fee.{0,60}(less|lower|below)/i, clients: ["hardhat", "nethermind"], outcome: "fee_too_low" },
  { pattern: /underpriced/i, clients: ["geth", "reth", "erigon", "nethermind"], outcome: "fee_too_low" },
  { pattern: /gas price (is )?(too low|below)/i, clients: ["besu", "parity"], outcome: "fee_too_low" },
  { pattern: /fee ?too ?low/i, clients: ["erigon", "nethermind"], outcome: "fee_too_low" },

  {
    pattern: /insufficient (funds|balance|sender balance)/i,
    clients: [...GETH_FAMILY, "parity"],
    outcome: "insufficient_funds",
  },
  { pattern: /doesn't have enough funds/i, clients: ["hardhat"], outcome: "insufficient_funds" },
  { pattern: /not enough funds/i, clients: ["services"], outcome: "insufficient_funds" },
  { pattern: /upfront cost exceeds/i, clients: ["besu"], outcome: "insufficient_funds" },
  { pattern: /insufficientfunds/i, clients: ["nethermind"], outcome: "insufficient_funds" },

  {
    pattern: /nonce (is )?too (high|distant|far)/i,
    clients: ["geth", "reth", "nethermind", "besu", "hardhat"],
    outcome: "later",
  },
  { pattern: /future nonce/i, clients: ["services"], outcome: "later" },
  { pattern: /nonce gap/i, clients: ["services"], outcome: "later" },
  { pattern: /nonce.{0,20}higher/i, clients: ["services"], outcome: "later" },
  { pattern: /queued limit/i, clients: ["services"], outcome: "later" },
  { pattern: /pool (is )?(full|overflow)/i, clients: ["geth", "reth", "erigon"], outcome: "later" },
  { pattern: /pool.{0,20}(full|limit)/i, clients: ["services"], outcome: "later" },
  { pattern: /limit exceeded/i, clients: ["geth", "services"], outcome: "later" },
  { pattern: /too many/i, clients: ["parity", "services"], outcome: "later" },
  { pattern: /rate limit/i, clients: ["services"], outcome: "later" },
  { pattern: /try again/i, clients: ["services"], outcome: "later" },
  { pattern: /in-flight transaction limit/i, clients: ["geth"], outcome: "later" },
  { pattern: /gapped-nonce/i, clients: ["geth"], outcome: "later" },
];
