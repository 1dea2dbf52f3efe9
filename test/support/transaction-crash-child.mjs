/**
 * Submits transactions on a store and a vault of its own until it is killed: at a send that its arguments name (before
 * the node has the bytes, or after and before anybody knows), or from outside. In the mode `drain` it submits nothing,
 * waits until nothing is open and prints every transaction. Arguments: folder, node's URL, owner's id, network's id,
 * account's id or "-", mode, number of the send.
 */
import { writeSync } from "node:fs";
import { createTransactions } from "../../dist/src/chain/transactions/create-transactions.js";
import { RpcRefusal } from "../../dist/src/chain/rpc/rpc.js";
import { systemClock } from "../../dist/src/platform/clock.js";
import { createLog } from "../../dist/src/platform/log.js";
import { openStore } from "../../dist/src/platform/store/lmdb/lmdb-store.js";
import { createVault } from "../../dist/src/vault/create-vault.js";

const [folder, url, ownerId, networkId, accountId, mode, sendNumber] = process.argv.slice(2);
const RECEIVER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const SUBMITTED_AT_ONCE = 8;
const log = createLog("silent");
const owner = { kind: "user", id: ownerId };
let sends = 0;
let isReady = false;

async function call(method, params) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = await response.json();
  if (error !== undefined) throw new RpcRefusal(error.message, error.code, error.data);
  return result;
}
const rpc = {
  async request(method, params) {
    // What an earlier process left is sent again before this one is ready: only later sends are counted.
    const isFatal = isReady && method === "eth_sendRawTransaction" && ++sends === Number(sendNumber);
    if (isFatal && mode === "before") process.kill(process.pid, "SIGKILL");
    const result = await call(method, params);
    if (isFatal && mode === "after") process.kill(process.pid, "SIGKILL");
    return result;
  },
};

const store = await openStore({ path: `${folder}/store` }, { log });
const vault = await createVault(
  { queueLengthMax: 1024, seal: { developmentDataDir: folder } },
  { store, clock: systemClock, log },
);
await vault.start();
const transactions = createTransactions(
  { pollMs: 40, patienceMs: 400, resendMs: 400 },
  {
    store,
    vault: vault.service,
    clock: systemClock,
    log,
    networks: { find: (_owner, id) => ({ id, chainId: 31337, rpc, confirmations: 1 }) },
  },
);
transactions.start();
const account =
  accountId === "-"
    ? await transactions.accounts.create(owner, { network_id: networkId })
    : transactions.accounts.find(owner, accountId);
await call("anvil_setBalance", [account.address, "0x8ac7230489e80000"]);
writeSync(1, `account ${account.id} ${account.address}\nready\n`);
isReady = true;

if (mode === "drain") {
  const { service } = transactions;
  while (service.list(owner, { status: "pending" }, { page: 1, rpp: 1 }).total > 0)
    await new Promise((resolve) => {
      setTimeout(resolve, 25);
    });
  const { total } = service.list(owner, {}, { page: 1, rpp: 1 });
  const all = Array.from(
    { length: Math.ceil(total / 100) },
    (_, at) => service.list(owner, {}, { page: at + 1, rpp: 100 }).body,
  ).flat();
  writeSync(
    1,
    `${JSON.stringify(all.map(({ id, ref, state, nonce, hash, attempts }) => ({ id, ref, state, nonce, hash, attempts: attempts.length })))}\n`,
  );
  await transactions.stop();
  await vault.stop();
  await store.close();
  process.exit(0);
}
await Promise.all(
  Array.from({ length: SUBMITTED_AT_ONCE }, async () => {
    for (;;) {
      const { id } = await transactions.service.submit(owner, {
        networkId,
        signer: { accountId: account.id },
        to: RECEIVER,
        value: 1n,
        gas: 21_000n,
      });
      writeSync(1, `${id}\n`);
    }
  }),
);
