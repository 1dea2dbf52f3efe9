/** Creation, statuses and deletion of connectors, over a real store, vault, job queue and egress guard. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONNECTOR_TYPES } from "../../../src/chain/connectors/peers/probes.js";
import { CONNECTOR_STATUSES, mayFollow } from "../../../src/chain/connectors/connector-lifecycle.js";
import { AllowList } from "../../../src/platform/net/address-rules.js";
import type { Egress } from "../../../src/platform/net/egress.js";
import { createEgressGuard } from "../../../src/platform/net/egress-guard.js";
import { loopbackEgress } from "../../support/loopback-egress.js";
import { startKubo, type KuboDouble } from "../../support/kubo-double.js";
import { PHRASE } from "../../vault/support.js";
import {
  create,
  detail,
  eventually,
  failureOf,
  never,
  NETWORK_ID,
  openConnectors,
  PAGE,
  plain,
  settled,
  untilSettled,
  type TestConnectors,
} from "./support.js";

let kubo: KuboDouble;
let test: TestConnectors;

beforeAll(async () => {
  kubo = await startKubo();
  test = await openConnectors();
});
afterAll(async () => {
  await test.close();
  await kubo.stop();
});

describe("creating a connector", () => {
  it("takes every type of the interface, in any case", async () => {
    expect([...CONNECTOR_TYPES].sort()).toEqual([
      "axiom",
      "elasticsearch",
      "ipfs",
      "mongodb",
      "nats",
      "provide",
      "redis",
      "rest",
      "splunk",
      "sql",
      "tableau",
      "unibright",
      "zokrates",
    ]);
    for (const type of CONNECTOR_TYPES) {
      const made = await create(test, { type: type.toUpperCase(), config: {}, is_virtual: true });
      expect(made).toMatchObject({
        type,
        status: "init",
        is_virtual: true,
        application_id: test.owner.id,
        network_id: NETWORK_ID,
        accessed_at: null,
        errors: [],
      });
    }
    expect(test.service.list(test.owner, { ...PAGE, type: "IPFS" })).toMatchObject({
      total: 1,
      body: [{ type: "ipfs" }],
    });
    expect(test.service.list(test.owner, { ...PAGE, network_id: randomUUID() }).total).toBe(0);
  });

  it("refuses an unknown type by name, before anything else", async () => {
    const failure = await failureOf(() => create(test, { type: "fax", config: {} }));
    expect(failure.code).toBe("connector_type_unknown");
    expect(failure.message).toMatch(/^Unable to define connector of invalid type; known are axiom, /);
  });

  it.each([
    ["no address at all", { type: "rest", config: {} }, "connector_config_invalid", "config"],
    [
      "a scheme of another protocol",
      { type: "redis", config: { api_url: "https://h.example" } },
      "connector_config_invalid",
      "config.api_url",
    ],
    [
      "a password in the URL",
      { type: "sql", config: { api_url: "postgres://u:p@h.example/db" } },
      "connector_config_invalid",
      "config.api_url",
    ],
    [
      "a query in the URL",
      { type: "rest", config: { api_url: "https://h.example/?key=1" } },
      "connector_config_invalid",
      "config.api_url",
    ],
    [
      "a port in the host",
      { type: "nats", config: { host: "h.example:4222" } },
      "connector_config_invalid",
      "config.host",
    ],
    [
      "a container without an image",
      { type: "splunk", config: { provider_id: "docker" } },
      "connector_config_invalid",
      undefined,
    ],
    [
      "a foreign network",
      { type: "rest", config: { api_url: "https://h.example" }, network_id: randomUUID() },
      "not_found",
      undefined,
    ],
    [
      "credentials that no secret can hold",
      { type: "rest", config: { api_url: "https://h.example", credentials: { token: "x".repeat(4096) } } },
      "secret_too_long",
      "value",
    ],
  ])("refuses %s, naming the member, and keeps nothing", async (_name, draft, code, path) => {
    const before = test.service.list(test.owner, PAGE).total;
    const failure = await failureOf(() => create(test, draft));
    expect(failure.code).toBe(code);
    if (path !== undefined) expect(failure.details[0]?.path).toBe(path);
    expect(test.service.list(test.owner, PAGE).total).toBe(before);
  });

  it("never repeats credentials of a URL", async () => {
    expect(
      (await failureOf(() => create(test, { type: "sql", config: { api_url: "postgres://u:hunter2@h.example/db" } })))
        .message,
    ).not.toContain("hunter2");
  });

  it("makes one vault for all credentials of an application, also under concurrency", async () => {
    const other = await openConnectors({ idle: true });
    try {
      await Promise.all(
        Array.from(
          { length: 5 },
          async (_, index) =>
            await create(other, {
              type: "rest",
              config: { api_url: "http://127.0.0.1:1", credentials: { token: `t${String(index)}` } },
            }),
        ),
      );
      const vaults = other.vault.vault.listVaults(other.owner, PAGE).body;
      expect(vaults).toHaveLength(1);
      expect(other.vault.vault.listSecrets(other.owner, vaults[0]!.id, PAGE).total).toBe(5);
    } finally {
      await other.close();
    }
  });
});

describe("a virtual connector", () => {
  it("is active without being provisioned or probed, and is used if it names an address", async () => {
    const made = await settled(test, { type: "ipfs", config: { api_url: kubo.url }, is_virtual: true });
    expect(test.statuses(made.id)).toEqual(["init", "active"]);
    kubo.requests.length = 0;
    expect(
      await test.entities.create({ owner: test.owner, connectorId: made.id }, { raw: "virtually" }, never),
    ).toMatchObject({
      size: 9,
    });
    expect((await plain(test, made.id)).accessed_at).not.toBeNull();
    const bare = await settled(test, { type: "ipfs", config: {}, is_virtual: true });
    expect(await detail(test, bare.id)).not.toHaveProperty("details");
    expect((await failureOf(() => test.entities.list(test.owner, bare.id, PAGE, never))).code).toBe(
      "connector_not_ready",
    );
  });
});

describe("addresses that lead inside", () => {
  it("are refused at once as literal addresses, and at connection when a name resolves to one", async () => {
    const egress = createEgressGuard(
      { allow: new AllowList([]), ports: [443, 5001, 6379] },
      { resolve: async () => await Promise.resolve([{ address: "169.254.169.254", family: 4 }]) },
    );
    const guarded = await openConnectors({ egress });
    try {
      for (const draft of [
        { type: "ipfs", config: { api_url: kubo.url } },
        { type: "rest", config: { api_url: "https://169.254.169.254/latest" } },
        { type: "redis", config: { host: "10.0.0.1", port: 6379 } },
        { type: "ipfs", config: { api_url: "https://ipfs.example.com:5001", gateway_url: "https://[::1]/" } },
      ])
        expect((await failureOf(() => create(guarded, draft))).code).toBe("egress_refused");
      const made = await settled(guarded, {
        type: "ipfs",
        config: { api_url: "https://ipfs.example.com:5001", credentials: { token: "t" } },
      });
      expect(made).toMatchObject({ status: "unavailable", errors: [{ code: "egress_refused" }] });
      expect(
        (
          await failureOf(() =>
            guarded.entities.create({ owner: guarded.owner, connectorId: made.id }, { raw: "x" }, never),
          )
        ).code,
      ).toBe("egress_refused");
      const redis = await settled(guarded, { type: "redis", config: { api_url: "redis://cache.example.com" } });
      expect(redis).toMatchObject({ status: "unavailable", errors: [{ code: "egress_refused" }] });
      expect(
        (
          await failureOf(() =>
            guarded.service.update(guarded.owner, redis.id, { config: { api_url: "redis://127.0.0.1" } }),
          )
        ).code,
      ).toBe("egress_refused");
    } finally {
      await guarded.close();
      egress.close();
    }
  });
});

describe("another owner's connector", () => {
  it("is not found by another owner, in the same words as an unknown one", async () => {
    const { id } = await create(test, { type: "ipfs", config: {}, is_virtual: true });
    const eve = { kind: "application", id: randomUUID() } as const;
    for (const asked of [id, randomUUID()]) {
      const calls = [
        () => test.service.get(eve, asked, PAGE, never),
        () => test.service.update(eve, asked, { name: "e" }),
        () => test.deletions.delete(eve, asked, never),
        () => test.containers.nodes(eve, asked, never),
        () => test.entities.list(eve, asked, PAGE, never),
        () => test.entities.create({ owner: eve, connectorId: asked }, { raw: "x" }, never),
        () => test.containers.logs(eve, asked, 1, never),
      ];
      for (const call of calls)
        expect(await failureOf(call)).toMatchObject({ code: "not_found", message: "connector not found" });
    }
  });
});

describe("changing a connector", () => {
  it("merges the configuration, removes members by null, and probes the new address at once", async () => {
    const made = await settled(test, { type: "ipfs", config: { api_url: "http://127.0.0.1:1", region: "r1" } });
    expect(made.status).toBe("unavailable");
    await test.service.update(test.owner, made.id, {
      name: "new",
      description: "d",
      config: { api_url: kubo.url, region: null, role: "peer" },
    });
    expect(await detail(test, made.id)).toMatchObject({
      name: "new",
      description: "d",
      status: "available",
      errors: [],
      config: { api_url: kubo.url, role: "peer" },
    });
    expect((await plain(test, made.id)).config).not.toHaveProperty("region");
    expect((await failureOf(() => test.service.update(test.owner, made.id, { config: { api_url: null } }))).code).toBe(
      "connector_config_invalid",
    );
  });

  it("replaces credentials and leaves no old secret behind", async () => {
    const made = await settled(test, { type: "ipfs", config: { api_url: kubo.url, credentials: { token: "one" } } });
    const [vault] = test.vault.vault.listVaults(test.owner, PAGE).body;
    const secrets = (): number => test.vault.vault.listSecrets(test.owner, vault!.id, PAGE).total;
    const before = secrets();
    await test.service.update(test.owner, made.id, { config: { credentials: { token: "two" } } });
    expect(secrets()).toBe(before);
    await test.service.update(test.owner, made.id, { config: { credentials: null } });
    expect(secrets()).toBe(before - 1);
    expect(await test.deletions.delete(test.owner, made.id, never)).toBe(true);
  });

  it("reports credentials that were deleted in the vault, and accepts new ones", async () => {
    const made = await settled(test, { type: "ipfs", config: { api_url: kubo.url, credentials: { token: "one" } } });
    for (const vault of test.vault.vault.listVaults(test.owner, PAGE).body)
      await test.vault.vault.deleteVault(test.owner, vault.id);
    expect(await detail(test, made.id)).toMatchObject({
      status: "unavailable",
      errors: [{ code: "connector_config_invalid" }],
    });
    await test.service.update(test.owner, made.id, { config: { credentials: { token: "two" } } });
    expect(await detail(test, made.id)).toMatchObject({ status: "available" });
  });

  it("provisions a failed connector again after its configuration is corrected", async () => {
    const made = await settled(test, { type: "ipfs", config: { provider_id: "docker" } });
    expect(made.status).toBe("failed");
    await test.service.update(test.owner, made.id, { config: { rpc_url: kubo.url } });
    await untilSettled(test, made.id);
    expect(await plain(test, made.id)).toMatchObject({ status: "active", errors: [] });
    expect(test.statuses(made.id)).toEqual(["init", "provisioning", "failed", "init", "provisioning", "active"]);
  });
});

describe("probing", () => {
  it("runs in rounds and publishes each change once", async () => {
    const rounds = await openConnectors({ probeIntervalMs: 20 });
    const peer = await startKubo();
    try {
      const { id } = await settled(rounds, { type: "ipfs", config: { api_url: peer.url } });
      rounds.connectors.start();
      peer.mode = "garbage";
      await eventually("it is unavailable", () => rounds.statuses(id).at(-1) === "unavailable");
      peer.mode = "sound";
      await eventually("it is available again", () => rounds.statuses(id).at(-1) === "available");
      const asked = peer.requests.length;
      await eventually("it is asked again and again", () => peer.requests.length > asked + 3);
      expect(rounds.statuses(id)).toEqual(["init", "provisioning", "available", "unavailable", "available"]);
      await rounds.connectors.stop();
    } finally {
      await rounds.close();
      await peer.stop();
    }
  });

  it("probes a peer once for concurrent requests", async () => {
    const made = await settled(test, { type: "ipfs", config: { api_url: kubo.url } });
    kubo.requests.length = 0;
    await Promise.all(Array.from({ length: 10 }, async () => await detail(test, made.id)));
    expect(kubo.requests.filter((request) => request === "version")).toHaveLength(1);
  });
});

describe("a sealed vault", () => {
  it("refuses credentials, lets the rest through, and makes provisioning wait", async () => {
    const sealed = await openConnectors({ unsealed: false });
    try {
      expect(
        (
          await failureOf(() =>
            create(sealed, { type: "ipfs", config: { api_url: kubo.url, credentials: { token: "t" } } }),
          )
        ).code,
      ).toBe("vault_sealed");
      expect(sealed.service.list(sealed.owner, PAGE).total).toBe(0);
      expect(await settled(sealed, { type: "ipfs", config: { api_url: kubo.url } })).toMatchObject({
        status: "available",
      });
    } finally {
      await sealed.close();
    }
  });

  it("keeps connectors with credentials waiting on a node of a cluster, and provisions and deletes the others", async () => {
    const first = await openConnectors({ idle: true });
    const { id } = await create(first, { type: "ipfs", config: { api_url: kubo.url, credentials: { token: "t" } } });
    await first.close({ keep: true });
    let hasVault = false;
    const node = await openConnectors({
      ...{ folder: first.vault.folder, owner: first.owner, unsealed: false },
      hasVault: () => hasVault,
    });
    try {
      const plainOne = await settled(node, { type: "ipfs", config: { api_url: kubo.url } });
      expect(plainOne).toMatchObject({ status: "available" });
      expect(await node.deletions.delete(node.owner, plainOne.id, never)).toBe(true);
      expect(node.jobs.ofSubject(["connector", node.owner.kind, node.owner.id, id])).toMatchObject([
        { state: "queued", attempt: 0 },
      ]);
      await node.vault.seal.unseal(Buffer.from(PHRASE));
      hasVault = true;
      node.jobs.wake();
      await untilSettled(node, id);
      expect(await plain(node, id)).toMatchObject({ status: "available" });
    } finally {
      await node.close();
    }
  });

  it("leaves connectors with credentials as they are until it is unsealed", async () => {
    const first = await openConnectors({ idle: true });
    const { id } = await create(first, { type: "ipfs", config: { api_url: kubo.url, credentials: { token: "t" } } });
    await first.close({ keep: true });
    const second = await openConnectors({ folder: first.vault.folder, owner: first.owner, unsealed: false });
    try {
      await eventually("provisioning has begun", () => second.statuses(id).at(-1) === "provisioning");
      expect((await failureOf(() => second.deletions.delete(second.owner, id, never))).code).toBe("vault_sealed");
      await second.vault.seal.unseal(Buffer.from(PHRASE));
      await untilSettled(second, id);
      expect(await plain(second, id)).toMatchObject({ status: "available" });
      await second.vault.seal.sealByFault("a test");
      expect(await detail(second, id)).toMatchObject({
        status: "available",
        details: { data: null, probe: { reachable: null, error: { code: "vault_sealed" } } },
      });
    } finally {
      await second.close();
    }
  });
});

describe("deleting", () => {
  it("deletes the secret and all notes too", async () => {
    const made = await settled(test, { type: "ipfs", config: { api_url: kubo.url, credentials: { token: "t" } } });
    await test.entities.create({ owner: test.owner, connectorId: made.id }, { raw: "noted", name: "n" }, never);
    const keys = (): string[] =>
      test.store
        .range([])
        .map(({ key }) => JSON.stringify(key))
        .filter((key) => key.includes(made.id) && !key.includes('"job') && !key.includes('"events'));
    expect(keys().length).toBeGreaterThan(3);
    expect(await test.deletions.delete(test.owner, made.id, never)).toBe(true);
    expect(keys()).toEqual([]);
    expect(test.statuses(made.id).at(-1)).toBe("deprovisioning");
    expect((await failureOf(() => test.deletions.delete(test.owner, made.id, never))).code).toBe("not_found");
  });

  it.each([1, 3])("answers each of %i calls at once when the run that provisions it has ended", async (calls) => {
    const order: string[] = [];
    let end = (): void => undefined;
    const mayEnd = new Promise<void>((resolve) => {
      end = resolve;
    });
    let isAborted = false;
    // A peer that lets go late: the run has not ended while its request has not.
    const slow: Egress = {
      ...loopbackEgress,
      fetch: async (url, request) => {
        try {
          return await loopbackEgress.fetch(url, request);
        } catch (error) {
          isAborted = true;
          await mayEnd;
          order.push("run");
          throw error;
        }
      },
    };
    const hanging = await startKubo();
    hanging.mode = "hang";
    const owned = await openConnectors({ egress: slow });
    try {
      const { id } = await create(owned, { type: "ipfs", config: { api_url: hanging.url } });
      await eventually("the peer is asked", () => hanging.requests.length > 0);
      const deleting = Array.from({ length: calls }, async () => {
        const isDeleted = await owned.deletions.delete(owned.owner, id, never);
        order.push(String(isDeleted));
      });
      await eventually("the run is told to end", () => isAborted);
      // Each commit is a turn of the store, in which an answer that did not wait would have come.
      for (let turn = 0; turn < 10; turn += 1) await owned.store.commit({ puts: [{ key: ["turn"], value: turn }] });
      expect(order).toEqual([]);
      end();
      await Promise.all(deleting);
      expect(order).toEqual(["run", ...Array<string>(calls).fill("true")]);
      expect(owned.statuses(id)).toEqual(["init", "provisioning", "deprovisioning"]);
      expect((await failureOf(() => owned.deletions.delete(owned.owner, id, never))).code).toBe("not_found");
    } finally {
      end();
      await owned.close();
      await hanging.stop();
    }
  });

  it("purges everything of an owner, and may be repeated", async () => {
    const owned = await openConnectors();
    try {
      for (const type of ["ipfs", "redis", "sql"])
        await create(owned, { type, config: { host: "127.0.0.1", port: 1, credentials: { password: "p" } } });
      await owned.deletions.purge(owned.owner);
      await owned.deletions.purge(owned.owner);
      expect(owned.service.list(owned.owner, PAGE).total).toBe(0);
    } finally {
      await owned.close();
    }
  });
});

describe("the order of statuses", () => {
  it("allows no status after deprovisioning, and deprovisioning after any other", () => {
    for (const status of CONNECTOR_STATUSES) {
      expect(mayFollow("deprovisioning", status)).toBe(false);
      if (status !== "deprovisioning") expect(mayFollow(status, "deprovisioning")).toBe(true);
    }
    expect(mayFollow("available", "init")).toBe(false);
  });
});
