/** Networks over the guard against real nodes and against bad ones: records, failover, live status, isolation. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { HeadHints } from "../../../src/chain/networks/network-port.js";
import { createNetworks, type NetworksPart } from "../../../src/chain/networks/create-networks.js";
import { readNetworkUrls } from "../../../src/chain/networks/public-networks.js";
import { FailoverRpc } from "../../../src/chain/rpc/failover-rpc.js";
import { RpcRefusal } from "../../../src/chain/rpc/rpc.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import { AllowList } from "../../../src/platform/net/address-rules.js";
import { createEgressGuard } from "../../../src/platform/net/egress-guard.js";
import type { EventDraft, Events } from "../../../src/platform/events/events.js";
import { newId } from "../../../src/platform/ids.js";
import type { Store } from "../../../src/platform/store/store.js";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { MemoryStore } from "../../support/memory-store.js";
import { recordedLog, type RecordedLog } from "../../support/silent-log.js";
import { openTestVault, PHRASE, type TestVault } from "../../vault/support.js";

const SIGNAL = new AbortController().signal;
const CHAIN = 31_337;
const MAINNET = "deca2436-21ba-4ff5-b225-ad1b0b2f5c59";
const egress = createEgressGuard({ allow: new AllowList(["127.0.0.0/8"]), ports: [443, 8545] });
const ada: Subject = { kind: "user", id: newId() };
const eve: Subject = { kind: "user", id: newId() };
const doubles: Server[] = [];
let anvil: Anvil;
let other: Anvil;
let vault: TestVault;

beforeAll(async () => {
  [anvil, other, vault] = await Promise.all([
    startAnvil({ chainId: CHAIN }),
    startAnvil({ chainId: 5 }),
    openTestVault(),
  ]);
});
afterEach(() => {
  for (const double of doubles.splice(0)) {
    double.closeAllConnections();
    double.close();
  }
});
afterAll(async () => {
  egress.close();
  await Promise.all([anvil.stop("SIGKILL"), other.stop("SIGKILL"), vault.close()]);
});

/** A node that answers whatever it is told to. */
async function double(
  answer: (method: string, response: ServerResponse, authorization: string | undefined) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      answer((JSON.parse(body) as { method: string }).method, response, request.headers.authorization);
    });
  });
  doubles.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}
const result = (response: ServerResponse, value: unknown): void => {
  response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: value }));
};
const asChain =
  (answer: (response: ServerResponse) => void) =>
  (method: string, response: ServerResponse): void => {
    if (method === "eth_chainId") result(response, "0x7a69");
    else answer(response);
  };
const rpcOf = (...urls: string[]): FailoverRpc =>
  new FailoverRpc({ urls, chainId: CHAIN }, { egress, clock: systemClock });

async function deadUrl(): Promise<string> {
  const url = await double(() => undefined);
  const server = doubles.pop();
  await new Promise((resolve) => {
    server?.close(resolve);
  });
  return url;
}

describe("one node", () => {
  it("is asked for its chain before anything else, once", async () => {
    const asked: string[] = [];
    const url = await double((method, response) => {
      asked.push(method);
      result(response, method === "eth_chainId" ? "0x7a69" : "0x1");
    });
    const rpc = rpcOf(url);
    await Promise.all([rpc.request("eth_blockNumber", []), rpc.request("eth_gasPrice", [])]);
    expect(asked[0]).toBe("eth_chainId");
    expect(await rpc.request("eth_blockNumber", [])).toBe("0x1");
    expect(asked.filter((method) => method === "eth_blockNumber")).toHaveLength(2);
  });

  it("of another chain is network_chain_mismatch, and nothing of it is believed", async () => {
    const rpc = rpcOf(other.url);
    await expect(rpc.request("eth_blockNumber", [])).rejects.toMatchObject({
      code: "network_chain_mismatch",
      status: 409,
    });
    expect(rpc.health()[0]).toMatchObject({ state: "mismatch", failures: 1 });
  });

  it("that another chain's node replaces is found out on the new connection", async () => {
    const first = await startAnvil({ chainId: CHAIN });
    const rpc = rpcOf(first.url);
    expect(await rpc.request("eth_blockNumber", [])).toBe("0x0");
    await first.stop("SIGKILL");
    const second = await startAnvil({ chainId: 99, port: first.port });
    try {
      await expect(rpc.request("eth_blockNumber", [])).rejects.toMatchObject({ code: "network_chain_mismatch" });
    } finally {
      await second.stop("SIGKILL");
    }
  });

  it.each<[string, string, (response: ServerResponse) => void]>([
    [
      "garbage",
      "network_answer_invalid",
      (response) => {
        response.end("<html>no</html>");
      },
    ],
    [
      "JSON that is no answer",
      "network_answer_invalid",
      (response) => {
        response.end("[1]");
      },
    ],
    [
      "an object without a result",
      "network_answer_invalid",
      (response) => {
        response.end("{}");
      },
    ],
    [
      "nesting without end",
      "network_answer_invalid",
      (response) => {
        response.end("[".repeat(10_000));
      },
    ],
    [
      "five megabytes",
      "network_answer_invalid",
      (response) => {
        response.end(`"${"a".repeat(5 * 1024 * 1024)}"`);
      },
    ],
    [
      "503",
      "network_unreachable",
      (response) => {
        response.writeHead(503).end("busy: secret words");
      },
    ],
    [
      "a redirect",
      "network_unreachable",
      (response) => {
        response.writeHead(307, { location: anvil.url }).end();
      },
    ],
    [
      "half an answer",
      "network_unreachable",
      (response) => {
        response.writeHead(200, { "content-length": "99" }).write("{", () => {
          response.destroy();
        });
      },
    ],
    [
      "a limit",
      "network_unreachable",
      (response) => {
        response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -32_005, message: "slow down" } }));
      },
    ],
  ])("that answers %s is %s", async (_what, code, answer) => {
    const url = await double(asChain(answer));
    const error: unknown = await rpcOf(url)
      .request("eth_blockNumber", [])
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    expect(String(error)).not.toContain("secret");
  });

  it("that hangs is network_timeout within the time given", async () => {
    const url = await double(asChain(() => undefined));
    await expect(rpcOf(url).request("eth_blockNumber", [], { timeoutMs: 150 })).rejects.toMatchObject({
      code: "network_timeout",
      status: 504,
    });
  });

  it("that says no is a refusal with its code and return data", async () => {
    const url = await double(
      asChain((response) => {
        response.end(
          JSON.stringify({
            jsonrpc: "2.0",
            id: 1,
            error: { code: 3, message: "execution reverted", data: "0x08c379a0" },
          }),
        );
      }),
    );
    const error: unknown = await rpcOf(url)
      .request("eth_call", [])
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RpcRefusal);
    expect(error).toMatchObject({ code: 3, data: "0x08c379a0" });
  });

  it("is left by a caller that gives up, for the caller's reason", async () => {
    const controller = new AbortController();
    const url = await double(
      asChain(() => {
        controller.abort(new Error("gone"));
      }),
    );
    await expect(rpcOf(url).request("eth_blockNumber", [], { signal: controller.signal })).rejects.toThrow("gone");
  });
});

describe("several nodes", () => {
  it("turn to the next when one is dead, garbled or of another chain, and remember", async () => {
    const garbled = await double(
      asChain((response) => {
        response.end("no");
      }),
    );
    const rpc = rpcOf(await deadUrl(), garbled, other.url, anvil.url);
    expect(await rpc.request("eth_blockNumber", [])).toBe("0x0");
    expect(rpc.health().map(({ state }) => state)).toEqual(["down", "down", "mismatch", "up"]);
    const before = rpc.health().map(({ requests }) => requests);
    await rpc.request("eth_blockNumber", []);
    expect(rpc.health().map(({ requests }, at) => requests - before[at]!)).toEqual([0, 0, 0, 1]);
  });

  it("do not ask another for what one refused", async () => {
    let asked = 0;
    const refusing = await double(
      asChain((response) => {
        response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -32_000, message: "nonce too low" } }));
      }),
    );
    const next = await double((_method, response) => {
      asked += 1;
      result(response, "0x7a69");
    });
    await expect(rpcOf(refusing, next).request("eth_sendRawTransaction", ["0x"])).rejects.toBeInstanceOf(RpcRefusal);
    expect(asked).toBe(0);
  });

  it("fail with the chain that is wrong rather than with the node that is dead", async () => {
    await expect(rpcOf(other.url, await deadUrl()).request("eth_blockNumber", [])).rejects.toMatchObject({
      code: "network_chain_mismatch",
    });
  });
});

interface Bench {
  readonly part: NetworksPart;
  readonly said: EventDraft[];
  readonly log: RecordedLog;
}

function networks(
  publicUrls: ReadonlyMap<string, readonly string[]> = new Map(),
  intervalMs = 60_000,
  store: Store = new MemoryStore(),
): Bench {
  const said: EventDraft[] = [];
  const events: Events = {
    commitOf: () => ({}),
    publish: (drafts) => {
      said.push(...drafts);
      return Promise.resolve();
    },
  };
  const log = recordedLog();
  const part = createNetworks(
    { publicUrls, intervalMs },
    { store, vault: vault.vault, egress, operatorEgress: egress, events, clock: systemClock, log },
  );
  return { part, said, log };
}
const PAGE = { page: 1, rpp: 25 };

describe("a node that asks for a user and a key", () => {
  /** The keys are in the vault's own store, where the networks have to be as well. */
  const inVault = (): Bench => networks(new Map(), 60_000, vault.store);
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

  /** Answers those alone that send what is wanted, and notes who asked. */
  async function guarded(
    wanted?: string,
  ): Promise<{ url: string; asked: Set<string | undefined>; wanted: string | undefined }> {
    const node = { url: "", asked: new Set<string | undefined>(), wanted };
    node.url = await double((method, response, authorization) => {
      node.asked.add(authorization);
      if (authorization !== node.wanted) response.statusCode = 401;
      result(response, method === "eth_chainId" ? "0x7a69" : "0x1");
    });
    return node;
  }
  const ask = async ({ part: { service } }: Bench, id: string): Promise<unknown> =>
    await service.rpc(service.find(ada, id)).request("eth_blockNumber", []);

  it("is sent them from the first question on, and nobody is told the key", async () => {
    const bench = inVault();
    const node = await guarded(basic("infra:k3y:with:colons"));
    const made = await bench.part.service.create(
      ada,
      { name: "x", config: { json_rpc_url: node.url, rpc_api_user: "infra", rpc_api_key: "k3y:with:colons" } },
      SIGNAL,
    );
    expect([made.chain_id, await ask(bench, made.id)]).toEqual([String(CHAIN), "0x1"]);
    expect([...node.asked]).toEqual([node.wanted]);
    for (const told of [made, bench.part.service.get(ada, made.id), bench.part.service.list(ada, {}, PAGE)])
      expect(JSON.stringify(told)).not.toMatch(/k3y|rpc_secret|secret_id/);
    expect(made.config).toMatchObject({ rpc_api_user: "infra" });
    expect(JSON.stringify(vault.store.range([]))).not.toContain("k3y");
  });

  it("is asked with another key once it was changed, and without one once it was taken away; old secrets go", async () => {
    const bench = inVault();
    const { service } = bench.part;
    const secrets = (): number => vault.store.range(["secret"]).length;
    const node = await guarded(basic("infra:one"));
    const before = secrets();
    const { id } = await service.create(
      ada,
      { name: "x", config: { json_rpc_url: node.url, rpc_api_user: "infra", rpc_api_key: "one" } },
      SIGNAL,
    );
    node.wanted = basic("infra:two");
    await expect(ask(bench, id)).rejects.toMatchObject({ code: "network_unreachable" });
    await service.update(ada, id, { config: { rpc_api_key: "two" } }, SIGNAL);
    expect(await ask(bench, id)).toBe("0x1");
    await service.update(ada, id, { description: "the key stays" }, SIGNAL);
    expect([await ask(bench, id), secrets()]).toEqual(["0x1", before + 1]);
    node.wanted = undefined;
    await service.update(ada, id, { config: { rpc_api_key: null, rpc_api_user: null } }, SIGNAL);
    expect([await ask(bench, id), secrets()]).toEqual(["0x1", before]);
    node.wanted = basic(":three");
    await service.update(ada, id, { config: { rpc_api_key: "three" } }, SIGNAL);
    expect(await ask(bench, id)).toBe("0x1");
    await service.delete(ada, id);
    expect(secrets()).toBe(before);
  });

  it("alone gets the key: not one that was added beside it", async () => {
    const bench = inVault();
    const [own, added] = [await guarded(basic("infra:one")), await guarded()];
    const { id } = await bench.part.service.create(
      ada,
      { name: "x", config: { json_rpc_url: own.url, rpc_api_user: "infra", rpc_api_key: "one" } },
      SIGNAL,
    );
    await bench.part.handlers.createNetworkNode({
      principal: { subject: ada },
      params: { id },
      body: { config: { json_rpc_url: added.url } },
      signal: SIGNAL,
    } as never);
    own.wanted = "nobody any more";
    expect(await ask(bench, id)).toBe("0x1");
    expect([...added.asked]).toEqual([undefined]);
  });

  it("is not asked while the vault is sealed: the network is out of reach, and says why", async () => {
    const bench = inVault();
    const node = await guarded(basic(":one"));
    const { id } = await bench.part.service.create(
      ada,
      { name: "x", config: { json_rpc_url: node.url, rpc_api_key: "one" } },
      SIGNAL,
    );
    const known = bench.part.service.find(ada, id);
    node.asked.clear();
    await vault.seal.seal(Buffer.from(PHRASE));
    try {
      await expect(bench.part.service.rpc(known).request("eth_blockNumber", [])).rejects.toMatchObject({
        code: "network_unreachable",
        message: expect.stringContaining("sealed") as unknown,
      });
      await expect(bench.part.service.delete(ada, id)).rejects.toMatchObject({ code: "vault_sealed" });
    } finally {
      await vault.seal.unseal(Buffer.from(PHRASE));
    }
    expect(node.asked.size).toBe(0);
    expect(await ask(bench, id)).toBe("0x1");
  });
});

describe("records", () => {
  it("take the chain's number from the caller, from the config, from the node, or make one for a chain to come", async () => {
    const {
      part: { service },
    } = networks();
    const make = async (input: Parameters<typeof service.create>[1]): Promise<string> =>
      (await service.create(ada, input, SIGNAL)).chain_id;
    expect(await make({ name: "a", chain_id: "0x7a69", config: { json_rpc_url: anvil.url } })).toBe("0x7a69");
    expect(await make({ name: "b", config: { network_id: CHAIN } })).toBe(String(CHAIN));
    expect(await make({ name: "c", config: { json_rpc_url: anvil.url } })).toBe(String(CHAIN));
    expect(await make({ name: "d", config: { chainspec: {} } })).toMatch(/^0x[0-9a-f]{8}$/);
  });

  it("are refused when a node is of another chain, at creation and at change, and take a node that is silent", async () => {
    const {
      part: { service },
    } = networks();
    await expect(
      service.create(ada, { name: "x", chain_id: "1", config: { json_rpc_url: anvil.url } }, SIGNAL),
    ).rejects.toMatchObject({ code: "network_chain_mismatch" });
    const { id } = await service.create(
      ada,
      { name: "x", chain_id: String(CHAIN), config: { json_rpc_url: await deadUrl() } },
      SIGNAL,
    );
    await expect(service.update(ada, id, { config: { json_rpc_urls: [other.url] } }, SIGNAL)).rejects.toMatchObject({
      code: "network_chain_mismatch",
    });
    await expect(
      service.update(ada, id, { config: { json_rpc_url: "https://10.0.0.1/" } }, SIGNAL),
    ).rejects.toMatchObject({ code: "egress_refused" });
    expect(service.get(ada, id).config).not.toHaveProperty("json_rpc_urls");
    await expect(
      service.create(ada, { name: "y", config: { json_rpc_url: await deadUrl() } }, SIGNAL),
    ).rejects.toMatchObject({ code: "network_unreachable" });
  });

  it("merge a change into the config, drop what is null, keep the rest", async () => {
    const {
      part: { service },
    } = networks();
    const { id } = await service.create(
      ada,
      { name: "x", chain_id: "7", config: { chain: "c", native_currency: "X" } },
      SIGNAL,
    );
    await service.update(ada, id, { description: "d", config: { native_currency: null, client: "geth" } }, SIGNAL);
    expect(service.get(ada, id)).toMatchObject({
      name: "x",
      description: "d",
      config: { chain: "c", client: "geth", platform: "evm", is_ethereum_network: true },
    });
    expect(service.get(ada, id).config).not.toHaveProperty("native_currency");
  });

  it("take URLs beside the nodes' that are what they say, and keep to the guard with the one that is opened", async () => {
    const {
      part: { service },
    } = networks();
    const make = async (config: object) => service.create(ada, { name: "x", chain_id: "7", config }, SIGNAL);
    for (const websocket_url of [
      "wss://10.0.0.1/",
      "wss://[::ffff:10.0.0.1]/",
      "wss://169.254.169.254/",
      "wss://user@example.com/",
      "ws://93.184.216.34/",
    ]) {
      await expect(make({ websocket_url }), websocket_url).rejects.toMatchObject({ code: "egress_refused" });
    }
    for (const config of [
      { websocket_url: "https://example.com/" },
      { websocket_url: "javascript:1" },
      { block_explorer_url: "javascript:alert(1)" },
      { chainspec_url: "file:///etc/passwd" },
      { chainspec_abi_url: "nothing" },
    ]) {
      await expect(make(config), JSON.stringify(config)).rejects.toMatchObject({ code: "invalid_request" });
    }
    const { id } = await make({
      websocket_url: "wss://example.com/ws",
      block_explorer_url: "https://explorer.example/",
      chainspec_url: "https://www.example.com/spec.json",
    });
    await expect(
      service.update(ada, id, { config: { websocket_url: "wss://127.0.0.2:99999/" } }, SIGNAL),
    ).rejects.toMatchObject({ code: "egress_refused" });
    await service.update(ada, id, { description: "d", config: { websocket_url: null } }, SIGNAL);
    expect(service.get(ada, id).config).not.toHaveProperty("websocket_url");
  });

  it("take back what they answered, and refuse another id, age or owner by name", async () => {
    const {
      part: { service },
    } = networks();
    const { id } = await service.create(ada, { name: "x", chain_id: "7", config: {} }, SIGNAL);
    const { stats: _stats, ...read } = service.get(ada, id);
    await service.update(ada, id, { ...read, name: "y", config: {} }, SIGNAL);
    const others = [
      { id: newId() },
      { created_at: "2020-01-01T00:00:00.000Z" },
      { user_id: eve.id },
      { user_id: null },
      { application_id: newId() },
    ];
    for (const other of others)
      await expect(service.update(ada, id, other, SIGNAL), JSON.stringify(other)).rejects.toMatchObject({
        code: "invalid_request",
      });
    expect(service.get(ada, id)).toMatchObject({ ...read, name: "y" });
  });

  it("of one owner are not there for another, and public ones are there for all and for nobody to change", async () => {
    const {
      part: { service },
    } = networks();
    const { id } = await service.create(ada, { name: "x", chain_id: "7", config: {} }, SIGNAL);
    expect(() => service.get(eve, id)).toThrow("network not found");
    await expect(service.update(eve, id, { name: "mine" }, SIGNAL)).rejects.toMatchObject({ code: "not_found" });
    await expect(service.delete(eve, id)).rejects.toMatchObject({ code: "not_found" });
    expect(service.list(eve, {}, PAGE).total).toBe(0);
    expect(service.get(eve, MAINNET)).toMatchObject({ chain_id: "1", user_id: null });
    await expect(service.update(ada, MAINNET, { name: "mine" }, SIGNAL)).rejects.toMatchObject({ code: "forbidden" });
    expect(service.list(ada, { public: true }, PAGE).total).toBe(9);
    await service.purge(ada);
    expect(service.list(ada, {}, PAGE).total).toBe(0);
  });

  it("are listed by layer and by whether they may be cloned; disabled ones are not", async () => {
    const {
      part: { service },
    } = networks();
    for (const [name, members] of Object.entries({
      one: {},
      two: { layer2: true, cloneable: true },
      three: { layer3: true },
      off: { enabled: false },
    }))
      await service.create(ada, { name, chain_id: "7", config: {}, ...members }, SIGNAL);
    const names = (filters: Parameters<typeof service.list>[1]): string[] =>
      service
        .list(ada, filters, PAGE)
        .body.map(({ name }) => name)
        .sort();
    expect(names({})).toEqual(["one", "three", "two"]);
    expect([
      names({ layer1: true }),
      names({ layer2: true }),
      names({ layer3: true }),
      names({ cloneable: true }),
      names({ layer2: false }),
    ]).toEqual([["one"], ["two"], ["three"], ["two"], ["one", "three"]]);
  });

  it("that something hangs on are not deleted", async () => {
    const {
      part: { service },
    } = networks();
    const { id } = await service.create(ada, { name: "x", chain_id: "7", config: {} }, SIGNAL);
    let isUsed = true;
    service.onDeletion(() => (isUsed ? "accounts" : undefined));
    await expect(service.delete(ada, id)).rejects.toMatchObject({
      code: "network_in_use",
      message: "the network still has accounts",
    });
    isUsed = false;
    await service.delete(ada, id);
    expect(() => service.get(ada, id)).toThrow("network not found");
  });

  it("without a node, or disabled, are refused by name when they are asked", async () => {
    const {
      part: { service },
    } = networks();
    expect(() => service.rpc(service.find(ada, MAINNET))).toThrow(
      expect.objectContaining({ code: "network_has_no_node" }) as Error,
    );
    const { id } = await service.create(
      ada,
      { name: "x", enabled: false, config: { json_rpc_url: anvil.url } },
      SIGNAL,
    );
    expect(() => service.rpc(service.find(ada, id))).toThrow(
      expect.objectContaining({ code: "network_disabled" }) as Error,
    );
  });

  it("of the public ask the operator's node and do not show its URL", async () => {
    const {
      part: { service },
    } = networks(readNetworkUrls([`goerli=${other.url}`]));
    const id = "1b16996e-3595-4985-816c-043345d22f8c";
    expect(await service.rpc(service.find(eve, id)).request("eth_chainId", [])).toBe("0x5");
    expect(JSON.stringify(service.get(eve, id))).not.toContain(other.url);
    expect(() => readNetworkUrls(["moon=https://x"])).toThrow(RangeError);
  });
});

describe("status", () => {
  it("is what the node says now: block, time, version, latency, fees", async () => {
    const {
      part: { service, handlers },
    } = networks();
    const { id } = await service.create(ada, { name: "x", config: { json_rpc_url: anvil.url } }, SIGNAL);
    const ask = async (): Promise<unknown> =>
      (await handlers.getNetworkStatus({ params: { id }, principal: { subject: ada } } as never)).body;
    await anvil.request("anvil_mine", "0x3");
    const height = Number(await anvil.request("eth_blockNumber"));
    expect(await ask()).toMatchObject({
      block: height,
      height,
      state: "running",
      syncing: false,
      chain_id: String(CHAIN),
      last_error: null,
      protocol_version: expect.stringContaining("anvil") as string,
    });
    const { body } = await handlers.getNetworkStats({ params: { id }, principal: { subject: ada } } as never);
    expect(body).toMatchObject({
      block: height,
      transaction_count: 0,
      gas_limit: "30000000",
      nodes: [{ state: "up", failures: 0 }],
    });
    expect(service.get(ada, id).stats).toMatchObject({ block: height, state: "running" });
    const blocks = await handlers.listNetworkBlocks({
      params: { id },
      query: { page: 1, rpp: 2 },
      principal: { subject: ada },
      signal: SIGNAL,
    } as never);
    expect(blocks).toMatchObject({ total: height + 1, body: [{ number: height }, { number: height - 1 }] });
  });

  it("says unreachable and mismatch with the last error, and tells the bus once per change", async () => {
    const {
      part: { service, handlers },
      said,
    } = networks();
    const moving = await startAnvil({ chainId: CHAIN });
    const { id } = await service.create(ada, { name: "x", config: { json_rpc_url: moving.url } }, SIGNAL);
    const states: string[] = [];
    const look = async (): Promise<unknown> => {
      const { body } = await handlers.getNetworkStatus({ params: { id }, principal: { subject: ada } } as never);
      states.push((body as { state: string }).state);
      // Whoever asks again within half a second gets the same answer; a change of the record is a new question.
      await service.update(ada, id, { description: String(states.length) }, SIGNAL);
      return body;
    };
    await look();
    await moving.stop("SIGKILL");
    expect(await look()).toMatchObject({
      state: "unreachable",
      block: null,
      last_error: { code: "network_unreachable" },
    });
    const wrong = await startAnvil({ chainId: 99, port: moving.port });
    expect(await look()).toMatchObject({ state: "mismatch", last_error: { code: "network_chain_mismatch" } });
    await wrong.stop("SIGKILL");
    expect(states).toEqual(["running", "unreachable", "mismatch"]);
    expect(
      said.map(({ subject, audience, payload }) => [subject, audience, (payload as { state: string }).state]),
    ).toEqual(states.map((state) => [`network.${id}.status`, [ada], state]));
  });

  it("of a node that fails is logged when it begins and when it ends, without its URL, however often it is asked", async () => {
    const {
      part: { service },
      log,
    } = networks();
    const moving = await startAnvil({ chainId: CHAIN });
    const { id } = await service.create(
      ada,
      { name: "x", config: { json_rpc_url: `${moving.url}/?key=secret-key` } },
      SIGNAL,
    );
    const ask = async (): Promise<unknown> => await service.rpc(service.find(ada, id)).request("eth_chainId", []);
    await ask();
    await moving.stop("SIGKILL");
    for (let time = 0; time < 3; time += 1) await expect(ask()).rejects.toMatchObject({ code: "network_unreachable" });
    const again = await startAnvil({ chainId: CHAIN, port: moving.port });
    for (let time = 0; time < 3; time += 1) expect(await ask()).toBe("0x7a69");
    await again.stop("SIGKILL");
    expect(log.lines.map(({ level, fields }) => [level, fields])).toEqual([
      ["warn", { path: id, state: "down", code: "network_unreachable" }],
      ["info", { path: id }],
    ]);
    expect(JSON.stringify(log.lines)).not.toContain("secret-key");
  });

  it("of a network without a node is genesis, and of public ones everybody may hear", async () => {
    const {
      part: { service, handlers },
      said,
    } = networks(readNetworkUrls([`goerli=${other.url}`]));
    const read = async (id: string): Promise<unknown> =>
      (await handlers.getNetworkStatus({ params: { id }, principal: { subject: eve } } as never)).body;
    expect(await read(MAINNET)).toMatchObject({ state: "genesis", syncing: true, block: null });
    expect(await read("1b16996e-3595-4985-816c-043345d22f8c")).toMatchObject({ state: "running" });
    expect(said.map(({ audience }) => audience)).toEqual(["everyone"]);
    expect(service.get(eve, MAINNET).stats).toMatchObject({ state: "genesis" });
  });

  it.each(["null", '{"number":"0x1"}', '{"number":"latest","hash":"0x","transactions":[]}'])(
    "never believes %s to be a block",
    async (text) => {
      const {
        part: { service, handlers },
      } = networks();
      const url = await double(
        asChain((response) => {
          response.end(`{"jsonrpc":"2.0","id":1,"result":${text}}`);
        }),
      );
      const { id } = await service.create(ada, { name: "x", config: { json_rpc_url: url } }, SIGNAL);
      expect(
        (await handlers.getNetworkStatus({ params: { id }, principal: { subject: ada } } as never)).body,
      ).toMatchObject({ state: "unreachable", last_error: { code: "network_answer_invalid" } });
    },
  );
});

describe("hints of new blocks", () => {
  it("come from the WebSocket that an enabled network of an owner names, and from nowhere else", async () => {
    const {
      part: { service },
    } = networks();
    const socketUrl = anvil.url.replace("http", "ws");
    const { id } = await service.create(
      ada,
      { name: "x", config: { json_rpc_url: anvil.url, websocket_url: socketUrl } },
      SIGNAL,
    );
    let hints: HeadHints | undefined;
    await new Promise<void>((resolve) => {
      hints = service.hints(service.find(ada, id), resolve);
    });
    expect(hints?.url).toBe(socketUrl);
    hints?.close();
    const known = service.find(ada, id);
    const others = [
      service.find(ada, MAINNET),
      { ...known, owner: null },
      { ...known, enabled: false },
      { ...known, config: {} },
    ];
    expect(others.map((network) => service.hints(network, () => undefined))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("are as many as an owner may have, and one more when one ends", async () => {
    const {
      part: { service },
    } = networks();
    const { id } = await service.create(
      ada,
      { name: "x", config: { json_rpc_url: anvil.url, websocket_url: "wss://127.0.0.1:1/" } },
      SIGNAL,
    );
    const open = (owner: Subject): HeadHints | undefined =>
      service.hints({ ...service.find(ada, id), owner }, () => undefined);
    const feeds = Array.from({ length: 17 }, () => open(ada));
    expect(feeds.indexOf(undefined)).toBe(16);
    feeds[0]?.close();
    const more = [open(ada), open(ada), open(eve)];
    expect(more.map((feed) => feed !== undefined)).toEqual([true, false, true]);
    for (const feed of [...feeds, ...more]) feed?.close();
  });
});

describe("nodes", () => {
  it("can be added, are turned to, tell what was seen of them, and can be removed", async () => {
    const {
      part: { service, handlers },
    } = networks();
    const { id } = await service.create(
      ada,
      { name: "x", chain_id: String(CHAIN), config: { json_rpc_url: await deadUrl() } },
      SIGNAL,
    );
    const request = { principal: { subject: ada }, signal: SIGNAL };
    await expect(
      handlers.createNetworkNode({
        ...request,
        params: { id },
        body: { config: { json_rpc_url: other.url } },
      } as never),
    ).rejects.toMatchObject({ code: "network_chain_mismatch" });
    const { body: node } = await handlers.createNetworkNode({
      ...request,
      params: { id },
      body: { role: "full", config: { json_rpc_url: anvil.url, region: "eu" } },
    } as never);
    expect(node).toMatchObject({ role: "full", status: "genesis", config: { json_rpc_url: anvil.url, region: "eu" } });
    expect(await service.rpc(service.find(ada, id)).request("eth_chainId", [])).toBe("0x7a69");
    const { body: listed } = await handlers.listNetworkNodes({ ...request, params: { id }, query: PAGE } as never);
    expect(listed.map(({ status }) => status)).toEqual(["unreachable", "running"]);
    const logs = await handlers.getNetworkNodeLogs({
      ...request,
      params: { id, node_id: node.id },
      query: {},
    } as never);
    expect(logs.body.logs.map(({ message }) => message)).toEqual([`answers as chain ${String(CHAIN)}`]);
    expect(await handlers.listNetworkLoadBalancers({ ...request, params: { id }, query: PAGE } as never)).toMatchObject(
      { total: 1, body: [{ status: "active", node_ids: listed.map((one) => one.id) }] },
    );
    await expect(
      handlers.deleteNetworkNode({ ...request, params: { id, node_id: listed[0]!.id } } as never),
    ).rejects.toMatchObject({ code: "network_node_fixed" });
    await handlers.deleteNetworkNode({ ...request, params: { id, node_id: node.id } } as never);
    expect((await handlers.listNetworkNodes({ ...request, params: { id }, query: PAGE } as never)).total).toBe(1);
    await expect(
      Promise.resolve(
        handlers.createNetworkNode({ ...request, params: { id: MAINNET }, body: { host: "a.example.com" } } as never),
      ),
    ).rejects.toMatchObject({ code: "forbidden" });
  });
});
