/** Answers that are none of the node's: failures of the node or of a proxy before it, and answers of other calls. */
import { afterEach, describe, expect, it } from "vitest";
import { FailoverRpc } from "../../../src/chain/rpc/failover-rpc.js";
import { RpcRefusal } from "../../../src/chain/rpc/rpc.js";
import { systemClock } from "../../../src/platform/clock.js";
import { AppError } from "../../../src/platform/errors.js";
import { loopbackEgress } from "../../support/loopback-egress.js";
import { endNodeDoubles, startNodeDouble, type Body, type NodeDouble, type Request } from "./node-double.js";

const rpcOf = (...urls: string[]): FailoverRpc =>
  new FailoverRpc({ urls, chainId: 31_337 }, { egress: loopbackEgress, clock: systemClock });
const failureOf = async (call: Promise<unknown>): Promise<unknown> => await call.catch((error: unknown) => error);
const SEND = ["eth_sendRawTransaction", ["0x02"]] as const;
const CALLS = [
  { method: "eth_sendRawTransaction", params: ["0x02"] },
  { method: "eth_sendRawTransaction", params: ["0x03"] },
];
const idOf = (body: Body): number => (body as Request).id;

afterEach(endNodeDoubles);

describe("an error object behind HTTP 500 and above", () => {
  const STATUSES = [500, 502, 503, 504, 520];
  const refusal = (id: unknown): object => ({ jsonrpc: "2.0", id, error: { code: -32_603, message: "nonce too low" } });

  it.each(STATUSES)("is no refusal of the call: %i", async (status) => {
    const { url } = await startNodeDouble((body) => ({ status, body: refusal(idOf(body)) }));
    const failure = await failureOf(rpcOf(url).request(...SEND));
    expect(failure).not.toBeInstanceOf(RpcRefusal);
    expect(failure).toMatchObject({ code: "network_unreachable", message: `the node answers HTTP ${status}` });
    expect(failure).toBeInstanceOf(AppError);
  });

  it.each(STATUSES)("makes the next node take the call: %i", async (status) => {
    const failing = await startNodeDouble((body) => ({ status, body: refusal(idOf(body)) }));
    const other = await startNodeDouble((body) => ({ body: { jsonrpc: "2.0", id: idOf(body), result: "0xabc" } }));
    expect(await rpcOf(failing.url, other.url).request(...SEND)).toBe("0xabc");
    expect(other.bodies).toHaveLength(1);
  });

  it("fails a batch as a whole, and the next node takes it as a batch", async () => {
    const failing = await startNodeDouble(() => ({ status: 500, body: refusal(null) }));
    const other = await startNodeDouble((body) => ({
      body: (body as readonly Request[]).map(({ id }) => ({ jsonrpc: "2.0", id, result: "0xabc" })),
    }));
    const outcomes = await rpcOf(failing.url, other.url).requestMany(CALLS);
    expect(outcomes).toEqual([
      { ok: true, result: "0xabc" },
      { ok: true, result: "0xabc" },
    ]);
    expect(other.bodies).toHaveLength(1);
  });
});

describe("an answer to another call", () => {
  it.each([
    ["a result", { result: "0x1" }],
    ["a refusal", { error: { code: -32_000, message: "nonce too low" } }],
  ])("is not taken for this one's: %s", async (_kind, answer) => {
    const { url } = await startNodeDouble((body) => ({ body: { jsonrpc: "2.0", id: idOf(body) + 1, ...answer } }));
    const failure = await failureOf(rpcOf(url).request(...SEND));
    expect(failure).not.toBeInstanceOf(RpcRefusal);
    expect(failure).toMatchObject({ code: "network_answer_invalid" });
  });

  it("is a result without an id, too, while an error without one is the node's that could not read the call", async () => {
    const nameless = await startNodeDouble(() => ({ body: { jsonrpc: "2.0", result: "0x1" } }));
    expect(await failureOf(rpcOf(nameless.url).request(...SEND))).toMatchObject({ code: "network_answer_invalid" });
    const unread = await startNodeDouble(() => ({
      body: { jsonrpc: "2.0", id: null, error: { code: -32_700, message: "parse error" } },
    }));
    expect(await failureOf(rpcOf(unread.url).request(...SEND))).toBeInstanceOf(RpcRefusal);
  });
});

describe("a node's failure in an error object", () => {
  const FAULTS: readonly [number, string][] = [
    [-32_603, "Internal error"],
    [-32_000, "internal error"],
    [-32_000, "header not found"],
    [-32_000, "missing trie node 0x01"],
    [-32_001, "upstream timed out"],
  ];
  const failing = async (code: number, message: string): Promise<NodeDouble> =>
    await startNodeDouble((body) => ({
      body: Array.isArray(body)
        ? (body as readonly Request[]).map(({ id }) => ({ jsonrpc: "2.0", id, error: { code, message } }))
        : { jsonrpc: "2.0", id: idOf(body), error: { code, message } },
    }));
  const healthy = async (): Promise<NodeDouble> =>
    await startNodeDouble((body) => ({ body: { jsonrpc: "2.0", id: idOf(body), result: "0xabc" } }));

  it.each(FAULTS)("makes the next node answer: %i %s", async (code, message) => {
    const [bad, good] = [await failing(code, message), await healthy()];
    expect(await rpcOf(bad.url, good.url).request("eth_estimateGas", [{}])).toBe("0xabc");
    expect(await rpcOf(bad.url, good.url).requestMany(CALLS)).toEqual([
      { ok: true, result: "0xabc" },
      { ok: true, result: "0xabc" },
    ]);
  });

  it.each(FAULTS)("is what is told where there is no other node: %i %s", async (code, message) => {
    const { url } = await failing(code, message);
    expect(await failureOf(rpcOf(url).request(...SEND))).toMatchObject({ name: "RpcRefusal", code, message });
  });

  it.each([
    [-32_603, "VM Exception while processing transaction: reverted with reason string 'closed'"],
    [-32_603, "nonce too low"],
    [-32_000, "insufficient funds for gas * price + value"],
  ])("is not what a node says of the call: %i %s", async (code, message) => {
    const [bad, good] = [await failing(code, message), await healthy()];
    expect(await failureOf(rpcOf(bad.url, good.url).request(...SEND))).toMatchObject({ code, message });
    expect(good.bodies).toEqual([]);
  });

  it("is remembered in the refusal of the next node, since the first may have done what was asked", async () => {
    const bad = await failing(-32_603, "Internal error");
    const other = await failing(-32_000, "exceeds block gas limit");
    const message = "exceeds block gas limit";
    expect(await failureOf(rpcOf(bad.url, other.url).request(...SEND))).toMatchObject({
      message,
      isAfterFailure: true,
    });
    expect(await failureOf(rpcOf(other.url).request(...SEND))).toMatchObject({ message, isAfterFailure: false });
    for (const outcome of await rpcOf(bad.url, other.url).requestMany(CALLS))
      expect(outcome).toMatchObject({ ok: false, error: { message, isAfterFailure: true } });
  });

  it("is told as one of several where no node answers, since each of them heard the call", async () => {
    const bad = await failing(-32_603, "Internal error");
    const silent = await startNodeDouble(() => ({ status: 502, body: {} }));
    for (const urls of [
      [bad.url, silent.url],
      [silent.url, bad.url],
    ])
      expect(await failureOf(rpcOf(...urls).request(...SEND))).toMatchObject({
        message: "Internal error",
        isAfterFailure: true,
      });
    expect(await failureOf(rpcOf(bad.url).request(...SEND))).toMatchObject({ isAfterFailure: false });
  });
});

it.each([401, 403, 408, 429])("an error object behind HTTP %i is no refusal of the call", async (status) => {
  const { url } = await startNodeDouble((body) => ({
    status,
    body: { jsonrpc: "2.0", id: idOf(body), error: { code: -32_000, message: "exceeds block gas limit" } },
  }));
  expect(await failureOf(rpcOf(url).request(...SEND))).toMatchObject({ code: "network_unreachable" });
});

it("takes besu's gas limits, which have the code of a rate limit, for refusals", async () => {
  const { url } = await startNodeDouble((body) => ({
    body: {
      jsonrpc: "2.0",
      id: idOf(body),
      error: { code: -32_005, message: "Transaction gas limit exceeds block gas limit" },
    },
  }));
  expect(await failureOf(rpcOf(url).request(...SEND))).toBeInstanceOf(RpcRefusal);
});

describe("the chain of a node that was exchanged behind its address", () => {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const setUp = async () => {
    const node = await startNodeDouble((body) => ({ body: { jsonrpc: "2.0", id: idOf(body), result: "0xabc" } }));
    const changes: string[] = [];
    const rpc = new FailoverRpc(
      { urls: [node.url], chainId: 31_337, onChange: ({ state }) => changes.push(state) },
      { egress: loopbackEgress, clock },
    );
    await rpc.request("eth_blockNumber", []);
    return { node, rpc, changes };
  };

  it("is asked again after a minute, and nothing is sent to it from then on", async () => {
    const { node, rpc, changes } = await setUp();
    node.chainId = "0x5";
    nowMs += 59_999;
    expect(await rpc.request("eth_blockNumber", [])).toBe("0xabc");
    nowMs += 1;
    const before = node.bodies.length;
    const calls = [rpc.request("eth_blockNumber", []), rpc.request(...SEND)].map(failureOf);
    for (const failure of await Promise.all(calls)) expect(failure).toMatchObject({ code: "network_chain_mismatch" });
    expect(await rpc.requestMany(CALLS)).toMatchObject([{ error: { code: "network_chain_mismatch" } }, { ok: false }]);
    expect(node.bodies.length).toBe(before);
    expect(changes).toEqual(["mismatch"]);
    node.chainId = "0x7a69";
    expect(await rpc.request(...SEND)).toBe("0xabc");
    expect(changes).toEqual(["mismatch", "up"]);
  });

  it("is asked before a transaction is sent over a connection that was silent", async () => {
    const { node, rpc } = await setUp();
    node.chainId = "0x5";
    nowMs += 3_000;
    const before = node.bodies.length;
    expect(await failureOf(rpc.request(...SEND))).toMatchObject({ code: "network_chain_mismatch" });
    expect(node.bodies.length).toBe(before);
  });
});
