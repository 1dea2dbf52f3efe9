/**
 * Submits transactions on a store and a vault of its own, over the client of nodes that the server has, until it is
 * killed. It writes `ID VALUE` for each accepted transaction, `failed ID` for each that is told to have failed. In the
 * mode `drain` it submits nothing, waits until nothing is open and prints every transaction. Arguments: folder, node's
 * URL, owner's id, network's id, account's id or "-", mode, how many to submit.
 */
import { randomInt } from "node:crypto";
import { writeSync } from "node:fs";
import { FailoverRpc } from "../../dist/src/chain/rpc/failover-rpc.js";
import { createTransactions } from "../../dist/src/chain/transactions/create-transactions.js";
import { systemClock } from "../../dist/src/platform/clock.js";
import { createLog } from "../../dist/src/platform/log.js";
import { AllowList } from "../../dist/src/platform/net/address-rules.js";
import { createEgressGuard } from "../../dist/src/platform/net/egress-guard.js";
import { openStore } from "../../dist/src/platform/store/lmdb/lmdb-store.js";
import { createVault } from "../../dist/src/vault/create-vault.js";

const [folder, url, ownerId, networkId, accountId, mode, count] = process.argv.slice(2);
const RECEIVER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const SUBMITTED_AT_ONCE = 4;
const log = createLog("silent");
const owner = { kind: "user", id: ownerId };
const egress = createEgressGuard({ allow: new AllowList(["127.0.0.0/8"]), ports: [] });
const rpc = new FailoverRpc({ urls: [url], chainId: 31_337 }, { egress, clock: systemClock });

const store = await openStore({ path: `${folder}/store` }, { log });
const vault = await createVault(
  { queueLengthMax: 1024, seal: { developmentDataDir: folder } },
  { store, clock: systemClock, log },
);
await vault.start();
const transactions = createTransactions(
  { pollMs: 40, patienceMs: 1_000, resendMs: 400 },
  {
    store,
    vault: vault.service,
    clock: systemClock,
    log,
    networks: { find: (_owner, id) => ({ id, chainId: 31_337, rpc, confirmations: 1 }) },
  },
);
transactions.service.onSettled(({ transactionId, outcome }) => {
  if (outcome === "failed") writeSync(1, `failed ${transactionId}\n`);
  return {};
});
transactions.start();
const account =
  accountId === "-"
    ? await transactions.accounts.create(owner, { network_id: networkId })
    : transactions.accounts.find(owner, accountId);
writeSync(1, `account ${account.id} ${account.address}\nready\n`);

if (mode === "drain") {
  const { service } = transactions;
  while (service.list(owner, { status: "pending" }, { page: 1, rpp: 1 }).total > 0)
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  const { total } = service.list(owner, {}, { page: 1, rpp: 1 });
  const all = Array.from(
    { length: Math.ceil(total / 100) },
    (_, at) => service.list(owner, {}, { page: at + 1, rpp: 100 }).body,
  ).flat();
  writeSync(
    1,
    `${JSON.stringify(all.map(({ id, state, value, nonce, hash, attempts, error }) => ({ id, state, value, nonce, hash, error, attempts: attempts.length })))}\n`,
  );
  await transactions.stop();
  await vault.stop();
  await store.close();
  egress.close();
  process.exit(0);
}
let left = Number(count);
await Promise.all(
  Array.from({ length: SUBMITTED_AT_ONCE }, async () => {
    while (left-- > 0) {
      const value = randomInt(1, 2 ** 47);
      const { id } = await transactions.service.submit(owner, {
        networkId,
        signer: { accountId: account.id },
        to: RECEIVER,
        value: BigInt(value),
        gas: 21_000n,
      });
      writeSync(1, `${id} ${value}\n`);
      await new Promise((resolve) => {
        setTimeout(resolve, 15);
      });
    }
  }),
);
