// Receipts that are longer than what is kept of an answer, or make no sense: the transactions beside them go on.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { FailoverRpc } from "../../../src/chain/rpc/failover-rpc.js";
import { systemClock } from "../../../src/platform/clock.js";
import { createEgressGuard, type EgressGuard } from "../../../src/platform/net/egress-guard.js";
import { AllowList } from "../../../src/platform/net/address-rules.js";
import { openBench, RECEIVER, type Bench } from "./support.js";

type Receipt = Readonly<Record<string, unknown>>;

const LOG = { address: RECEIVER, topics: [], data: `0x${"ab".repeat(5_000)}`, logIndex: "0x0" };
/** More than 4 MiB. */
const LOGS = 500;

let bench: Bench;
let guard: EgressGuard;
let proxy: Server;
let rpc: FailoverRpc;
let account: { readonly id: string };
/** What the proxy makes of a receipt, by the hash of its transaction. */
const changes = new Map<string, (receipt: Receipt) => Receipt>();

beforeAll(async () => {
  bench = await openBench({ confirmations: 4 });
  proxy = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const answer = await fetch(bench.anvil.url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: Buffer.concat(chunks),
      });
      const replies: unknown = await answer.json();
      response.end(JSON.stringify(Array.isArray(replies) ? replies.map(changed) : changed(replies)));
    })();
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, "127.0.0.1", resolve);
  });
  guard = createEgressGuard({ allow: new AllowList(["127.0.0.1"]), ports: [443] });
  const urls = [`http://127.0.0.1:${String((proxy.address() as AddressInfo).port)}`];
  rpc = new FailoverRpc({ urls, chainId: bench.anvil.chainId }, { egress: guard, clock: systemClock });
  bench.network = { rpc };
  account = await bench.account();
});
afterEach(() => {
  changes.clear();
});
afterAll(async () => {
  await bench.close();
  guard.close();
  proxy.closeAllConnections();
  proxy.close();
});

function changed(reply: unknown): unknown {
  const { result } = reply as { result?: unknown };
  const hash = (result as { transactionHash?: string } | null | undefined)?.transactionHash ?? "";
  const change = changes.get(hash);
  return change === undefined ? reply : { ...(reply as object), result: change(result as Receipt) };
}

/** Sends two transactions, of which the first has a changed receipt, and mines both. */
async function two(change: (receipt: Receipt) => Receipt): Promise<readonly [string, string]> {
  await bench.anvil.request("evm_setAutomine", false);
  const submit = async (): Promise<string> => {
    const request = { networkId: bench.networkId, signer: { accountId: account.id }, to: RECEIVER, value: 1n };
    return (await bench.transactions.service.submit(bench.owner, request)).id;
  };
  const ids = [await submit(), await submit()] as const;
  for (const id of ids) await bench.until(id, ({ state }) => state === "sent");
  changes.set(bench.transactions.service.get(bench.owner, ids[0]).hash ?? "", change);
  await bench.anvil.request("evm_setAutomine", true);
  await bench.anvil.request("anvil_mine", "0x1");
  return ids;
}

it("a receipt beyond the limit is read by its members, and its logs are counted", async () => {
  const [long, other] = await two((receipt) => ({ ...receipt, logs: Array.from({ length: LOGS }, () => LOG) }));
  await bench.until(other, ({ block }) => block !== null);
  const mined = await bench.until(long, ({ block }) => block !== null);
  expect(mined).toMatchObject({
    state: "mined",
    error: null,
    receipt: { status: "success", logs: [], logs_count: LOGS, logs_truncated: true },
  });
  await bench.anvil.request("anvil_mine", "0x4");
  await bench.until(long, ({ state }) => state === "confirmed");
  expect(rpc.health()[0]).toMatchObject({ state: "up" });
});

it("a receipt without sense stays open alone, and is told once", async () => {
  const [odd, other] = await two(({ status: _status, ...receipt }) => receipt);
  await bench.until(other, ({ block }) => block !== null);
  expect(bench.transactions.service.get(bench.owner, odd).state).toBe("sent");
  const told = bench.log.lines.filter(({ message }) => message === "the receipt of a transaction cannot be read now");
  expect(told).toHaveLength(1);
  // Nobody waits for the pause of a receipt that made no sense: a restart asks at once.
  changes.clear();
  await bench.restart();
  await bench.until(odd, ({ block }) => block !== null);
});
