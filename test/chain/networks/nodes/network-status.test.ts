/** The state of networks, hints of new blocks, and nodes that are added. */
import { describe, expect, it } from "vitest";
import type { HeadHints } from "../../../../src/chain/networks/network-port.js";
import { readNetworkUrls } from "../../../../src/chain/networks/public-networks.js";
import type { Subject } from "../../../../src/platform/auth/principal.js";
import { startAnvil } from "../../../support/anvil.js";
import {
  ada,
  anvil,
  asChain,
  CHAIN,
  deadUrl,
  double,
  eve,
  MAINNET,
  networks,
  other,
  PAGE,
  setUpNetworks,
  SIGNAL,
  result,
} from "../support.js";

setUpNetworks();

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

  it("says unreachable and mismatch with the last error, and publishes each change once", async () => {
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
      // A request within half a second gets the same answer, unless the record was changed.
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

  it("of a failing node is logged once when it begins and once when it ends, without its URL", async () => {
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

  it("of a network without a node is unconfigured and not syncing, and of public ones is published to everyone", async () => {
    const {
      part: { service, handlers },
      said,
    } = networks(readNetworkUrls([`goerli=${other.url}`]));
    const read = async (id: string): Promise<unknown> =>
      (await handlers.getNetworkStatus({ params: { id }, principal: { subject: eve } } as never)).body;
    expect(await read(MAINNET)).toMatchObject({
      state: "unconfigured",
      syncing: false,
      block: null,
      last_error: null,
    });
    expect(await read("1b16996e-3595-4985-816c-043345d22f8c")).toMatchObject({ state: "running" });
    expect(said.map(({ audience }) => audience)).toEqual(["everyone"]);
    expect(service.get(eve, MAINNET).stats).toMatchObject({ state: "unconfigured", syncing: false });
  });

  it.each(["null", '{"number":"0x1"}', '{"number":"latest","hash":"0x","transactions":[]}'])(
    "never believes %s to be a block",
    async (text) => {
      const {
        part: { service, handlers },
      } = networks();
      const url = await double(
        asChain((response) => {
          result(response, JSON.parse(text));
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
  it("come only from the WebSocket of an enabled network that has an owner", async () => {
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

  it("are limited for each owner, and free a place when one ends", async () => {
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
  it("can be added, are asked, log changes of their state, and can be removed", async () => {
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
