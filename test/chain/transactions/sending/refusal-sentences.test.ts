// What the clients say when they refuse a transaction, as it is in their sources, and what is made of it.
import { describe, expect, it } from "vitest";
import { RpcRefusal } from "../../../../src/chain/rpc/rpc.js";
import { REFUSAL_SENTENCES, type SendOutcome } from "../../../../src/chain/transactions/sending/refusal-sentences.js";
import { sendOutcome } from "../../../../src/chain/transactions/sending/refusals.js";

/** By client. */
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
    ["txpool is full", "later"],
    ["account limit exceeded", "later"],
    ["in-flight transaction limit reached for delegated accounts", "later"],
    ["gapped-nonce tx from delegated accounts", "later"],
    ["exceeds block gas limit", "refused"],
    ["oversized data", "refused"],
    ["invalid sender", "refused"],
  ],
  "geth before 1.9": [
    ["known transaction: 0x7f657507aee0511e36d2d1972a6b22e917cc89f92b6c12c4dbd57eaabb236960", "accepted"],
  ],
  erigon: [
    ["already known", "accepted"],
    ["nonce too low", "nonce_too_low"],
    ["INTERNAL_ERROR: could not replace existing tx", "underpriced"],
    ["underpriced", "fee_too_low"],
    ["fee too low", "fee_too_low"],
    ["fee cap less than block base fee", "fee_too_low"],
    ["insufficient funds", "insufficient_funds"],
    ["baseFee sub-pool is full", "later"],
  ],
  reth: [
    ["already known", "accepted"],
    ["nonce too low: next nonce 7, tx nonce 3", "nonce_too_low"],
    ["replacement transaction underpriced", "underpriced"],
    ["max fee per gas less than block base fee", "fee_too_low"],
    ["insufficient funds for gas * price + value: have 0 want 21000", "insufficient_funds"],
    ["txpool is full", "later"],
  ],
  nethermind: [
    ["AlreadyKnown", "accepted"],
    ["OldNonce, Current nonce: 5, nonce of rejected tx: 3", "nonce_too_low"],
    ["FeeTooLowToCompete", "underpriced"],
    ["ReplacementNotAllowed", "underpriced"],
    ["FeeTooLow, MaxFeePerGas too low", "fee_too_low"],
    ["InsufficientFunds, Account balance: 0, cumulative cost: 21000", "insufficient_funds"],
  ],
  besu: [
    ["Known transaction", "accepted"],
    ["Nonce too low", "nonce_too_low"],
    ["Replacement transaction underpriced", "underpriced"],
    ["Gas price below configured minimum gas price", "fee_too_low"],
    ["Upfront cost exceeds account balance", "insufficient_funds"],
    ["Nonce too distant from current sender nonce", "later"],
    ["Intrinsic gas exceeds gas limit", "refused"],
  ],
  anvil: [
    ["transaction already imported", "accepted"],
    ["nonce too low", "nonce_too_low"],
    ["replacement transaction underpriced", "underpriced"],
    ["max fee per gas less than block base fee", "fee_too_low"],
    ["Insufficient funds for gas * price + value", "insufficient_funds"],
  ],
  hardhat: [
    ["Nonce too low. Expected nonce to be 4 but got 1.", "nonce_too_low"],
    ["Sender doesn't have enough funds to send tx. The max upfront cost is: 1", "insufficient_funds"],
    ["Nonce too high. Expected nonce to be 1 but got 4.", "later"],
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
