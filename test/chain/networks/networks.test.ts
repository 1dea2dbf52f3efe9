/** Records of networks: their nodes are checked, owners are kept apart, keys stay in the vault. */
import { describe, expect, it } from "vitest";
import { readNetworkUrls } from "../../../src/chain/networks/public-networks.js";
import type { Subject } from "../../../src/platform/auth/principal.js";
import { newId } from "../../../src/platform/ids.js";
import { PHRASE } from "../../vault/support.js";
import {
  ada,
  anvil,
  CHAIN,
  deadUrl,
  double,
  eve,
  MAINNET,
  networks,
  other,
  PAGE,
  result,
  setUpNetworks,
  SIGNAL,
  vault,
  type Bench,
} from "./support.js";

setUpNetworks();

describe("a node that asks for a user and a key", () => {
  /** The keys are in the vault's own store, so that the networks must be there too. */
  const inVault = (): Bench => networks(new Map(), 60_000, vault.store);
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

  /** Answers only requests with the expected header, and records the headers. */
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

  it("gets them from the first request on, and the key is never answered", async () => {
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

  it("is asked with a new key after a change, and without one after its removal; old secrets are deleted", async () => {
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

  it("gets the key, and a node that was added later does not", async () => {
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

  it("is not asked while the vault is sealed: the failure names the reason", async () => {
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
  it("take the chain id from the caller, the config or the node, or make one for a chain that does not exist yet", async () => {
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

  it("are refused when a node is of another chain, at creation and at change, and accept a node that does not answer", async () => {
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

  it("accept only valid URLs beside those of the nodes, and check the WebSocket by the guard", async () => {
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

  it("that ended are found by their id, and listed and asked only where the operator names a node", () => {
    const ROPSTEN = "66d44f30-9092-4182-a3c4-bc02736d6ae5";
    const names = (bench: Bench): string[] =>
      bench.part.service.list(ada, { public: true }, PAGE).body.map(({ config }) => String(config["chain"]));
    const plain = networks();
    expect(names(plain)).toEqual(["ethereum", "sepolia", "polygon"]);
    expect(plain.part.service.get(ada, ROPSTEN)).toMatchObject({ chain_id: "3", enabled: false });
    expect(() => plain.part.service.rpc(plain.part.service.find(ada, ROPSTEN))).toThrow("disabled");
    const kept = networks(new Map([["goerli", ["https://goerli.example.com"]]]));
    expect(names(kept)).toEqual(["ethereum", "goerli", "sepolia", "polygon"]);
  });

  it("that name another subject are seen by it, listed in order, and changed by their owner only", async () => {
    const {
      part: { service },
    } = networks();
    const shop: Subject = { kind: "application", id: newId() };
    const make = async (owner: Subject, name: string, sharedWith?: Subject): Promise<string> =>
      (await service.create(owner, { name, chain_id: "7", config: {} }, SIGNAL, { sharedWith })).id;
    const ids = [await make(shop, "own"), await make(ada, "shared", shop), await make(shop, "own, too")];
    await make(ada, "private");
    expect(service.get(shop, ids[1] ?? "")).toMatchObject({ user_id: ada.id, application_id: shop.id });
    expect(
      service
        .list(shop, {}, PAGE)
        .body.map(({ id }) => id)
        .sort(),
    ).toEqual([...ids].sort());
    expect(service.list(shop, {}, { page: 2, rpp: 2 })).toMatchObject({ total: 3, body: [{}] });
    expect(service.list(ada, {}, PAGE).total).toBe(2);
    const [, shared = ""] = ids;
    await expect(service.update(shop, shared, { name: "mine" }, SIGNAL)).rejects.toMatchObject({ code: "forbidden" });
    expect(() => service.get({ kind: "user", id: shop.id }, shared)).toThrow("network not found");
    await service.delete(ada, shared);
    expect(service.list(shop, {}, PAGE).total).toBe(2);
  });

  it("of one owner are not found by another; public ones are seen by all and changed by none", async () => {
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
    expect(service.list(ada, { public: true }, PAGE).total).toBe(3);
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

  it("that are in use are not deleted", async () => {
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

  it("that another subject uses, with which they are shared, are not deleted under it", async () => {
    const {
      part: { service },
    } = networks();
    const shop: Subject = { kind: "application", id: newId() };
    const { id } = await service.create(ada, { name: "x", chain_id: "7", config: {} }, SIGNAL, { sharedWith: shop });
    let isUsed = true;
    service.onDeletion(({ kind }) => (isUsed && kind === "application" ? "transactions" : undefined));
    await expect(service.delete(ada, id)).rejects.toMatchObject({
      code: "network_in_use",
      message: "the network still has transactions of the application that shares it",
    });
    await expect(service.delete(shop, id)).rejects.toMatchObject({
      code: "network_in_use",
      message: "the network still has transactions",
    });
    isUsed = false;
    await service.delete(ada, id);
    expect(() => service.get(shop, id)).toThrow("network not found");
  });

  it("that are shared stay their owner's when the other subject deletes them, which ends the sharing", async () => {
    const {
      part: { service },
    } = networks();
    const shop: Subject = { kind: "application", id: newId() };
    const { id } = await service.create(ada, { name: "x", chain_id: "7", config: {} }, SIGNAL, { sharedWith: shop });
    await service.delete(shop, id);
    expect(() => service.get(shop, id)).toThrow("network not found");
    expect(service.list(shop, {}, PAGE).total).toBe(0);
    expect(service.get(ada, id)).toMatchObject({ user_id: ada.id, application_id: null });
    await expect(service.delete(shop, id)).rejects.toMatchObject({ code: "not_found" });
  });

  it("without a node, or disabled, fail with a code when they are asked", async () => {
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
