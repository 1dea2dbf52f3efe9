// What a refused call or estimate means: 422 only where the node executed it, 502 where the node itself failed.
import { describe, expect, it } from "vitest";
import { isNodeFault } from "../../../../src/chain/rpc/node-faults.js";
import { RpcRefusal } from "../../../../src/chain/rpc/rpc.js";
import { executionFailure } from "../../../../src/chain/transactions/sending/refusals.js";

const failureOf = (message: string, code = -32_000, data?: string) => {
  const { code: name, status, message: text } = executionFailure(new RpcRefusal(message, code, data));
  return { name, status, text };
};

describe("a node's own failure", () => {
  it.each([
    ["Internal error", -32_603],
    ["internal error", -32_000],
    ["Internal Server Error", -32_000],
    ["header not found", -32_000],
    ["missing trie node 0x01 (path )", -32_000],
    ["upstream request timed out", -32_000],
    ["method handler crashed", -32_000],
    ["the method eth_estimateGas does not exist/is not available", -32_601],
    ["Initial sync is still in progress", -32_008],
    ["", 0],
  ])("is 502: %j (%i)", (message, code) => {
    expect(failureOf(message, code)).toMatchObject({ name: "network_answer_invalid", status: 502 });
  });
});

describe("an execution that failed", () => {
  it.each<[string, number, string | undefined, string]>([
    ["execution reverted: closed", 3, undefined, "execution_reverted"],
    ["Internal error", 3, "0x08c379a0", "execution_reverted"],
    ["VM Exception while processing transaction: reverted", -32_603, undefined, "execution_reverted"],
    ["gas required exceeds allowance (30000000)", -32_000, undefined, "gas_estimate_failed"],
    ["out of gas", -32_000, undefined, "gas_estimate_failed"],
    ["invalid opcode: INVALID", -32_000, undefined, "gas_estimate_failed"],
    ["EVM error InvalidFEOpcode", -32_603, undefined, "gas_estimate_failed"],
    ["stack underflow (0 <=> 1)", -32_000, undefined, "gas_estimate_failed"],
    ["intrinsic gas too low", -32_000, undefined, "gas_estimate_failed"],
    ["max initcode size exceeded", -32_000, undefined, "gas_estimate_failed"],
    ["insufficient funds for transfer", -32_000, undefined, "insufficient_funds"],
  ])("is 422: %j (%i)", (message, code, data, name) => {
    expect(failureOf(message, code, data)).toMatchObject({ name, status: 422 });
    expect(isNodeFault(new RpcRefusal(message, code, data))).toBe(false);
  });
});
