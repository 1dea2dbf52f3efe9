/** Several calls to a node in one request: a real node, one that takes no batches, and ones that answer badly. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { FailoverRpc } from "../../../src/chain/rpc/failover-rpc.js";
import { resultOf } from "../../../src/chain/rpc/rpc-batch.js";
import { RpcRefusal, type RpcCall, type RpcOutcome } from "../../../src/chain/rpc/rpc.js";
import { systemClock } from "../../../src/platform/clock.js";
import { AppError } from "../../../src/platform/errors.js";
import { ANVIL_ACCOUNTS, startAnvil, type Anvil } from "../../support/anvil.js";
import { loopbackEgress } from "../../support/loopback-egress.js";
import { endNodeDoubles, startNodeDouble as double, type Request } from "./node-double.js";

const CHAIN = 31_337;
const BLOCK_NUMBER: RpcCall = { method: "eth_blockNumber", params: [] };
const BALANCE: RpcCall = { method: "eth_getBalance", params: [ANVIL_ACCOUNTS[0], "latest"] };
const UNKNOWN: RpcCall = { method: "eth_noSuchMethod", params: [] };
let anvil: Anvil;

beforeAll(async () => {
  anvil = await startAnvil({ chainId: CHAIN });
});
afterAll(async () => {
  await anvil.stop("SIGKILL");
});
afterEach(endNodeDoubles);

const reply = ({ id, method }: Request): object => ({ jsonrpc: "2.0", id, result: method });
const rpcOf = (...urls: string[]): FailoverRpc =>
  new FailoverRpc({ urls, chainId: CHAIN }, { egress: loopbackEgress, clock: systemClock });
const codeOf = (outcome: RpcOutcome | undefined): string | undefined =>
  outcome?.ok === false && outcome.error instanceof AppError ? outcome.error.code : undefined;

describe("a node that takes batches", () => {
  it("answers a hundred calls in two requests, each at its place", async () => {
    const rpc = rpcOf(anvil.url);
    const calls = Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? BLOCK_NUMBER : BALANCE));
    const results = (await rpc.requestMany(calls)).map(resultOf);
    expect(results.filter((result) => result === "0x0")).toHaveLength(50);
    expect(new Set(results.filter((_, at) => at % 2 === 1))).toEqual(new Set(["0x21e19e0c9bab2400000"]));
    // The chain's number is asked before the first, and again after each on a new connection; the double opens one for
    // each request.
    expect(rpc.health()[0]?.requests).toBeLessThanOrEqual(5);
  });

  it("refuses one call and answers the others", async () => {
    const [first, second, third] = await rpcOf(anvil.url).requestMany([BLOCK_NUMBER, UNKNOWN, BALANCE]);
    expect([first?.ok, third?.ok]).toEqual([true, true]);
    expect(second?.ok === false && second.error).toBeInstanceOf(RpcRefusal);
  });

  it("may answer in another order", async () => {
    const { url } = await double((body) => ({ body: [...(body as Request[])].reverse().map(reply) }));
    expect((await rpcOf(url).requestMany([BLOCK_NUMBER, BALANCE])).map(resultOf)).toEqual([
      "eth_blockNumber",
      "eth_getBalance",
    ]);
  });

  it("leaves one call without an answer: that call alone fails", async () => {
    const { url } = await double((body) => ({ body: (body as Request[]).slice(1).map(reply) }));
    const [first, second] = await rpcOf(url).requestMany([BLOCK_NUMBER, BALANCE]);
    expect([codeOf(first), second]).toEqual(["network_answer_invalid", { ok: true, result: "eth_getBalance" }]);
  });

  it("gets long parameters in several requests", async () => {
    const { url, bodies } = await double((body) => ({
      body: Array.isArray(body) ? (body as Request[]).map(reply) : reply(body as Request),
    }));
    const long: RpcCall = { method: "eth_sendRawTransaction", params: [`0x${"ab".repeat(60 * 1024)}`] };
    await rpcOf(url).requestMany([long, long, long]);
    expect(bodies.map((body) => (Array.isArray(body) ? body.length : 1))).toEqual([2, 1]);
  });
});

describe("a node that takes one call a request", () => {
  it.each([
    [
      "an error object",
      { body: { jsonrpc: "2.0", id: null, error: { code: -32_600, message: "batches are not for you" } } },
    ],
    ["HTTP 400", { status: 400, body: "no" }],
    ["HTTP 413", { status: 413, body: { error: "too large" } }],
  ])("and says so with %s gets them one by one, and no batch again", async (_name, refusal) => {
    const { url, bodies } = await double((body) => (Array.isArray(body) ? refusal : { body: reply(body as Request) }));
    const rpc = rpcOf(url);
    expect((await rpc.requestMany([BLOCK_NUMBER, BALANCE])).map(resultOf)).toEqual([
      "eth_blockNumber",
      "eth_getBalance",
    ]);
    expect((await rpc.requestMany([BALANCE, BLOCK_NUMBER])).map(resultOf)).toEqual([
      "eth_getBalance",
      "eth_blockNumber",
    ]);
    expect(bodies.filter((body) => Array.isArray(body))).toHaveLength(1);
    expect(rpc.health()[0]?.state).toBe("up");
  });
});

describe("a node that fails", () => {
  it("leaves the batch to the next one", async () => {
    const { url } = await double(() => ({ status: 503, body: "away" }));
    expect((await rpcOf(url, anvil.url).requestMany([BLOCK_NUMBER, BLOCK_NUMBER])).map(resultOf)).toEqual([
      "0x0",
      "0x0",
    ]);
  });

  it.each([
    ["is away", { status: 503, body: "away" }, "network_unreachable"],
    ["answers text", { body: "hello" }, "network_answer_invalid"],
  ])("%s: every call fails, by its name", async (_name, answer, code) => {
    const { url } = await double(() => answer);
    expect((await rpcOf(url).requestMany([BLOCK_NUMBER, BALANCE])).map(codeOf)).toEqual([code, code]);
  });

  it("ends with the signal's reason when nobody waits any more", async () => {
    const { url } = await double(() => ({ body: [] }));
    const reason = new Error("nobody waits");
    await expect(rpcOf(url).requestMany([BLOCK_NUMBER, BALANCE], { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
  });
});
