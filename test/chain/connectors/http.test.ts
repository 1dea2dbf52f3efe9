/** The routes of connectors over the real HTTP front, by fetch and with the unchanged npm client provide-js. */
import { randomUUID } from "node:crypto";
import { NChain } from "provide-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectorRoutes } from "../../../src/chain/connectors/connector-routes.js";
import { createClient, type Client } from "../../../src/sdk/client.js";
import { PERMISSIONS_MAX } from "../../../src/platform/auth/permissions.js";
import type { Principal, SubjectKind } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { createServer, type Server } from "../../../src/platform/http/server.js";
import { testDriver } from "../../support/http-driver.js";
import { startKubo, type KuboDouble } from "../../support/kubo-double.js";
import { recordedLog } from "../../support/silent-log.js";
import { NETWORK_ID, openConnectors, untilSettled, type TestConnectors } from "./support.js";

let kubo: KuboDouble;
let test: TestConnectors;
let server: Server;
let url: string;
let api: Client<typeof connectorRoutes>;
let nchain: NChain;

beforeAll(async () => {
  kubo = await startKubo();
  test = await openConnectors();
  const principals = new Map<string, Principal>();
  const principal = (kind: SubjectKind, id: string): Principal => ({
    subject: { kind, id },
    permissions: PERMISSIONS_MAX,
    tokenId: id,
    sessionId: id,
    expiresAtSec: 2 ** 40,
  });
  principals.set("application", principal("application", test.owner.id));
  principals.set("user", principal("user", randomUUID())).set("organization", principal("organization", randomUUID()));
  server = createServer(
    { host: "127.0.0.1", port: 0, limits: { rateLimits: false } },
    {
      driver: testDriver,
      routes: bindRoutes(connectorRoutes, test.connectors.handlers),
      isUnsealed: () => test.vault.vault.isUnsealed(),
      log: recordedLog(),
      clock: systemClock,
      authenticate: (token) => {
        const found = principals.get(token);
        if (found === undefined) throw new Error("tests use known tokens");
        return found;
      },
    },
  );
  const { port } = await server.listen();
  url = `http://127.0.0.1:${String(port)}`;
  api = createClient({ baseUrl: url, token: "application" }, connectorRoutes);
  nchain = new NChain("application", "http", `127.0.0.1:${String(port)}`);
});
afterAll(async () => {
  await server.stop({ graceMs: 0 });
  await test.close();
  await kubo.stop();
});

async function call(
  method: string,
  path: string,
  options: { readonly token?: string; readonly body?: unknown } = {},
): Promise<{ status: number; code: string | undefined; headers: Headers; text: string }> {
  const answer = await fetch(`${url}/api/v1/connectors${path}`, {
    method,
    headers: {
      authorization: `bearer ${options.token ?? "application"}`,
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, code: /"code":"([a-z_]+)"/.exec(text)?.[1] };
}

describe("the routes of connectors", () => {
  it("are for applications only", async () => {
    for (const { method, path } of Object.values(connectorRoutes)) {
      for (const token of ["user", "organization"]) {
        const answer = await call(
          method,
          path.replace("/api/v1/connectors", "").replace(":id", randomUUID()).replace(":entity", "bafkqaaa"),
          { token },
        );
        expect([path, answer.status, answer.code]).toEqual([path, 403, "forbidden"]);
      }
    }
  });

  it("create with 201 and a Location, in the status init, and never answer credentials", async () => {
    // The shape of a connector that existing clients send.
    const body = {
      name: "peer",
      network_id: NETWORK_ID,
      type: "ipfs",
      config: {
        region: "us-east-1",
        target_id: "aws",
        provider_id: "docker",
        role: "peer",
        container: "ipfs/kubo:release",
        rpc_port: 5001,
        gateway_port: 8080,
        credentials: { aws_access_key_id: "AKID", aws_secret_access_key: "hunter2" },
        security: { egress: "*", ingress: { "0.0.0.0/0": { tcp: [4001, 5001], udp: null } } },
      },
    };
    const answer = await call("POST", "", { body });
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      201,
      {
        status: "init",
        type: "ipfs",
        description: null,
        accessed_at: null,
        application_id: test.owner.id,
        config: { rpc_port: 5001, security: body.config.security },
      },
    ]);
    const { id } = JSON.parse(answer.text) as { id: string };
    expect(answer.headers.get("location")).toBe(`/api/v1/connectors/${id}`);
    await untilSettled(test, id);
    expect(answer.text + (await call("GET", `/${id}`)).text + (await call("GET", "")).text).not.toMatch(
      /hunter2|AKID|credentials/,
    );
    expect((await call("DELETE", `/${id}`)).status).toBe(204);
    expect((await call("GET", `/${id}`)).status).toBe(404);
  });

  it("keep what they do not know of a configuration, and take back what they answered", async () => {
    const config = { api_url: kubo.url, image: "provide/ident", nested: { a: [1, null] } };
    const made = await api.createConnector({
      body: { name: "old", network_id: NETWORK_ID, type: "ipfs", config, application_id: test.owner.id },
    });
    const { id } = made.body;
    const { body } = await api.getConnector({ params: { id } });
    expect(body.config).toMatchObject(config);
    const inCamelCase = Object.fromEntries(
      Object.entries(body).map(([name, value]) => [
        name.replace(/_([a-z])/g, (_, c: string) => c.toUpperCase()),
        value,
      ]),
    );
    for (const sent of [body, inCamelCase])
      expect((await call("PUT", `/${id}`, { body: { ...sent, name: "new" } })).status).toBe(204);
    expect((await api.getConnector({ params: { id } })).body).toMatchObject({ name: "new", config });
    for (const other of [{ type: "redis" }, { networkId: randomUUID() }, { application_id: randomUUID() }]) {
      const answer = await call("PUT", `/${id}`, { body: other });
      expect([answer.status, answer.code]).toEqual([422, "invalid_request"]);
    }
  });

  it("are 404 at the member for another's application, user or network", async () => {
    const body = { name: "c", network_id: NETWORK_ID, type: "ipfs", config: {}, is_virtual: true };
    for (const member of ["application_id", "organization_id", "user_id", "network_id"]) {
      const answer = await call("POST", "", { body: { ...body, [member]: randomUUID() } });
      expect([answer.status, answer.code]).toEqual([404, "not_found"]);
      expect(answer.text).toContain(`"path":"${member}"`);
    }
  });

  it("refuse what is malformed by the name of the member", async () => {
    for (const [body, code] of [
      [{ name: "c", network_id: NETWORK_ID, type: "fax", config: {} }, "connector_type_unknown"],
      [{ name: "c", type: "ipfs", config: {} }, "invalid_request"],
      [{ name: "c", network_id: NETWORK_ID, type: "ipfs", config: { Api_Url: "https://h.example" } }, "unknown_member"],
      [{ name: "c", network_id: NETWORK_ID, type: "ipfs", config: { api_port: 70_000 } }, "invalid_request"],
      [
        {
          name: "c",
          network_id: NETWORK_ID,
          type: "ipfs",
          config: { security: { ingress: { everyone: { tcp: [1] } } } },
        },
        "unknown_member",
      ],
      [{ name: "c", network_id: NETWORK_ID, type: "ipfs", config: { credentials: { key: 1 } } }, "invalid_request"],
      [{ name: "c", network_id: NETWORK_ID, type: "ipfs", config: { credentials: { "a b": "1" } } }, "unknown_member"],
      [
        {
          name: "c",
          network_id: NETWORK_ID,
          type: "ipfs",
          config: { provider_id: "docker", container: "ipfs/kubo:../../../secrets" },
        },
        "invalid_request",
      ],
      [{ name: "c", network_id: NETWORK_ID, type: "ipfs", config: { env: { "PATH=x": "1" } } }, "unknown_member"],
    ] as const) {
      const answer = await call("POST", "", { body });
      expect([answer.status, answer.code, JSON.stringify(body)]).toEqual([422, code, JSON.stringify(body)]);
    }
    for (const entity of ["..%2f..%2fapi", "a%20b", "x".repeat(201)])
      expect((await call("GET", `/${randomUUID()}/entities/${entity}`)).status).toBe(400);
  });

  it("answer everything about a working connector", async () => {
    const {
      body: { id },
    } = await api.createConnector({
      body: { name: "files", network_id: NETWORK_ID, type: "IPFS", config: { api_url: kubo.url } },
    });
    await untilSettled(test, id);
    const made = await api.createConnectorEntity({ params: { id }, body: { raw: "hello", filename: "hello.txt" } });
    expect(made.headers.get("location")).toBe(`/api/v1/connectors/${id}/entities/${made.body.id}`);
    expect((await api.listConnectorEntities({ params: { id } })).body).toMatchObject([
      { id: made.body.id, filename: "hello.txt" },
    ]);
    await api.updateConnectorEntity({
      params: { id, entity: made.body.id },
      body: { metadata: { a: [1, { b: null }] } },
    });
    expect((await api.getConnectorEntity({ params: { id, entity: made.body.id } })).body).toMatchObject({
      raw: "hello",
      metadata: { a: [1, { b: null }] },
    });
    expect((await api.getConnector({ params: { id }, query: { objects: made.body.id } })).body).toMatchObject({
      status: "available",
      details: { data: [{ id: made.body.id }], probe: { reachable: true } },
    });
    expect((await api.listConnectors({ query: { type: "ipfs" } })).body.map((connector) => connector.id)).toContain(id);
    expect((await api.listConnectorNodes({ params: { id } })).body).toEqual([]);
    expect((await api.listConnectorLoadBalancers({ params: { id } })).body).toEqual([]);
    expect((await api.getConnectorLogs({ params: { id } })).body).toEqual({
      logs: [],
      prev_token: null,
      next_token: null,
    });
    await api.updateConnector({ params: { id }, body: { description: "for files", config: { role: "peer" } } });
    await api.deleteConnectorEntity({ params: { id, entity: made.body.id } });
    expect((await call("DELETE", `/${id}/entities/${made.body.id}`)).status).toBe(404);
    expect((await call("DELETE", `/${id}`)).status).toBe(204);
  });

  it("make tokens that listen to this connector and do nothing else", async () => {
    const {
      body: { id },
    } = await api.createConnector({
      body: { name: "heard", network_id: NETWORK_ID, type: "ipfs", config: {}, is_virtual: true },
    });
    const { body } = await api.createConnectorSubscription({ params: { id } });
    expect(body).toMatchObject({
      subject: `application:${test.owner.id}`,
      subscribe: [`network.${NETWORK_ID}.connector.${id}`],
      token: body.access_token,
    });
    expect(test.tokens.authenticate(body.token)).toMatchObject({ subject: test.owner, limitedTo: body.subscribe });
    expect((await call("POST", `/${randomUUID()}/subscriptions`)).status).toBe(404);
  });

  it("take content of 8 MiB as a data URL", async () => {
    const {
      body: { id },
    } = await api.createConnector({
      body: { name: "large", network_id: NETWORK_ID, type: "ipfs", config: { api_url: kubo.url } },
    });
    await untilSettled(test, id);
    const content = Buffer.alloc(8 * 1024 * 1024, 7);
    const made = await api.createConnectorEntity({
      params: { id },
      body: { data_url: `data:application/octet-stream;base64,${content.toString("base64")}` },
    });
    expect(made.body.size).toBe(content.length);
    expect((await api.getConnectorEntity({ params: { id, entity: made.body.id } })).body).toMatchObject({
      data_url: null,
      raw: null,
      size: content.length,
    });
    expect((await call("POST", `/${id}/entities`, { body: { raw: "x".repeat(13 * 1024 * 1024) } })).status).toBe(413);
  });
});

describe("provide-js", () => {
  it("creates, uses and deletes a connector unchanged", async () => {
    const created = (await nchain.createConnector({
      name: "theirs",
      network_id: NETWORK_ID,
      type: "ipfs",
      config: { api_url: kubo.url },
    })) as unknown as { id: string; status: string };
    expect(created.status).toBe("init");
    await untilSettled(test, created.id);
    const entity = (await nchain.createConnectedEntity(created.id, {
      raw: "from provide-js",
      name: "x",
    })) as unknown as { id: string };
    expect(await nchain.fetchConnectedEntities(created.id, {})).toMatchObject({
      results: expect.arrayContaining([expect.objectContaining({ id: entity.id })]) as unknown,
    });
    expect(await nchain.fetchConnectedEntityDetails(created.id, entity.id, {})).toMatchObject({
      raw: "from provide-js",
    });
    await nchain.updateConnectedEntity(created.id, entity.id, { name: "y" });
    expect(await nchain.fetchConnectorDetails(created.id, {})).toMatchObject({ id: created.id, status: "available" });
    expect(await nchain.authorizeConnectorSubscription(created.id, {})).toMatchObject({
      subject: `application:${test.owner.id}`,
    });
    expect(await nchain.fetchConnectorNodes(created.id, {})).toMatchObject({ results: [] });
    expect(await nchain.fetchConnectorLoadBalancers(created.id, {})).toMatchObject({ results: [] });
    await nchain.deleteConnectedEntity(created.id, entity.id);
    await nchain.deleteConnector(created.id);
    expect(JSON.stringify(await nchain.fetchConnectors({}))).not.toContain(created.id);
  });
});
