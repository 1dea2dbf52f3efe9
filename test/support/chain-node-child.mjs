// A node of a cluster that sends transactions, until it is killed: from outside, or when the chain's node has taken a
// number of transactions and nobody has been told. Prints a line when the duty is this node's. Argument: JSON with
// folder, sealFolder, databaseUrl, clusterKey (hex), url, chainId, killAtSend.
import { writeSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { createTransactions } from "../../dist/src/chain/transactions/create-transactions.js";
import { RpcRefusal } from "../../dist/src/chain/rpc/rpc.js";
import { ClusterNodes } from "../../dist/src/platform/cluster/members/cluster-nodes.js";
import { openNodeStore } from "../../dist/src/platform/cluster/cluster-store.js";
import { databaseAddress } from "../../dist/src/platform/cluster/database-address.js";
import { systemClock } from "../../dist/src/platform/clock.js";
import { createLog } from "../../dist/src/platform/log.js";
import { createVault } from "../../dist/src/vault/create-vault.js";

const { folder, sealFolder, databaseUrl, clusterKey, url, chainId, killAtSend } = JSON.parse(process.argv[2]);
const log = createLog("silent");
const clock = systemClock;
const [node, incarnation] = [randomUUID(), randomUUID()];
let sends = 0;

const rpc = {
  async request(method, params) {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = await response.json();
    if (method === "eth_sendRawTransaction" && ++sends === killAtSend) process.kill(process.pid, "SIGKILL");
    if (error !== undefined) throw new RpcRefusal(error.message, error.code, error.data);
    return result;
  },
};

const store = await openNodeStore(
  {
    path: folder,
    chainKey: new Uint8Array(32).fill(7),
    cluster: { databaseUrl, clusterKey: Buffer.from(clusterKey, "hex"), node, incarnation },
  },
  { log },
);
const nodes = await ClusterNodes.join(
  { address: databaseAddress(databaseUrl), node, incarnation, name: "child", role: "server", settings: {} },
  { store, clock, log },
);
const vault = await createVault(
  { queueLengthMax: 1024, seal: { developmentDataDir: sealFolder } },
  { store, nodes, clock, log },
);
await vault.start();
const transactions = createTransactions(
  { pollMs: 40, patienceMs: 400, resendMs: 400 },
  {
    ...{ store, nodes, vault: vault.service, clock, log },
    networks: { find: (_owner, id) => ({ id, chainId, rpc, confirmations: 3 }) },
  },
);
nodes.take("chain", () => {
  transactions.start();
  writeSync(1, "sends\n");
});
