// Contract logs from a real node (anvil): decoded, in order, taken back when their block was replaced, and none lost
// over a restart.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FollowRecords } from "../../../src/chain/events/follow-records.js";
import { LogFollower } from "../../../src/chain/events/log-follower.js";
import type { WatchedContract } from "../../../src/chain/contracts/abi/contract-abis.js";
import { readAbi } from "../../../src/chain/contracts/abi/abi.js";
import { RpcRefusal, type Rpc } from "../../../src/chain/rpc/rpc.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import { EventLog, type LoggedEvent } from "../../../src/platform/events/event-log.js";
import { createLog } from "../../../src/platform/log.js";
import { openStore, type DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { ANVIL_ACCOUNTS, startAnvil, type Anvil } from "../../support/anvil.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { PING_ABI, PING_CREATION, pingCall } from "./ping.js";

const OWNER: Subject = { kind: "application", id: randomUUID() };
const NETWORK = randomUUID();
const ABI = readAbi(PING_ABI, "abi");

let folder: string;
let store: DurableStore;
let log: EventLog;
let anvil: Anvil;
let contract: WatchedContract;

const open = async (): Promise<void> => {
  store = await openStore(
    { path: join(folder, "store"), mapBytes: 64 * 2 ** 20, reserveBytes: 2 ** 20 },
    { log: createLog("silent") },
  );
  log = new EventLog({ eventsMax: 10_000, daysMax: 7 }, { store, clock: systemClock, log: createLog("silent") });
};
const plainRpc: Rpc = { request: async (method, params) => await anvil.request(method, ...params) };

beforeEach(async () => {
  folder = newFolder("follower");
  await open();
  anvil = await startAnvil();
  const deployed = await send({ data: PING_CREATION });
  contract = {
    owner: OWNER,
    contractId: randomUUID(),
    createdAt: new Date().toISOString(),
    networkId: NETWORK,
    address: String(deployed.contractAddress),
    name: "Ping",
    pubsubPrefix: "ab".repeat(32),
  };
});
afterEach(async () => {
  await anvil.stop();
  await store.close();
  removeFolder(folder);
});

async function send(transaction: {
  readonly to?: string;
  readonly data: string;
}): Promise<{ readonly contractAddress: unknown; readonly transactionHash: unknown }> {
  const hash = await anvil.request("eth_sendTransaction", { from: ANVIL_ACCOUNTS[0], gas: "0x100000", ...transaction });
  for (;;) {
    // The node answers before its block is there.
    const receipt = await anvil.request("eth_getTransactionReceipt", hash);
    if (receipt !== null) return receipt as { contractAddress: unknown; transactionHash: unknown };
  }
}
const ping = async (value: number) => await send({ to: contract.address, data: pingCall(value) });

function follower(rpc: Rpc = plainRpc, confirmations = 0): LogFollower {
  return new LogFollower(
    { networkId: NETWORK, confirmations },
    {
      records: new FollowRecords({ networkId: NETWORK }, { store }),
      events: log,
      rpc: () => rpc,
      contracts: () => [contract],
      find: () => [{ contract, abi: ABI }],
    },
  );
}

async function catchUp(following: LogFollower): Promise<void> {
  while ((await following.step()) === "advanced");
}

const published = (): { value: unknown; removed: boolean; event: LoggedEvent }[] =>
  log.after(0, 10_000).map((event) => {
    const { value, removed } = event.payload as { value?: unknown; removed: boolean };
    return { value, removed, event };
  });

it("publishes each log once, decoded, in order, under the network's and the contract's subjects, to the owner alone", async () => {
  for (const value of [1, 2, 3]) await ping(value);
  const following = follower();
  await catchUp(following);
  const sent = await ping(4);
  await catchUp(following);
  await catchUp(follower());
  expect(published().map(({ value }) => value)).toEqual(["1", "2", "3", "4"]);
  const { event } = published()[3]!;
  expect(event.subjects).toEqual([
    `network.${NETWORK}.contracts.${contract.address}`,
    contract.pubsubPrefix,
    `${contract.pubsubPrefix}.Ping`,
  ]);
  expect(event.to).toEqual([`application:${OWNER.id}`]);
  expect(event.payload).toMatchObject({
    value: "4",
    params: { value: "4" },
    type: "Ping",
    by: ANVIL_ACCOUNTS[0].toLowerCase(),
    tx_hash: sent.transactionHash,
    network_id: NETWORK,
    contract_id: contract.contractId,
    removed: false,
  });
});

it("goes on after a restart from where it stood, and waits for confirmations", async () => {
  await ping(1);
  await catchUp(follower(plainRpc, 2));
  expect(published()).toEqual([]);
  await anvil.request("anvil_mine", "0x2");
  await catchUp(follower(plainRpc, 2));
  await store.close();
  await open();
  await ping(2);
  await anvil.request("anvil_mine", "0x2");
  await catchUp(follower(plainRpc, 2));
  expect(published().map(({ value }) => value)).toEqual(["1", "2"]);
});

it("takes back what stood in a replaced block, newest first, and publishes what replaced it", async () => {
  await ping(1);
  const following = follower();
  await catchUp(following);
  const snapshot = await anvil.request("evm_snapshot");
  for (const value of [2, 3]) await ping(value);
  await catchUp(following);
  await anvil.request("evm_revert", snapshot);
  await anvil.request("evm_increaseTime", 1000);
  for (const value of [7, 8, 9]) await ping(value);
  await catchUp(following);
  expect(published().map(({ value, removed }) => (removed ? "removed" : value))).toEqual([
    "1",
    "2",
    "3",
    "removed",
    "removed",
    "7",
    "8",
    "9",
  ]);
  const hashes = published().map(({ event }) => (event.payload as { tx_hash: string }).tx_hash);
  expect(hashes.slice(3, 5)).toEqual([hashes[2], hashes[1]]);
});

it("asks for less when the node refuses long ranges, and loses nothing when the node is down or lies", async () => {
  for (const value of [1, 2, 3, 4, 5]) await ping(value);
  const narrow: Rpc = {
    request: async (method, params) => {
      const [filter] = params as [{ fromBlock: string; toBlock: string }];
      if (method === "eth_getLogs" && Number(filter.toBlock) > Number(filter.fromBlock))
        throw new RpcRefusal("query returned more than 0 results", -32005);
      return await plainRpc.request(method, params);
    },
  };
  await catchUp(follower(narrow));
  expect(published().map(({ value }) => value)).toEqual(["1", "2", "3", "4", "5"]);
  await ping(6);
  const lying: Rpc = {
    request: async (method, params) =>
      method === "eth_getLogs" ? [{ address: "0x00" }] : await plainRpc.request(method, params),
  };
  await expect(follower(lying).step()).rejects.toMatchObject({ code: "network_answer_invalid" });
  const down: Rpc = { request: async () => await Promise.reject(new Error("down")) };
  await expect(follower(down).step()).rejects.toThrow("down");
  await catchUp(follower());
  expect(published().map(({ value }) => value)).toEqual(["1", "2", "3", "4", "5", "6"]);
});

it("sees a block of the same height that replaced the newest", async () => {
  await ping(1);
  const following = follower();
  await catchUp(following);
  const snapshot = await anvil.request("evm_snapshot");
  await ping(2);
  await catchUp(following);
  await anvil.request("evm_revert", snapshot);
  await anvil.request("evm_increaseTime", 1000);
  await ping(3);
  await catchUp(following);
  expect(published().map(({ value, removed }) => (removed ? "removed" : value))).toEqual(["1", "2", "removed", "3"]);
});

it("asks the node four things about a block that follows the last one, and one when there is none", async () => {
  await ping(1);
  const asked: string[] = [];
  const following = follower({
    request: async (method, params) => {
      asked.push(method);
      return await plainRpc.request(method, params);
    },
  });
  await catchUp(following);
  asked.length = 0;
  expect(await following.step()).toBe("waiting");
  await ping(2);
  expect(await following.step()).toBe("advanced");
  expect(asked).toEqual([
    "eth_getBlockByNumber",
    "eth_getBlockByNumber",
    "eth_getLogs",
    "eth_getBlockByNumber",
    "eth_getTransactionByHash",
  ]);
  expect(published().map(({ value }) => value)).toEqual(["1", "2"]);
});
