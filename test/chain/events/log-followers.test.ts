// The runner of log followers over real nodes: contracts of several networks, a node that fails beside one that
// answers, start and stop.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readAbi } from "../../../src/chain/contracts/abi/abi.js";
import type { WatchedContract } from "../../../src/chain/contracts/abi/contract-abis.js";
import { LogFollowers } from "../../../src/chain/events/log-followers.js";
import { HeadFeeds } from "../../../src/chain/networks/nodes/head-feeds.js";
import type { NetworkRecord } from "../../../src/chain/networks/network-port.js";
import type { Rpc } from "../../../src/chain/rpc/rpc.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import { AppError } from "../../../src/platform/errors.js";
import { EventLog } from "../../../src/platform/events/event-log.js";
import { openStore, type DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { ANVIL_ACCOUNTS, startAnvil, type Anvil } from "../../support/anvil.js";
import { loopbackEgress } from "../../support/loopback-egress.js";
import { recordedLog, type RecordedLog } from "../../support/silent-log.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { PING_ABI, PING_CREATION, pingCall } from "./ping.js";

const OWNER: Subject = { kind: "application", id: randomUUID() };
const ABI = readAbi(PING_ABI, "abi");
const [ONE, TWO] = [randomUUID(), randomUUID()];

let folder: string;
let store: DurableStore;
let log: EventLog;
let lines: RecordedLog;
let anvil: Anvil;
let contracts: WatchedContract[];
/** Networks whose node is away. */
let away: Set<string>;
let asked: number;
let followers: LogFollowers;
let feeds: HeadFeeds;
let socketUrl: string;

beforeEach(async () => {
  folder = newFolder("followers");
  lines = recordedLog();
  store = await openStore(
    { path: join(folder, "store"), mapBytes: 64 * 2 ** 20, reserveBytes: 2 ** 20 },
    { log: lines },
  );
  log = new EventLog({ eventsMax: 10_000, daysMax: 7 }, { store, clock: systemClock, log: lines });
  anvil = await startAnvil();
  [contracts, away, asked] = [[], new Set(), 0];
  feeds = new HeadFeeds({ egress: loopbackEgress, clock: systemClock });
  socketUrl = anvil.url.replace("http", "ws");
  followers = makeFollowers();
});
afterEach(async () => {
  await followers.stop();
  await anvil.stop("SIGKILL");
  await store.close();
  removeFolder(folder);
});

/**
 * Both networks are of one node and differ in whether it can be reached. With `isPushed` the node's WebSocket wakes the
 * followers, which otherwise take a step once a minute.
 */
function makeFollowers(isPushed = false): LogFollowers {
  const rpcOf = (id: string): Rpc => ({
    request: async (method, params) => {
      asked += 1;
      if (away.has(id)) throw new AppError("network_unreachable", { message: "the node is away" });
      return await anvil.request(method, ...params);
    },
  });
  return new LogFollowers(
    { confirmations: 0, pollMs: isPushed ? 60_000 : 20, reloadMs: 40 },
    {
      store,
      events: log,
      log: lines,
      networks: {
        find: (owner, id) =>
          ({ id, owner, enabled: true, config: isPushed ? { websocket_url: socketUrl } : {} }) as NetworkRecord,
        rpc: ({ id }) => rpcOf(id),
        hints: (record, onHint) => feeds.open(record, onHint),
      },
      contracts: {
        networks: () => [...new Set(contracts.map(({ networkId }) => networkId))],
        deployed: (id) => contracts.filter(({ networkId }) => networkId === id),
        find: (id, address) =>
          contracts
            .filter((contract) => contract.networkId === id && contract.address.toLowerCase() === address)
            .map((contract) => ({ contract, abi: ABI })),
      },
    },
  );
}

async function send(transaction: {
  readonly to?: string;
  readonly data: string;
}): Promise<{ readonly contractAddress: unknown }> {
  const hash = await anvil.request("eth_sendTransaction", { from: ANVIL_ACCOUNTS[0], gas: "0x100000", ...transaction });
  for (;;) {
    const receipt = await anvil.request("eth_getTransactionReceipt", hash);
    if (receipt !== null) return receipt as { contractAddress: unknown };
  }
}

async function deploy(networkId: string): Promise<WatchedContract> {
  const { contractAddress } = await send({ data: PING_CREATION });
  const contract: WatchedContract = {
    owner: OWNER,
    contractId: randomUUID(),
    createdAt: new Date().toISOString(),
    networkId,
    address: String(contractAddress),
    name: "Ping",
    pubsubPrefix: randomUUID().replaceAll("-", "").repeat(2),
  };
  contracts.push(contract);
  return contract;
}
const ping = async ({ address }: WatchedContract, value: number): Promise<void> => {
  await send({ to: address, data: pingCall(value) });
};

/** Returns the values that were published for a contract, in order. */
function told({ pubsubPrefix }: WatchedContract): string[] {
  return log
    .after(0, 10_000)
    .filter(({ subjects }) => subjects.some((subject) => subject.startsWith(pubsubPrefix)))
    .map(({ payload }) => (payload as { value: string }).value);
}

/** Resolves at the append that makes it true. */
async function untilTold(contract: WatchedContract, values: readonly string[]): Promise<void> {
  await new Promise<void>((resolve) => {
    const look = (): void => {
      if (told(contract).length < values.length) return;
      end();
      resolve();
    };
    const end = log.onAppend(look);
    look();
  });
  expect(told(contract)).toEqual(values);
}

it("follows several contracts of one network, each under its own subjects, and takes in one that comes later", async () => {
  const [first, second] = [await deploy(ONE), await deploy(ONE)];
  followers.start();
  await ping(first, 1);
  await ping(second, 2);
  await ping(first, 3);
  await untilTold(first, ["1", "3"]);
  await untilTold(second, ["2"]);
  const third = await deploy(ONE);
  await ping(third, 4);
  followers.wake(ONE);
  await untilTold(third, ["4"]);
  expect(told(first)).toEqual(["1", "3"]);
});

it("goes on with one network while the node of another is away, says so once, and catches up when it is back", async () => {
  const [down, up] = [await deploy(ONE), await deploy(TWO)];
  away.add(ONE);
  followers.start();
  await ping(down, 1);
  for (const value of [2, 3]) {
    await ping(up, value);
    followers.wake(TWO);
  }
  await untilTold(up, ["2", "3"]);
  expect(told(down)).toEqual([]);
  // The node is asked again and again, and the log has one line.
  for (let round = 0; round < 3; round += 1) followers.wake(ONE);
  away.delete(ONE);
  followers.wake(ONE);
  await untilTold(down, ["1"]);
  expect(lines.lines.filter(({ message }) => message === "contract logs cannot be followed for now")).toHaveLength(1);
});

it("asks nothing once it has stopped, and a new one goes on where it stood", async () => {
  const contract = await deploy(ONE);
  followers.start();
  await ping(contract, 1);
  await untilTold(contract, ["1"]);
  await followers.stop();
  const askedBefore = asked;
  await ping(contract, 2);
  followers.wake(ONE);
  expect(asked).toBe(askedBefore);
  expect(told(contract)).toEqual(["1"]);
  followers = makeFollowers();
  followers.start();
  await untilTold(contract, ["1", "2"]);
});

it("hears of somebody else's block from the node, where the network names a WebSocket", async () => {
  const contract = await deploy(ONE);
  followers = makeFollowers(true);
  followers.start();
  for (const value of [1, 2, 3]) {
    await ping(contract, value);
    await untilTold(
      contract,
      Array.from({ length: value }, (_, at) => String(at + 1)),
    );
  }
});

it("looks again when it was called while it looked", async () => {
  const contract = await deploy(ONE);
  const node = anvil;
  let isLate = false;
  anvil = {
    ...node,
    request: async (method, ...params) => {
      const answer = await node.request(method, ...params);
      if (isLate && method === "eth_getBlockByNumber") {
        isLate = false;
        // After the node has named the newest block, and before the follower has the answer.
        await ping(contract, 2);
        followers.wake(ONE);
      }
      return answer;
    },
  };
  followers = makeFollowers(true);
  socketUrl = "ws://127.0.0.1:1/";
  followers.start();
  await ping(contract, 1);
  followers.wake(ONE);
  await untilTold(contract, ["1"]);
  isLate = true;
  followers.wake(ONE);
  await untilTold(contract, ["1", "2"]);
});
