/**
 * Transactions of one account: 500 over HTTP into our server until the chain has them all, beside viem with a local key
 * and nonces kept by hand against the same node in the same run. Server and node are processes of their own; viem signs
 * in the bench's process.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWalletClient, defineChain, http } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { apiRoutes } from "../../src/api.js";
import { createClient, type Client } from "../../src/sdk/client.js";
import { ANVIL, ask, endProcess, startProcess } from "../node-process.js";
import { summarize } from "../sample.js";
import type { BenchSubject, Report } from "../subject.js";

type Api = Client<typeof apiRoutes>;

const CHAIN_ID = 31337;
const RECEIVER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const HUNDRED_ETHER = "0x56bc75e2d63100000";
/** How often the chain is asked how far it is. */
const LOOK_MS = 5;
/**
 * A run that takes longer is stuck: anvil now and then loses sight of a transaction that comes while it mines the one
 * before.
 */
const STUCK_MS = 30_000;

export const subject: BenchSubject = {
  name: "chain",
  title: "Chain: transactions of one account until they are mined, beside viem with a local key",
  run: async (report, { quick }) => {
    const [transactions, rounds] = quick ? [100, 2] : [500, 5];
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-chain-"));
    const node = await startProcess(ANVIL, ["--port", "0"], /^Listening on [^ ]*:(\d+)/);
    const nodeUrl = `http://127.0.0.1:${node.found}`;
    const server = await startProcess(
      process.execPath,
      [
        "dist/src/cli.js",
        "server",
        "--port=0",
        `--data-dir=${join(folder, "data")}`,
        "--mode=development",
        "--log-level=error",
        "--rate-limits=false",
      ],
      / on (https?:\S+)$/,
    );
    try {
      await compare(report, { serverUrl: server.found, nodeUrl, transactions, rounds });
    } finally {
      await endProcess(server.child);
      await endProcess(node.child);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

interface Comparison {
  readonly serverUrl: string;
  readonly nodeUrl: string;
  readonly transactions: number;
  readonly rounds: number;
}

async function compare(report: Report, { serverUrl, nodeUrl, transactions, rounds }: Comparison): Promise<void> {
  const api = await logIn(serverUrl);
  const network = (
    await api.createNetwork({
      body: {
        name: "bench",
        chain_id: String(CHAIN_ID),
        config: { chain: "anvil", native_currency: "ETH", platform: "evm", json_rpc_url: nodeUrl, confirmations: 1 },
      },
    })
  ).body.id;
  const rates: Record<"ours" | "viem" | "viem, all given", number[]> = { ours: [], viem: [], "viem, all given": [] };
  // One round of each to warm up, then by turns, so that what else the machine does meets all alike.
  for (let round = -1; round < rounds; round += 1) {
    const measured = {
      ours: await throughServer(api, nodeUrl, network, transactions),
      viem: await throughViem(nodeUrl, transactions, {}),
      "viem, all given": await throughViem(nodeUrl, transactions, ALL_GIVEN),
    };
    if (round >= 0) for (const name of ["ours", "viem", "viem, all given"] as const) rates[name].push(measured[name]);
  }
  // A peer that the node left hanging has no rate in that round; our server must free itself, so that its waits count.
  for (const name of ["viem", "viem, all given"] as const) rates[name] = rates[name].filter((rate) => rate > 0);
  const row = { subject: "chain", id: "transactions-one-account", unit: "ops/s", samples: rounds } as const;
  report({
    ...row,
    peer: "proofwright",
    median: summarize(rates.ours).median,
    note: `${String(transactions)} over HTTP, estimated, signed by the vault, durable`,
  });
  report({
    ...row,
    peer: "viem",
    samples: rates.viem.length,
    median: summarize(rates.viem).median,
    note: "sendTransaction, local key, nonce by hand",
  });
  report({
    ...row,
    peer: "viem, all given",
    samples: rates["viem, all given"].length,
    median: summarize(rates["viem, all given"]).median,
    note: "the same with gas and fees by hand: signs and sends, nothing else",
  });
}

const ALL_GIVEN = {
  gas: 21_000n,
  maxFeePerGas: 5_000_000_000n,
  maxPriorityFeePerGas: 1_000_000_000n,
  type: "eip1559",
} as const;

/** Transactions a second, from the first request to the block of the last. */
async function throughServer(api: Api, nodeUrl: string, network: string, transactions: number): Promise<number> {
  const account = (await api.createAccount({ body: { network_id: network } })).body;
  await ask(nodeUrl, "anvil_setBalance", [account.address, HUNDRED_ETHER]);
  const startedMs = performance.now();
  await Promise.all(
    Array.from(
      { length: transactions },
      async () =>
        await api.createTransaction({ body: { network_id: network, account_id: account.id, to: RECEIVER, value: 1 } }),
    ),
  );
  if (!(await untilMined(nodeUrl, account.address, transactions)))
    throw new Error(`not all transactions were mined within ${String(STUCK_MS)} ms`);
  return (transactions / (performance.now() - startedMs)) * 1000;
}

/** 0 when the node was stuck. */
async function throughViem(nodeUrl: string, transactions: number, given: Partial<typeof ALL_GIVEN>): Promise<number> {
  const account = privateKeyToAccount(generatePrivateKey());
  const chain = defineChain({
    id: CHAIN_ID,
    name: "anvil",
    nativeCurrency: { name: "ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [nodeUrl] } },
  });
  const client = createWalletClient({ account, chain, transport: http(nodeUrl) });
  await ask(nodeUrl, "anvil_setBalance", [account.address, HUNDRED_ETHER]);
  const startedMs = performance.now();
  await Promise.all(
    Array.from(
      { length: transactions },
      async (_, nonce) => await client.sendTransaction({ to: RECEIVER, value: 1n, nonce, ...given }),
    ),
  );
  const isMined = await untilMined(nodeUrl, account.address, transactions);
  return isMined ? (transactions / (performance.now() - startedMs)) * 1000 : 0;
}

async function untilMined(nodeUrl: string, address: string, transactions: number): Promise<boolean> {
  const end = performance.now() + STUCK_MS;
  while (Number(await ask(nodeUrl, "eth_getTransactionCount", [address, "latest"])) < transactions) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => {
      setTimeout(resolve, LOOK_MS);
    });
  }
  return true;
}

async function logIn(url: string): Promise<Api> {
  const anonymous = createClient({ baseUrl: url }, apiRoutes);
  const credentials = { email: "bench@example.com", password: "only for measuring 1" };
  await anonymous.createUser({ body: { ...credentials, first_name: "B", last_name: "Ench" } });
  return createClient(
    { baseUrl: url, token: (await anonymous.authenticate({ body: credentials })).body.token.access_token },
    apiRoutes,
  );
}
