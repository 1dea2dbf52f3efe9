/** Answers that are none of the node's: failures of the node or of a proxy before it, and answers of other calls. */
import { afterEach, describe, expect, it } from "vitest";
import { FailoverRpc } from "../../../src/chain/rpc/failover-rpc.js";
import { RpcRefusal } from "../../../src/chain/rpc/rpc.js";
import { systemClock } from "../../../src/platform/clock.js";
import { AppError } from "../../../src/platform/errors.js";
import { loopbackEgress } from "../../support/loopback-egress.js";
import { endNodeDoubles, startNodeDouble, type Body, type Request } from "./node-double.js";

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
