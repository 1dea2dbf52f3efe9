/**
 * Events: ten thousand WebSocket subscribers in a process of their own get one event each of a contract on a real node
 * (anvil), by the server's log follower. Two times, by the same machine's clock: from the moment that the follower
 * records the event (read, decoded, before its fsync), and from the moment that the block with the log is asked of the
 * node, each until a subscriber has read it. The transaction is a stranger's: the server hears of the block from the
 * node alone, over the WebSocket that the network names. Without one the follower's pause between two looks, up to 2 s,
 * would be in the second time. In turn with ours, a bare uWebSockets.js server publishes a text of the same length to
 * as many subscribers: the library's and the kernel's share.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { erc20Abi } from "viem";
import { readAbi } from "../../src/chain/contracts/abi/abi.js";
import type { WatchedContract } from "../../src/chain/contracts/abi/contract-abis.js";
import { LogFollowers } from "../../src/chain/events/log-followers.js";
import { HeadFeeds } from "../../src/chain/networks/nodes/head-feeds.js";
import type { NetworkRecord } from "../../src/chain/networks/network-port.js";
import { FailoverRpc } from "../../src/chain/rpc/failover-rpc.js";
import { permissionBits } from "../../src/platform/auth/permissions.js";
import type { Principal } from "../../src/platform/auth/principal.js";
import { systemClock } from "../../src/platform/clock.js";
import { bindRoutes } from "../../src/platform/contract/route.js";
import { AllowList } from "../../src/platform/net/address-rules.js";
import { createEgressGuard } from "../../src/platform/net/egress-guard.js";
import { EventBus } from "../../src/platform/events/event-bus.js";
import { eventHandlers } from "../../src/platform/events/event-handlers.js";
import { eventRoutes } from "../../src/platform/events/event-routes.js";
import { chooseDriver } from "../../src/platform/http/drivers/select.js";
import { HTTP_LIMITS } from "../../src/platform/http/limits/limits.js";
import { createServer } from "../../src/platform/http/server.js";
import { createLog } from "../../src/platform/log.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { ANVIL, ask, endProcess, startProcess } from "../node-process.js";
import type { BenchRow, BenchSubject, Report } from "../subject.js";
import { mainThreadMs } from "../thread-time.js";

const OWNER = { kind: "application", id: "7a4c1f2e-0000-4000-8000-00000000000a" } as const;
const PREFIX = "b1".repeat(32);
const LISTENER: Principal = {
  subject: OWNER,
  permissions: permissionBits(["subscribe"]),
  tokenId: "t",
  sessionId: "s",
  expiresAtSec: 4_000_000_000,
};
const NETWORK: NetworkRecord = {
  id: "7a4c1f2e-0000-4000-8000-00000000000b",
  created_at: "2026-01-01T00:00:00.000Z",
  owner: OWNER,
  name: "bench",
  description: null,
  is_production: false,
  cloneable: false,
  enabled: true,
  layer2: false,
  layer3: false,
  chain_id: "31337",
  sidechain_id: null,
  network_id: null,
  config: {},
};
const TRANSFER_TOPIC = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/**
 * Answers any call by a token's Transfer from the caller to itself, of the value in the call data: CALLER twice, topic,
 * LOG3.
 */
const RUNTIME = `60003560005233337f${TRANSFER_TOPIC}60206000a300`;
const CREATION = `0x60${(RUNTIME.length / 2).toString(16)}600c60003960${(RUNTIME.length / 2).toString(16)}6000f3${RUNTIME}`;
const SENDER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const VALUE = (10n ** 18n).toString(16).padStart(64, "0");

export const subject: BenchSubject = {
  name: "events",
  title: "Events: one contract event to ten thousand WebSocket subscribers",
  run: async (report, { quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-events-"));
    const node = await startProcess(ANVIL, ["--port", "0"], /^Listening on [^ ]*:(\d+)/);
    try {
      await benchFanOut(
        folder,
        { nodeUrl: `http://127.0.0.1:${node.found}`, subscribers: quick ? 1000 : 10_000, events: quick ? 10 : 30 },
        report,
      );
    } finally {
      await endProcess(node.child);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function benchFanOut(
  folder: string,
  size: { readonly nodeUrl: string; readonly subscribers: number; readonly events: number },
  report: Report,
): Promise<void> {
  const log = createLog("silent");
  const store = await openStore({ path: join(folder, "store") }, { log });
  const bus = new EventBus(
    {
      eventsMax: 100_000,
      daysMax: 7,
      streamsMax: 2 * size.subscribers,
      streamsPerSubjectMax: 2 * size.subscribers,
      streamsPerTokenMax: 2 * size.subscribers,
    },
    { store, clock: systemClock, log },
  );
  bus.start();
  const server = createServer(
    { host: "127.0.0.1", port: 0, limits: { rateLimits: false, connectionsMax: 2 * size.subscribers } },
    {
      driver: chooseDriver({ choice: "auto", keepAliveSec: HTTP_LIMITS.keepAliveSec }, { log }),
      routes: bindRoutes(eventRoutes, eventHandlers({ events: bus })),
      authenticate: () => LISTENER,
      isUnsealed: () => true,
      clock: systemClock,
      log,
    },
  );
  const { port } = await server.listen();
  const egress = createEgressGuard({ allow: new AllowList(["127.0.0.0/8"]), ports: [443] });
  const rpc = new FailoverRpc(
    { urls: [size.nodeUrl], chainId: Number(NETWORK.chain_id) },
    { egress, clock: systemClock },
  );
  const feeds = new HeadFeeds({ egress, clock: systemClock });
  const network: NetworkRecord = { ...NETWORK, config: { websocket_url: size.nodeUrl.replace("http", "ws") } };
  const contract = await deploy(size.nodeUrl);
  const abi = readAbi(
    erc20Abi.filter((item) => item.type === "event"),
    "abi",
  );
  const followers = new LogFollowers(
    { confirmations: 0 },
    {
      store,
      events: bus,
      log,
      networks: { find: () => network, rpc: () => rpc, hints: (record, onHint) => feeds.open(record, onHint) },
      contracts: { networks: () => [NETWORK.id], deployed: () => [contract], find: () => [{ contract, abi }] },
    },
  );
  followers.start();
  const ours = new FanOut({ pid: process.pid, subscribers: size.subscribers });
  const mine = async (): Promise<void> => {
    await ask(size.nodeUrl, "eth_sendTransaction", [
      { from: SENDER, to: contract.address, gas: "0x100000", data: `0x${VALUE}` },
    ]);
    ours.begin();
    await ask(size.nodeUrl, "evm_mine", []);
  };
  try {
    await withPlainServer(async (plain) => {
      const bare = new FanOut({ pid: plain.pid, subscribers: size.subscribers });
      await withSubscribers(port, size.subscribers, async (toOurs) => {
        await withSubscribers(plain.port, size.subscribers, async (toBare) => {
          for (let index = 0; index < size.events; index += 1) {
            await mine();
            const characters = await ours.take(toOurs);
            bare.begin();
            plain.publish(characters);
            await bare.take(toBare);
          }
        });
      });
      tell(report, size.subscribers, { ours, bare });
    });
  } finally {
    await followers.stop();
    await server.stop({ graceMs: 1000 });
    await bus.stop();
    await store.close();
    egress.close();
  }
}

/** What is said of one server's events. */
class FanOut {
  readonly p50: number[] = [];
  readonly p99: number[] = [];
  /** As p99, from the moment of `begin`. */
  readonly sinceBegin: number[] = [];
  /** Microseconds of processor time by message, of the main thread and of its subscribers. */
  readonly serverCpu: number[] = [];
  readonly clientCpu: number[] = [];
  readonly #server: { readonly pid: number; readonly subscribers: number };
  #begunMs = 0;
  #serverMs: number | undefined;

  constructor(server: { readonly pid: number; readonly subscribers: number }) {
    this.#server = server;
  }

  begin(): void {
    this.#serverMs = mainThreadMs(this.#server.pid);
    this.#begunMs = Date.now();
  }

  /** Waits until all have the event; the length of its text. */
  async take(subscribers: Subscribers): Promise<number> {
    const clientMs = mainThreadMs(subscribers.pid);
    const { at, characters, latencies } = await subscribers.next();
    const { pid, subscribers: count } = this.#server;
    if (latencies.length !== count)
      throw new Error(`an event reached ${String(latencies.length)} of ${String(count)} subscribers`);
    if (this.#serverMs !== undefined && clientMs !== undefined) {
      this.serverCpu.push((1000 * ((mainThreadMs(pid) ?? 0) - this.#serverMs)) / count);
      this.clientCpu.push((1000 * ((mainThreadMs(subscribers.pid) ?? 0) - clientMs)) / count);
    }
    latencies.sort((a, b) => a - b);
    const p99 = quantile(latencies, 0.99);
    this.p50.push(quantile(latencies, 0.5));
    this.p99.push(p99);
    this.sinceBegin.push(p99 + at - this.#begunMs);
    return characters;
  }
}

function tell(
  report: Report,
  subscribers: number,
  { ours, bare }: { readonly ours: FanOut; readonly bare: FanOut },
): void {
  const row = (id: string, peer: string, unit: BenchRow["unit"], samples: readonly number[], note: string): void => {
    const sorted = [...samples].sort((a, b) => a - b);
    if (sorted.length > 0)
      report({
        subject: "events",
        id,
        peer,
        unit,
        median: quantile(sorted, 0.5),
        p95: quantile(sorted, 0.95),
        samples: sorted.length,
        note,
      });
  };
  row(
    "fan-out-p50",
    "proofwright",
    "ms",
    ours.p50,
    `a contract's event to ${String(subscribers)} WebSocket subscribers, from its record by the log follower`,
  );
  row("fan-out-p50", "plain uWS", "ms", bare.p50, "a text as long, published in memory, in turn with ours");
  row(
    "fan-out-p99",
    "proofwright",
    "ms",
    ours.p99,
    "of each event over its subscribers; median and p95 over the events",
  );
  row("fan-out-p99", "plain uWS", "ms", bare.p99, "the same");
  row(
    "block-to-subscriber-p99",
    "proofwright",
    "ms",
    ours.sinceBegin,
    "the same from the moment that the block is asked of the node, which tells of it over a WebSocket",
  );
  row(
    "server-cpu",
    "proofwright",
    "us",
    ours.serverCpu,
    "processor time of the main thread by message, from the block to the last subscriber",
  );
  row("server-cpu", "plain uWS", "us", bare.serverCpu, "the same, nearly all of it the kernel's sending");
  row("subscribers-cpu", "proofwright", "us", ours.clientCpu, "of the process of all subscribers by message");
}

/** A contract that is there, with blocks on demand from then on. */
async function deploy(nodeUrl: string): Promise<WatchedContract> {
  const hash = await ask(nodeUrl, "eth_sendTransaction", [{ from: SENDER, gas: "0x100000", data: CREATION }]);
  await ask(nodeUrl, "evm_setAutomine", [false]);
  await ask(nodeUrl, "evm_mine", []);
  const receipt = (await ask(nodeUrl, "eth_getTransactionReceipt", [hash])) as { readonly contractAddress: string };
  return {
    owner: OWNER,
    contractId: "7a4c1f2e-0000-4000-8000-00000000000c",
    createdAt: new Date().toISOString(),
    networkId: NETWORK.id,
    address: receipt.contractAddress,
    name: "token",
    pubsubPrefix: PREFIX,
  };
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

interface Heard {
  /** When the server recorded the event, Unix milliseconds. */
  readonly at: number;
  readonly characters: number;
  /** How much later each subscriber had it. */
  readonly latencies: number[];
}

interface Subscribers {
  readonly pid: number;
  readonly next: () => Promise<Heard>;
}

/** Once all are connected. Their process prints a line of JSON then, and one for each event. */
async function withSubscribers(
  port: number,
  count: number,
  run: (subscribers: Subscribers) => Promise<void>,
): Promise<void> {
  const child = spawn(process.execPath, [peer("event-subscribers"), String(port), String(count), `${PREFIX}.>`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Heard> => {
    const line = await lines.next();
    if (line.done === true) throw new Error("the subscribers ended; see `ulimit -n`");
    return JSON.parse(line.value) as Heard;
  };
  try {
    await next();
    await run({ pid: child.pid ?? 0, next });
  } finally {
    child.kill();
  }
}

async function withPlainServer(
  run: (server: {
    readonly pid: number;
    readonly port: number;
    readonly publish: (characters: number) => void;
  }) => Promise<void>,
): Promise<void> {
  const child = spawn(process.execPath, [peer("plain-events")], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const line = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    const port = Number(/^Listening on (\d+)$/.exec(String(line.value))?.[1]);
    await run({
      pid: child.pid ?? 0,
      port,
      publish: (characters) => {
        child.stdin.write(`${String(characters)}\n`);
      },
    });
  } finally {
    child.kill();
  }
}

function peer(name: string): string {
  return fileURLToPath(new URL(`../peers/${name}.js`, import.meta.url));
}
