/** The ipfs connector against a stand-in for kubo whose CIDs are checked against published ones. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loopbackEgress } from "../../support/loopback-egress.js";
import { directoryBlock, fileBlock, startKubo, type KuboDouble } from "../../support/kubo-double.js";
import { detail, failureOf, never, openConnectors, PAGE, plain, settled, type TestConnectors } from "./support.js";

let kubo: KuboDouble;
let test: TestConnectors;
let id: string;

beforeAll(async () => {
  kubo = await startKubo({ authorization: `Basic ${Buffer.from("admin:open sesame").toString("base64")}` });
  test = await openConnectors();
  id = (
    await settled(test, {
      type: "IPFS",
      config: {
        api_url: kubo.url,
        gateway_url: "https://gateway.example.com",
        credentials: { username: "admin", password: "open sesame" },
      },
    })
  ).id;
});
afterAll(async () => {
  await test.close();
  await kubo.stop();
});

describe("the stand-in for kubo", () => {
  it("names content as the documentation of IPFS does", () => {
    expect(fileBlock(Buffer.from("hello world\n"))).toMatchObject({
      cid: "QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o",
      cumulative: 20,
    });
    expect(fileBlock(Buffer.alloc(0)).cid).toBe("QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH");
    expect(directoryBlock([]).cid).toBe("QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn");
  });

  it("answers as the RPC reference says: POST only, 404 for an unknown command, {Message, Code, Type} for failures", async () => {
    const headers = { authorization: `Basic ${Buffer.from("admin:open sesame").toString("base64")}` };
    expect((await fetch(`${kubo.url}/api/v0/version`, { headers })).status).toBe(405);
    expect((await fetch(`${kubo.url}/api/v0/nothing`, { method: "POST", headers })).status).toBe(404);
    const failed = await fetch(`${kubo.url}/api/v0/pin/rm?arg=/ipfs/${kubo.hold(Buffer.from("loose"))}`, {
      method: "POST",
      headers,
    });
    expect([failed.status, await failed.json()]).toEqual([
      500,
      { Message: "not pinned or pinned indirectly", Code: 0, Type: "error" },
    ]);
  });
});

describe("an ipfs connector", () => {
  it("is active once its node answers, since it names a gateway", async () => {
    expect(await plain(test, id)).toMatchObject({ type: "ipfs", status: "active", errors: [] });
    expect(test.statuses(id)).toEqual(["init", "provisioning", "active"]);
  });

  it("adds text, pins it, and returns it with its name and metadata", async () => {
    const made = await test.entities.create(
      { owner: test.owner, connectorId: id },
      { raw: "hello world\n", filename: "hello.txt", metadata: { lang: "en" } },
      never,
    );
    expect(made).toMatchObject({
      id: "QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o",
      hash: made.id,
      size: 12,
      filename: "hello.txt",
      type: "text/plain",
      metadata: { lang: "en" },
      href: `https://gateway.example.com/ipfs/${made.id}`,
    });
    expect(made).not.toHaveProperty("raw");
    expect(kubo.pins.has(made.id)).toBe(true);
    expect(await test.entities.get({ owner: test.owner, connectorId: id, entityId: made.id }, never)).toMatchObject({
      ...made,
      raw: "hello world\n",
      data_url: `data:text/plain;base64,${Buffer.from("hello world\n").toString("base64")}`,
    });
  });

  it("adds bytes of several chunks and reads them back whole", async () => {
    const bytes = randomBytes(700_000);
    const made = await test.entities.create(
      { owner: test.owner, connectorId: id },
      { data_url: `data:application/octet-stream;base64,${bytes.toString("base64")}` },
      never,
    );
    expect(made).toMatchObject({ id: fileBlock(bytes).cid, size: bytes.length, type: "application/octet-stream" });
    const read = await test.entities.get({ owner: test.owner, connectorId: id, entityId: made.id }, never);
    expect(read.raw).toBeNull();
    expect(Buffer.from(read.data_url!.split(",")[1]!, "base64").equals(bytes)).toBe(true);
  });

  it("adds a directory and lists what is in it", async () => {
    const made = await test.entities.create(
      { owner: test.owner, connectorId: id },
      {
        filename: "site",
        children: [
          { filename: "index.html", raw: "<p>hi</p>" },
          { filename: "ä b.txt", data_url: "data:,plain%20text" },
        ],
      },
      never,
    );
    const expected = directoryBlock([
      { name: "index.html", block: fileBlock(Buffer.from("<p>hi</p>")) },
      { name: "ä b.txt", block: fileBlock(Buffer.from("plain text")) },
    ]);
    expect(made).toMatchObject({ id: expected.cid, type: "application/x-directory" });
    const read = await test.entities.get({ owner: test.owner, connectorId: id, entityId: made.id }, never);
    expect(read.children!.map(({ name, size }) => [name, size])).toEqual([
      ["index.html", 9],
      ["ä b.txt", 10],
    ]);
    expect(read).toMatchObject({ raw: null, data_url: null });
  });

  it("pins existing content by its hash, and lists pages of the pins", async () => {
    const cid = kubo.hold(Buffer.from("from elsewhere"));
    expect(
      await test.entities.create({ owner: test.owner, connectorId: id }, { hash: cid, name: "theirs" }, never),
    ).toMatchObject({
      id: cid,
      name: "theirs",
      size: 14,
    });
    const all = await test.entities.list(test.owner, id, PAGE, never);
    expect(all.total).toBe(kubo.pins.size);
    expect(all.body.map((entity) => entity.id)).toEqual([...kubo.pins].sort());
    expect(all.body.find((entity) => entity.id === cid)).toMatchObject({ name: "theirs", size: 14 });
    const second = await test.entities.list(test.owner, id, { page: 2, rpp: 1 }, never);
    expect(second).toMatchObject({ total: all.total, body: [{ id: all.body[1]!.id }] });
    expect(
      (await test.entities.list(test.owner, id, { ...PAGE, objects: ` ${cid} ,` }, never)).body.map(
        (entity) => entity.id,
      ),
    ).toEqual([cid]);
  });

  it("changes metadata, never content", async () => {
    const { id: cid } = await test.entities.create(
      { owner: test.owner, connectorId: id },
      { raw: "fixed", name: "one", metadata: { a: 1 } },
      never,
    );
    await test.entities.update({ owner: test.owner, connectorId: id, entityId: cid }, { name: "two" }, never);
    expect(await test.entities.get({ owner: test.owner, connectorId: id, entityId: cid }, never)).toMatchObject({
      name: "two",
      metadata: { a: 1 },
      raw: "fixed",
      type: "text/plain",
    });
    expect(
      (
        await failureOf(() =>
          test.entities.update({ owner: test.owner, connectorId: id, entityId: cid }, { raw: "other" }, never),
        )
      ).code,
    ).toBe("connector_unsupported");
  });

  it("unpins, and answers not found for content that is not pinned, absent or no CID", async () => {
    const { id: cid } = await test.entities.create({ owner: test.owner, connectorId: id }, { raw: "to go" }, never);
    await test.entities.remove({ owner: test.owner, connectorId: id, entityId: cid }, never);
    expect(kubo.pins.has(cid)).toBe(false);
    expect(
      (await failureOf(() => test.entities.remove({ owner: test.owner, connectorId: id, entityId: cid }, never))).code,
    ).toBe("not_found");
    const absent = fileBlock(Buffer.from("nobody has this")).cid;
    expect(
      (await failureOf(() => test.entities.get({ owner: test.owner, connectorId: id, entityId: absent }, never))).code,
    ).toBe("not_found");
    expect(
      (await failureOf(() => test.entities.get({ owner: test.owner, connectorId: id, entityId: "..%2fconfig" }, never)))
        .code,
    ).toBe("not_found");
  });

  it("answers its detail with the node's version and entities", async () => {
    const { details } = await detail(test, id);
    expect(details).toMatchObject({ page: 1, rpp: 25, probe: { reachable: true, peer: "kubo 0.39.0", error: null } });
    expect(details!.data!.map((entity) => entity.id)).toEqual([...kubo.pins].sort());
    expect(JSON.stringify(await plain(test, id))).not.toContain("details");
  });

  it("stores its credentials in the vault and shows them nowhere", async () => {
    const written = JSON.stringify([
      await detail(test, id),
      test.service.list(test.owner, PAGE),
      test.events(),
      test.log.lines,
      test.store.range(["connector"]),
    ]);
    expect(written).not.toContain("open sesame");
    const vault = test.vault.vault.listVaults(test.owner, PAGE).body;
    expect(vault.map(({ name }) => name)).toEqual(["connectors"]);
    const [secret] = test.vault.vault.listSecrets(test.owner, vault[0]!.id, PAGE).body;
    expect(JSON.parse(await test.vault.vault.retrieveSecret(test.owner, vault[0]!.id, secret!.id))).toEqual({
      username: "admin",
      password: "open sesame",
    });
  });
});

describe("a node that misbehaves", () => {
  it.each([
    ["answers with something else", "garbage", "connector_answer_invalid"],
    ["hangs up", "broken", "connector_unreachable"],
  ] as const)(
    "%s: a named failure, for reading and adding alike, and the connector is unavailable until it is back",
    async (_name, mode, code) => {
      kubo.mode = mode;
      expect((await failureOf(() => test.entities.list(test.owner, id, PAGE, never))).code).toBe(code);
      expect(
        (await failureOf(() => test.entities.create({ owner: test.owner, connectorId: id }, { raw: "x" }, never))).code,
      ).toBe(code);
      const down = await detail(test, id);
      expect(down).toMatchObject({
        status: "unavailable",
        errors: [{ code }],
        details: { data: null, probe: { reachable: false, error: { code } } },
      });
      kubo.mode = "sound";
      expect(await detail(test, id)).toMatchObject({
        status: "active",
        errors: [],
        details: { probe: { reachable: true } },
      });
      expect(test.statuses(id).slice(-2)).toEqual(["unavailable", "active"]);
    },
  );

  it("hangs: the call ends with a named failure", async () => {
    kubo.mode = "hang";
    const [list, down] = await Promise.all([
      failureOf(() =>
        test.entities.remove({ owner: test.owner, connectorId: id, entityId: fileBlock(Buffer.from("x")).cid }, never),
      ),
      detail(test, id),
    ]);
    expect(list.code).toBe("connector_timeout");
    expect(down).toMatchObject({ status: "unavailable", errors: [{ code: "connector_timeout" }] });
    kubo.mode = "sound";
    await detail(test, id);
  });

  it("rejects the credentials", async () => {
    const other = await settled(test, { type: "ipfs", config: { rpc_url: kubo.url, credentials: { token: "wrong" } } });
    expect(other).toMatchObject({ status: "unavailable", errors: [{ code: "connector_refused" }] });
    expect(
      (await failureOf(() => test.entities.create({ owner: test.owner, connectorId: other.id }, { raw: "x" }, never)))
        .code,
    ).toBe("connector_refused");
    await test.service.update(test.owner, other.id, {
      config: { credentials: { username: "admin", password: "open sesame" } },
    });
    expect(await detail(test, other.id)).toMatchObject({ status: "active", errors: [] });
    expect(await test.deletions.delete(test.owner, other.id, never)).toBe(true);
  });
});

describe("content that cannot be taken", () => {
  it.each([
    ["none at all", {}],
    ["two kinds of it", { raw: "a", data_url: "data:,b" }],
    ["base64 that is none", { data_url: "data:text/plain;base64,a*b=" }],
    ["base64 of half a byte", { data_url: "data:text/plain;base64,QUJDR" }],
    ["a data URL without a comma", { data_url: "data:text/plain" }],
    [
      "two files of one name",
      {
        children: [
          { filename: "a", raw: "1" },
          { filename: "a", raw: "2" },
        ],
      },
    ],
    ["a file without content", { children: [{ filename: "a" }] }],
    ["too much metadata", { raw: "a", metadata: { text: "x".repeat(20_000) } }],
  ])("%s is refused before the node is asked", async (_name, input) => {
    const asked = kubo.requests.length;
    expect(
      (await failureOf(() => test.entities.create({ owner: test.owner, connectorId: id }, input, never))).code,
    ).toBe("connector_config_invalid");
    expect(kubo.requests.length).toBe(asked);
  });

  it("takes exactly 8 MiB and not a byte more", async () => {
    const limit = 8 * 1024 * 1024;
    expect(
      await test.entities.create({ owner: test.owner, connectorId: id }, { raw: "a".repeat(limit) }, never),
    ).toMatchObject({
      size: limit,
    });
    expect(
      (
        await failureOf(() =>
          test.entities.create({ owner: test.owner, connectorId: id }, { raw: "a".repeat(limit + 1) }, never),
        )
      ).code,
    ).toBe("body_too_large");
  });
});

describe("a connector with a gateway alone", () => {
  it("reads content and nothing else", async () => {
    const gateway = await openConnectors({
      egress: {
        ...loopbackEgress,
        fetch: async (url) =>
          await Promise.resolve({
            status: url.endsWith("/ipfs/bafkqaaa") || url.endsWith("5o") ? 200 : 404,
            headers: { "content-type": "text/plain; charset=utf-8" },
            body: Buffer.from(url.endsWith("5o") ? "hello world\n" : ""),
          }),
      },
    });
    try {
      const made = await settled(gateway, { type: "ipfs", config: { gateway_url: "https://gateway.example.com" } });
      expect(made.status).toBe("active");
      expect(
        await gateway.entities.get(
          { owner: gateway.owner, connectorId: made.id, entityId: "QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o" },
          never,
        ),
      ).toMatchObject({ raw: "hello world\n", type: "text/plain", size: 12 });
      expect(
        (
          await failureOf(() =>
            gateway.entities.create({ owner: gateway.owner, connectorId: made.id }, { raw: "x" }, never),
          )
        ).code,
      ).toBe("connector_unsupported");
      expect(
        (
          await failureOf(() =>
            gateway.entities.get(
              {
                owner: gateway.owner,
                connectorId: made.id,
                entityId: "QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH",
              },
              never,
            ),
          )
        ).code,
      ).toBe("not_found");
    } finally {
      await gateway.close();
    }
  });
});
