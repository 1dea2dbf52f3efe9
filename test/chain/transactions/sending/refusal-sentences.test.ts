// What the clients say when they refuse a transaction, as it is in their sources, and what is made of it.
import { describe, expect, it } from "vitest";
import { RpcRefusal } from "../../../../src/chain/rpc/rpc.js";
import { REFUSAL_SENTENCES, type SendOutcome } from "../../../../src/chain/transactions/sending/refusal-sentences.js";
import { sendOutcome } from "../../../../src/chain/transactions/sending/refusals.js";

const HASH = "0x7f657507aee0511e36d2d1972a6b22e917cc89f92b6c12c4dbd57eaabb236960";

/**
 * By client, from their sources: geth core/error.go and core/txpool/{errors,validation}.go; reth
 * crates/rpc/rpc-eth-types/src/error/mod.rs; erigon txpoolcfg.go, behind the names of its results; nethermind
 * TxPoolErrorMessages.cs, TxErrorMessages.cs, and the names of AcceptTxResult.cs before 2026; besu RpcErrorType.java;
 * anvil crates/anvil/src/eth/error.rs.
 */
const FIXTURES: Readonly<Record<string, readonly (readonly [message: string, outcome: SendOutcome])[]>> = {
  geth: [
    ["already known", "accepted"],
    ["nonce too low: next nonce 82, tx nonce 81", "nonce_too_low"],
    ["replacement transaction underpriced", "underpriced"],
    ["future transaction tries to replace pending", "underpriced"],
    ["max fee per gas less than block base fee: address 0x71, maxFeePerGas: 1, baseFee: 875000000", "fee_too_low"],
    ["transaction underpriced", "fee_too_low"],
    ["transaction underpriced: gas tip cap 1, minimum needed 1000000", "fee_too_low"],
    ["insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000", "insufficient_funds"],
    ["nonce too high", "later"],
    ["nonce too high: tx nonce 9, gapped nonce 4", "later"],
    ["txpool is full", "later"],
    ["account limit exceeded", "later"],
    ["account limit exceeded: pooled 64 txs", "later"],
    ["address already reserved", "later"],
    ["in-flight transaction limit reached for delegated accounts", "later"],
    ["gapped-nonce tx from delegated accounts", "later"],
    ["intrinsic gas too low", "invalid"],
    ["intrinsic gas too low: gas 21000, minimum needed 53000", "invalid"],
    ["insufficient gas for floor data gas cost: gas 21000, minimum needed 22000", "invalid"],
    ["max initcode size exceeded: code size 49153 limit 49152", "invalid"],
    ["max priority fee per gas higher than max fee per gas", "invalid"],
    ["gas uint64 overflow", "invalid"],
    ["nonce has max value", "invalid"],
    ["exceeds block gas limit", "refused"],
    ["transaction gas limit too high (cap: 16777216, tx: 30000000)", "refused"],
    ["oversized data: transaction size 200000, limit 131072", "refused"],
    ["transaction type not supported: type 2 rejected, pool not yet in London", "refused"],
    ["sender not an eoa: address 0x71, codehash: 0x01", "refused"],
    // Of what comes over RPC, also when its pool has the transaction from a peer.
    ["tx fee (2.10 ether) exceeds the configured cap (1.00 ether)", "unexplained"],
    // Of a node of another chain, too.
    ["invalid sender: invalid chain id for signer: have 1 want 5", "unexplained"],
    ["internal error", "unexplained"],
  ],
  "geth before 1.9": [[`known transaction: ${HASH}`, "accepted"]],
  erigon: [
    ["ALREADY_EXISTS: already known", "accepted"],
    ["INTERNAL_ERROR: existing txn with same hash", "accepted"],
    ["INTERNAL_ERROR: nonce too low", "nonce_too_low"],
    ["INTERNAL_ERROR: mined", "nonce_too_low"],
    ["INTERNAL_ERROR: could not replace existing tx", "underpriced"],
    ["FEE_TOO_LOW: replacement transaction underpriced", "underpriced"],
    ["FEE_TOO_LOW: underpriced", "fee_too_low"],
    ["FEE_TOO_LOW: fee too low", "fee_too_low"],
    ["fee cap less than block base fee", "fee_too_low"],
    ["INTERNAL_ERROR: insufficient funds", "insufficient_funds"],
    ["INTERNAL_ERROR: baseFee sub-pool is full", "later"],
    ["INTERNAL_ERROR: spammer", "later"],
    ["INTERNAL_ERROR: IntrinsicGas", "invalid"],
    ["INTERNAL_ERROR: GasUintOverflow", "invalid"],
    ["INVALID: initcode too large", "invalid"],
    ["INTERNAL_ERROR: gas limit is too high", "refused"],
    ["INVALID: oversized data", "refused"],
    ["INVALID: RLPTooLong", "refused"],
    ["INVALID: fork supporting this transaction type is not activated yet", "refused"],
    ["INTERNAL_ERROR: not set", "unexplained"],
  ],
  reth: [
    ["already known", "accepted"],
    ["nonce too low: next nonce 7, tx nonce 3", "nonce_too_low"],
    ["replacement transaction underpriced", "underpriced"],
    ["max fee per gas less than block base fee", "fee_too_low"],
    ["transaction priority fee below minimum required priority fee 1000000", "fee_too_low"],
    ["insufficient funds for gas * price + value: have 0 want 21000", "insufficient_funds"],
    ["txpool is full", "later"],
    ["address already reserved", "later"],
    ["nonce too high", "later"],
    ["intrinsic gas too low", "invalid"],
    ["max initcode size exceeded", "invalid"],
    ["max priority fee per gas higher than max fee per gas", "invalid"],
    ["gas uint64 overflow", "invalid"],
    ["nonce has max value", "invalid"],
    ["exceeds block gas limit", "refused"],
    ["exceeds max transaction gas limit", "refused"],
    ["gas limit too high", "refused"],
    ["oversized data: transaction size 200000, limit 131072", "refused"],
    ["transaction type not supported", "refused"],
    ["sender is not an EOA", "refused"],
    ["invalid chain ID", "unexplained"],
    ["database error", "unexplained"],
  ],
  nethermind: [
    ["already known", "accepted"],
    ["nonce too low", "nonce_too_low"],
    ["replacement transaction underpriced", "underpriced"],
    ["transaction underpriced, MaxFeePerGas too low", "fee_too_low"],
    ["FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7", "fee_too_low"],
    ["insufficient funds for gas * price + value", "insufficient_funds"],
    ["nonce too high", "later"],
    ["nonce too far in future", "later"],
    ["delegation nonce gap", "later"],
    ["pending transaction type conflict", "later"],
    ["delegation authority has pending transaction", "later"],
    ["node is syncing", "later"],
    ["transaction invalid, intrinsic gas too low", "invalid"],
    ["gas below floor data cost", "invalid"],
    ["max initcode size exceeded", "invalid"],
    ["InvalidMaxPriorityFeePerGas: Cannot be higher than maxFeePerGas.", "invalid"],
    ["transaction cost overflow", "invalid"],
    ["gas limit reached", "refused"],
    ["transaction too large", "refused"],
    ["unsupported transaction type", "refused"],
    ["sender not an eoa", "refused"],
    ["failed to recover sender", "unexplained"],
    ["InvalidTxChainId: Expected 1, got 5.", "unexplained"],
    ["transaction invalid", "unexplained"],
  ],
  "nethermind before 2026": [
    ["AlreadyKnown", "accepted"],
    ["OldNonce, Current nonce: 5, nonce of rejected tx: 3", "nonce_too_low"],
    ["FeeTooLowToCompete", "underpriced"],
    ["ReplacementNotAllowed", "underpriced"],
    ["FeeTooLow", "fee_too_low"],
    ["InsufficientFunds, Account balance: 0, cumulative cost: 21000", "insufficient_funds"],
    ["Invalid, IntrinsicGasTooLow: Gas limit is too low.", "invalid"],
    ["GasLimitExceeded, Gas limit: 30000000, gas limit of rejected tx: 30000001", "refused"],
  ],
  besu: [
    ["Known transaction", "accepted"],
    ["Nonce too low", "nonce_too_low"],
    ["Replacement transaction underpriced", "underpriced"],
    ["Gas price below configured minimum gas price", "fee_too_low"],
    ["Gas price below current base fee", "fee_too_low"],
    ["Upfront cost exceeds account balance", "insufficient_funds"],
    ["Transaction nonce is too distant from current sender nonce", "later"],
    ["An invalid transaction with a lower nonce exists", "later"],
    ["Initial sync is still in progress", "later"],
    ["Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).", "later"],
    ["Intrinsic gas exceeds gas limit", "invalid"],
    ["Max priority fee per gas exceeds max fee per gas", "invalid"],
    ["Transaction gas limit exceeds block gas limit", "refused"],
    ["Transaction gas limit cap exceeded", "refused"],
    ["Sender account not authorized to send transactions", "refused"],
    ["Invalid transaction type", "refused"],
    ["Wrong chainId", "unexplained"],
    ["Invalid signature", "unexplained"],
    ["Transaction fee cap exceeded", "unexplained"],
    ["Plugin has marked the transaction as not acceptable by the transaction pool", "unexplained"],
    ["Internal error", "unexplained"],
    ["Unknown transaction", "unexplained"],
  ],
  anvil: [
    ["transaction already imported", "accepted"],
    ["nonce too low", "nonce_too_low"],
    ["replacement transaction underpriced", "underpriced"],
    ["max fee per gas less than block base fee", "fee_too_low"],
    ["Insufficient funds for gas * price + value", "insufficient_funds"],
    ["insufficient funds for transfer", "insufficient_funds"],
    ["Nonce too high", "later"],
    ["intrinsic gas too low", "invalid"],
    ["intrinsic gas too high -- CallGasCostMoreThanGasLimit", "invalid"],
    ["intrinsic gas too high -- GasFloorMoreThanGasLimit", "invalid"],
    ["max initcode size exceeded", "invalid"],
    ["max priority fee per gas higher than max fee per gas", "invalid"],
    ["gas uint64 overflow", "invalid"],
    ["nonce has max value", "invalid"],
    ["intrinsic gas too high -- CallerGasLimitMoreThanBlock", "refused"],
    ["Transaction gas limit is greater than the block gas limit, gas_limit: 2, cap: 1", "refused"],
    ["sender not an eoa", "refused"],
    ["invalid chain id for signer", "unexplained"],
    ["Failed to decode transaction", "unexplained"],
    ["Internal error", "unexplained"],
  ],
  hardhat: [
    ["Nonce too low. Expected nonce to be 4 but got 1.", "nonce_too_low"],
    ["Sender doesn't have enough funds to send tx. The max upfront cost is: 1", "insufficient_funds"],
    ["Nonce too high. Expected nonce to be 1 but got 4.", "later"],
    ["Transaction gas limit is 30000001 and exceeds block gas limit of 30000000", "refused"],
  ],
  parity: [
    ["Transaction with the same hash was already imported.", "accepted"],
    ["Transaction nonce is too low. Try incrementing the nonce.", "nonce_too_low"],
    [
      "Transaction gas price is too low. It does not satisfy your node's minimal gas price (minimal: 2, got: 1).",
      "fee_too_low",
    ],
    ["Insufficient funds. The account you tried to send transaction from does not have enough", "insufficient_funds"],
    ["There are too many transactions in the queue. Your transaction was dropped due to limit.", "later"],
  ],
  services: [
    ["tx already in mempool", "accepted"],
    ["Your app has exceeded its rate limit", "later"],
    ["Too Many Requests", "later"],
    ["Internal Server Error", "unexplained"],
    ["request timed out", "unexplained"],
    ["", "unexplained"],
  ],
};

describe.each(Object.entries(FIXTURES))("%s", (_client, sentences) => {
  it.each(sentences)("%j means %s", (message, outcome) => {
    expect(sendOutcome(new RpcRefusal(message, -32_000))).toBe(outcome);
  });
});

it("has sentences of each client that the table names", () => {
  const named = new Set(REFUSAL_SENTENCES.flatMap(({ clients }) => clients));
  expect([...named].filter((client) => !(client in FIXTURES))).toEqual([]);
});

it("takes the code for a limit as a reason to come later, when no sentence says more", () => {
  expect(sendOutcome(new RpcRefusal("slow down", -32_005))).toBe("later");
  expect(sendOutcome(new RpcRefusal("nonce too low", -32_005))).toBe("nonce_too_low");
});

it("lets no sentence of a hosted node end a transaction", () => {
  const final = REFUSAL_SENTENCES.filter(({ outcome }) => outcome === "refused" || outcome === "invalid");
  expect(final.filter(({ clients }) => clients.includes("services"))).toEqual([]);
});

it("has a sentence of each row that ends a transaction for each of its clients", () => {
  const rows = REFUSAL_SENTENCES.filter(({ outcome }) => outcome === "refused" || outcome === "invalid");
  const missing = rows.flatMap(({ pattern, clients }) =>
    clients
      .filter((client) => !(FIXTURES[client] ?? []).some(([sentence]) => pattern.test(sentence)))
      .map((client) => `${client}: ${String(pattern)}`),
  );
  expect(missing).toEqual([]);
});
