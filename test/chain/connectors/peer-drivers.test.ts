/**
 * The probes of all protocols and the driver of rest, each against a peer on this machine. PostgreSQL is a real one
 * (PGlite).
 */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import { TLSSocket } from "node:tls";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  freePort,
  startBabbler,
  startMute,
  startNats,
  startRedis,
  type LineDouble,
} from "../../support/line-doubles.js";
import { makeSelfSigned } from "../../support/self-signed.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { detail, failureOf, never, openConnectors, PAGE, settled, type Draft, type TestConnectors } from "./support.js";

const folder = newFolder("peers");
const { certFile, keyFile } = makeSelfSigned(folder);
const stops: (() => Promise<void>)[] = [];
let test: TestConnectors;

beforeAll(async () => {
  test = await openConnectors();
});
afterAll(async () => {
  await test.close();
  for (const stop of stops) await stop();
  removeFolder(folder);
});

async function running<T extends LineDouble>(starting: Promise<T>): Promise<T> {
  const started = await starting;
  stops.push(() => started.stop());
  return started;
}

/** ErrorResponse: 'E', length, fields of a letter and a text, 0 (PostgreSQL, message formats). */
function errorResponse(sqlState: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${sqlState}\0Mno\0\0`, "latin1");
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/** A server that accepts PostgreSQL's request for TLS, reads the startup message and refuses the login. */
async function startTlsPostgres(): Promise<{ readonly port: number; readonly startups: Buffer[] }> {
  const startups: Buffer[] = [];
  const server = createTcpServer((plain) => {
    plain.on("error", () => undefined);
    plain.once("data", () => {
      plain.write("S");
      const secure = new TLSSocket(plain, { isServer: true, cert: readFileSync(certFile), key: readFileSync(keyFile) });
      secure.on("error", () => undefined);
      secure.once("data", (startup: Buffer) => {
        startups.push(startup);
        secure.end(errorResponse("28P01"));
      });
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  stops.push(async () => {
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, startups };
}

/** What the first probe of a new connector found. */
async function probed(
  draft: Draft,
): Promise<{ status: string; code: string | undefined; peer: string | null | undefined }> {
  const made = await settled(test, draft);
  const { details } = await detail(test, made.id);
  return { status: made.status, code: made.errors[0]?.code, peer: details?.probe?.peer };
}

describe("a sql connector", () => {
  let port: number;
  let database: PGlite;
  let server: PGLiteSocketServer;

  beforeAll(async () => {
    database = await PGlite.create();
    port = await freePort();
    server = new PGLiteSocketServer({ db: database, port, host: "127.0.0.1", maxConnections: 8 });
    await server.start();
  });
  afterAll(async () => {
    await server.stop();
    await database.close();
  });

  it("logs in to a real PostgreSQL and says its version", async () => {
    expect(
      await probed({
        type: "sql",
        config: {
          api_url: `postgres://127.0.0.1:${String(port)}/postgres`,
          credentials: { username: "postgres", password: "postgres" },
        },
      }),
    ).toMatchObject({
      status: "available",
      code: undefined,
      peer: expect.stringMatching(/^PostgreSQL [0-9]+\./) as string,
    });
  });

  it("takes host, port and database apart from a URL", async () => {
    expect(await probed({ type: "SQL", config: { host: "127.0.0.1", port, database: "postgres" } })).toMatchObject({
      status: "available",
    });
  });

  it.each([
    ["wrong credentials", "28P01", "connector_refused"],
    ["no such database", "3D000", "connector_refused"],
    ["too many clients", "53300", "connector_refused"],
  ])("names %s", async (_name, sqlState, code) => {
    const peer = await running(startBabbler(errorResponse(sqlState).toString("latin1")));
    expect(await probed({ type: "sql", config: { host: "127.0.0.1", port: peer.port } })).toMatchObject({
      status: "unavailable",
      code,
    });
  });

  it("does not log in without TLS where TLS is asked for", async () => {
    const peer = await running(startBabbler("N"));
    const made = await settled(test, {
      type: "sql",
      config: { host: "127.0.0.1", port: peer.port, tls: true, credentials: { password: "s" } },
    });
    expect(made).toMatchObject({ status: "unavailable", errors: [{ code: "connector_answer_invalid" }] });
  });

  it("sends its login over TLS, once the certificate is trusted", async () => {
    const peer = await startTlsPostgres();
    const errors = async (tls: true | { ca: string }): Promise<unknown> =>
      (await settled(test, { type: "sql", config: { host: "localhost", port: peer.port, tls } })).errors;
    expect(await errors(true)).toMatchObject([
      { code: "connector_refused", message: expect.stringContaining("certificate") as string },
    ]);
    expect(peer.startups).toEqual([]);
    expect(await errors({ ca: readFileSync(certFile, "utf8") })).toMatchObject([
      { code: "connector_refused", message: expect.stringContaining("credentials") as string },
    ]);
    expect(peer.startups).toHaveLength(1);
    expect(peer.startups[0]?.toString("latin1")).toContain("user\0postgres\0");
  });
});

describe("a nats connector", () => {
  it("shakes hands and says the server's version", async () => {
    const nats = await running(startNats({ user: "ada", pass: "secret" }));
    expect(
      await probed({
        type: "nats",
        config: {
          api_url: `nats://127.0.0.1:${String(nats.port)}`,
          credentials: { username: "ada", password: "secret" },
        },
      }),
    ).toEqual({ status: "available", code: undefined, peer: "nats-server 2.12.1" });
    expect(nats.received[0]).toMatch(/^CONNECT \{.*"verbose":false/);
    expect(nats.received[1]).toBe("PING");
  });

  it("names credentials that the server does not take", async () => {
    const nats = await running(startNats({ user: "ada", pass: "secret" }));
    expect(
      await probed({
        type: "nats",
        config: {
          api_url: `nats://127.0.0.1:${String(nats.port)}`,
          credentials: { username: "ada", password: "wrong" },
        },
      }),
    ).toMatchObject({ status: "unavailable", code: "connector_refused" });
  });

  it("puts TLS on where the server demands it, and sends nothing before the certificate holds", async () => {
    const tls = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
    const nats = await running(startNats({ user: "ada", pass: "secret", tls }));
    const config = {
      api_url: `nats://localhost:${String(nats.port)}`,
      credentials: { username: "ada", password: "secret" },
    };
    expect(await probed({ type: "nats", config })).toMatchObject({ status: "unavailable", code: "connector_refused" });
    expect(nats.received).toEqual([]);
    expect(await probed({ type: "nats", config: { ...config, tls: { ca: tls.cert } } })).toMatchObject({
      status: "available",
      peer: "nats-server 2.12.1",
    });
  });
});

describe("a redis connector", () => {
  it("logs in, pings and chooses its database", async () => {
    const redis = await running(startRedis({ password: "p\r\nFLUSHALL" }));
    const open = await running(startRedis());
    expect(await probed({ type: "redis", config: { api_url: `redis://127.0.0.1:${String(open.port)}/3` } })).toEqual({
      status: "available",
      code: undefined,
      peer: "redis",
    });
    expect(open.received).toEqual(expect.arrayContaining(["PING", "SELECT", "3"]));
    // Any password is one word of one command.
    expect(
      await probed({
        type: "redis",
        config: { api_url: `redis://127.0.0.1:${String(redis.port)}`, credentials: { password: "p\r\nFLUSHALL" } },
      }),
    ).toMatchObject({ code: expect.stringContaining("connector_") as string });
    expect(redis.received.slice(0, 4)).toEqual(["*2", "$4", "AUTH", "$11"]);
  });

  it.each([
    ["wrong", "connector_refused"],
    [undefined, "connector_refused"],
  ])("names a password that does not do: %s", async (password, code) => {
    const redis = await running(startRedis({ password: "right" }));
    expect(
      await probed({
        type: "redis",
        config: {
          api_url: `redis://127.0.0.1:${String(redis.port)}`,
          credentials: password === undefined ? {} : { password },
        },
      }),
    ).toMatchObject({ status: "unavailable", code });
  });
});

describe("any connector over a connection of its own", () => {
  it("tells an unreachable peer, a silent one and one with another protocol apart", async () => {
    const babbler = await running(startBabbler("HTTP/1.1 400 Bad Request\r\n\r\n"));
    const mute = await running(startMute());
    const ports = [await freePort(), mute.port, babbler.port];
    const types = ["nats", "redis", "sql"] as const;
    const found = await Promise.all(
      types.map(
        async (type) =>
          await Promise.all(
            ports.map(
              async (port) => (await settled(test, { type, config: { host: "127.0.0.1", port } })).errors[0]?.code,
            ),
          ),
      ),
    );
    // pg reads the web server's answer as the beginning of a long message, and waits for the rest.
    const others = { nats: "connector_answer_invalid", redis: "connector_answer_invalid", sql: "connector_timeout" };
    expect(found).toEqual(types.map((type) => ["connector_unreachable", "connector_timeout", others[type]]));
  });
});

describe("a rest connector", () => {
  const objects = new Map<string, Record<string, unknown>>([["1", { id: 1, name: "first" }]]);
  const seen: string[] = [];
  let server: Server;
  let url: string;
  let status = 200;

  beforeAll(async () => {
    server = createServer((incoming, answer) => {
      let body = "";
      incoming
        .on("data", (chunk: Buffer) => {
          body += chunk.toString();
        })
        .on("end", () => {
          seen.push(
            `${incoming.method ?? ""} ${incoming.url ?? ""} ${(incoming.headers["x-key"] as string | undefined) ?? ""}`,
          );
          if (status !== 200) {
            answer.writeHead(status).end("upstream secret");
            return;
          }
          const id = /^\/api\/items\/([^?]+)/.exec(incoming.url ?? "")?.[1];
          if (incoming.method === "POST") objects.set("2", { id: 2, ...(JSON.parse(body) as object) });
          if (incoming.method === "PUT" && id !== undefined)
            objects.set(id, { id: Number(id), ...(JSON.parse(body) as object) });
          if (id !== undefined && !objects.has(id)) {
            answer.writeHead(404).end();
            return;
          }
          if (incoming.method === "DELETE" && id !== undefined) {
            objects.delete(id);
            answer.writeHead(204).end();
            return;
          }
          const found =
            incoming.method === "POST"
              ? objects.get("2")
              : id === undefined
                ? { data: [...objects.values()] }
                : objects.get(id);
          answer
            .writeHead(incoming.method === "POST" ? 201 : 200, {
              "content-type": "application/json",
              "x-total-count": String(objects.size),
              server: "items/1",
            })
            .end(JSON.stringify(found));
        });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/api`;
  });
  afterAll(() => {
    server.close();
  });

  it("passes its entities through, with the key in the header that was named", async () => {
    const { id, status: found } = await settled(test, {
      type: "rest",
      config: { api_url: url, entities_path: "/items", credentials: { api_key: "k1", api_key_header: "X-Key" } },
    });
    expect(found).toBe("available");
    expect(await test.entities.list(test.owner, id, PAGE, never)).toMatchObject({
      total: 1,
      body: [{ id: "1", name: "first", metadata: { id: 1, name: "first" }, href: `${url}/items/1` }],
    });
    expect(
      await test.entities.create(
        { owner: test.owner, connectorId: id },
        { metadata: { name: "second", size: 3 } },
        never,
      ),
    ).toMatchObject({
      id: "2",
      name: "second",
    });
    await test.entities.update(
      { owner: test.owner, connectorId: id, entityId: "2" },
      { metadata: { name: "changed" } },
      never,
    );
    expect(await test.entities.get({ owner: test.owner, connectorId: id, entityId: "2" }, never)).toMatchObject({
      name: "changed",
    });
    await test.entities.remove({ owner: test.owner, connectorId: id, entityId: "2" }, never);
    expect(
      (await failureOf(() => test.entities.get({ owner: test.owner, connectorId: id, entityId: "2" }, never))).code,
    ).toBe("not_found");
    expect(seen).toContain("PUT /api/items/2 k1");
    expect((await detail(test, id)).details).toMatchObject({ data: [{ id: "1" }], probe: { peer: "items/1" } });
  });

  it.each([
    [401, "connector_refused"],
    [418, "connector_refused"],
    [500, "connector_refused"],
  ])("names an answer of %s without repeating it", async (code, name) => {
    const { id } = await settled(test, { type: "rest", config: { api_url: url, entities_path: "/items" } });
    status = code;
    const failure = await failureOf(() => test.entities.list(test.owner, id, PAGE, never));
    status = 200;
    expect(failure.code).toBe(name);
    expect(failure.message).not.toContain("upstream secret");
  });

  it("probes types without a driver of their own by any answer below 500", async () => {
    expect(await probed({ type: "Tableau", config: { api_url: `${url}/nothing` } })).toMatchObject({
      status: "available",
      peer: "items/1",
    });
    status = 503;
    expect(await probed({ type: "splunk", config: { api_url: url } })).toMatchObject({
      status: "unavailable",
      code: "connector_unreachable",
    });
    status = 200;
  });

  it("has no entities where the type holds none", async () => {
    const { id } = await settled(test, { type: "tableau", config: { api_url: url } });
    expect((await failureOf(() => test.entities.list(test.owner, id, PAGE, never))).code).toBe("connector_unsupported");
  });
});
