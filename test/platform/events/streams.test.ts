// The event stream over real sockets and a real store: who sees what, in which order, from where, and how streams end.
import { randomUUID } from "node:crypto";
import net from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { permissionBits } from "../../../src/platform/auth/permissions.js";
import type { Principal, Subject } from "../../../src/platform/auth/principal.js";
import { systemClock } from "../../../src/platform/clock.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { AppError } from "../../../src/platform/errors.js";
import { EventBus, type EventBusOptions } from "../../../src/platform/events/event-bus.js";
import { eventHandlers } from "../../../src/platform/events/event-handlers.js";
import { eventRoutes } from "../../../src/platform/events/event-routes.js";
import { createServer, type Server } from "../../../src/platform/http/server.js";
import { testDriver } from "../../support/http-driver.js";
import { openStore, type DurableStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { openSocket, openSse, type StreamReader } from "../../support/event-streams.js";
import { createLog } from "../../../src/platform/log.js";
import { rawExchange, until } from "../http/support.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const silentLog = createLog("silent");
const ADA: Subject = { kind: "user", id: randomUUID() };
const EVE: Subject = { kind: "user", id: randomUUID() };
const OPTIONS: EventBusOptions = {
  eventsMax: 1000,
  daysMax: 7,
  streamsMax: 50,
  streamsPerSubjectMax: 20,
  streamsPerTokenMax: 20,
};

let folder: string;
let store: DurableStore;
let bus: EventBus;
let server: Server;
let url: string;
let tokens: Map<string, Principal>;

async function start(options: Partial<EventBusOptions> = {}): Promise<void> {
  store = await openStore(
    { path: join(folder, "store"), mapBytes: 256 * 2 ** 20, reserveBytes: 2 ** 20 },
    { log: silentLog },
  );
  bus = new EventBus({ ...OPTIONS, ...options }, { store, clock: systemClock, log: silentLog });
  bus.start();
  server = createServer(
    { host: "127.0.0.1", port: 0, limits: { rateLimits: false } },
    {
      driver: testDriver,
      routes: bindRoutes(eventRoutes, eventHandlers({ events: bus })),
      clock: systemClock,
      log: silentLog,
      isUnsealed: () => true,
      authenticate: (token) => {
        const principal = tokens.get(token);
        if (principal === undefined) throw new AppError("unauthorized", { message: "unauthorized" });
        return principal;
      },
    },
  );
  url = `http://127.0.0.1:${String((await server.listen()).port)}`;
}

async function stop(): Promise<void> {
  await server.stop({ graceMs: 1000 });
  await bus.stop();
  await store.close();
}

function principal(subject: Subject, more: Partial<Principal> = {}): Principal {
  return {
    subject,
    permissions: permissionBits(["subscribe"]),
    tokenId: randomUUID(),
    sessionId: randomUUID(),
    expiresAtSec: 4_000_000_000,
    ...more,
  };
}

async function publish(
  subject: string,
  audience: readonly Subject[] | "everyone",
  payload: string | number = subject,
): Promise<void> {
  await bus.publish([{ subject, payload, audience }]);
}

const subjectsOf = (reader: StreamReader): (string | undefined)[] => reader.events().map(({ subject }) => subject);
const TRANSPORTS = { sse: openSse, websocket: openSocket } as const;

beforeEach(async () => {
  folder = newFolder("events");
  tokens = new Map([
    ["ada", principal(ADA)],
    ["eve", principal(EVE)],
    ["mute", principal(ADA, { permissions: permissionBits(["read"]) })],
    ["limited", principal(ADA, { limitedTo: ["abc", "abc.>"] })],
  ]);
  await start();
});
afterEach(async () => {
  await stop();
  removeFolder(folder);
});

describe.each(Object.keys(TRANSPORTS) as (keyof typeof TRANSPORTS)[])("over %s", (transport) => {
  const open = TRANSPORTS[transport];

  it("gives each subject its own events and those for everyone, in order, and nobody else's", async () => {
    const [ada, eve] = [await open(url, { token: "ada" }), await open(url, { token: "eve" })];
    await publish("one.of.ada", [ADA]);
    await publish("one.of.eve", [EVE]);
    await publish("of.all", "everyone");
    await publish("of.both", [EVE, ADA]);
    await ada.until((reader) => reader.events().length === 3);
    await eve.until((reader) => reader.events().length === 3);
    expect(subjectsOf(ada)).toEqual(["one.of.ada", "of.all", "of.both"]);
    expect(subjectsOf(eve)).toEqual(["one.of.eve", "of.all", "of.both"]);
    expect(ada.events().map(({ id }) => id)).toEqual([1, 3, 4]);
  });

  it("filters by subject with the wildcards of NATS, and gives an event of several subjects once", async () => {
    const reader = await open(url, { token: "ada", subjects: ["network.*.status", "abc.>"] });
    for (const subject of [
      "network.1.status",
      "network.1.2.status",
      "network.status",
      "abc",
      "abc.d",
      "abc.d.e",
      "other",
    ])
      await publish(subject, [ADA]);
    await bus.publish([
      { subject: "network.9.contracts.0x1", also: ["abc", "abc.Transfer"], payload: 1, audience: [ADA] },
    ]);
    await reader.until(({ events }) => events().length === 4);
    expect(subjectsOf(reader)).toEqual(["network.1.status", "abc.d", "abc.d.e", "abc.Transfer"]);
  });

  it("goes on from the last id after a restart, without a gap or a repeat, while more is published", async () => {
    for (let index = 1; index <= 200; index += 1) void publish("n", index % 2 === 0 ? [ADA] : [EVE], index);
    await publish("n", [ADA], 201);
    await stop();
    await start();
    const reader = await open(url, { token: "ada", lastEventId: 50 });
    await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        await publish("n", [ADA], 300 + index);
      }),
    );
    await reader.until(({ events }) => events().length >= 76 + 100);
    expect(reader.events().map(({ payload }) => payload)).toEqual([
      ...Array.from({ length: 75 }, (_, index) => 52 + 2 * index),
      201,
      ...Array.from({ length: 100 }, (_, index) => 300 + index),
    ]);
    expect(reader.messages.filter(({ type }) => type === "gap")).toEqual([]);
  });

  it("says where there is a gap: when events were deleted, and when the id was never given", async () => {
    await stop();
    await start({ eventsMax: 10 });
    for (let index = 1; index <= 30; index += 1) await publish("n", [ADA], index);
    await stop();
    await start({ eventsMax: 10 });
    await until(() => store.count(["events"]) === 10);
    const reader = await open(url, { token: "ada", lastEventId: 3 });
    await reader.until(({ events }) => events().length === 10);
    expect(reader.messages.filter(({ type }) => type === "gap")).toEqual([{ id: 20, type: "gap" }]);
    expect(reader.events().map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, index) => 21 + index));
    const beyond = await open(url, { token: "ada", lastEventId: 999 });
    await beyond.until(({ messages }) => messages.some(({ type }) => type === "gap"));
    expect(beyond.events()).toEqual([]);
  });

  it("ends when the token is revoked or loses its permission, and says why", async () => {
    const [revoked, cut, kept] = [
      await open(url, { token: "ada" }),
      await open(url, { token: "limited" }),
      await open(url, { token: "eve" }),
    ];
    tokens.delete("ada");
    tokens.set("limited", principal(ADA, { permissions: 0, limitedTo: ["abc"] }));
    expect(await revoked.ended).toEqual(
      transport === "sse" ? { code: 0, reason: "token_revoked" } : { code: 4401, reason: "token_revoked" },
    );
    expect(await cut.ended).toEqual(
      transport === "sse" ? { code: 0, reason: "forbidden" } : { code: 4403, reason: "forbidden" },
    );
    await publish("x", "everyone");
    await kept.until(({ events }) => events().length === 1);
    expect(bus.streams).toBe(1);
  });

  it("ends with a reason when the server stops, in time", async () => {
    const reader = await open(url, { token: "ada" });
    await stop();
    expect((await reader.ended).reason).toBe("shutting_down");
    await start();
  });

  it("rejects a missing or forged token, a missing permission, filters beyond a limited token, and too many streams", async () => {
    await expect(open(url, { token: "forged" })).rejects.toThrow(/401/);
    await expect(open(url, { token: "mute" })).rejects.toThrow(/403/);
    await expect(open(url, { token: "limited", subjects: [">"] })).rejects.toThrow(/403/);
    await expect(open(url, { token: "limited", subjects: ["abc.*", "other"] })).rejects.toThrow(/403/);
    await expect(open(url, { token: "ada", subjects: ["a..b"] })).rejects.toThrow(/422/);
    await expect(open(url, { token: "ada", lastEventId: -1 })).rejects.toThrow(/422/);
    const streams = await Promise.all(Array.from({ length: 20 }, () => open(url, { token: "ada" })));
    await expect(open(url, { token: "ada" })).rejects.toThrow(/429/);
    streams[0]?.close();
    await streams[0]?.ended;
  });

  it("limits the streams of each subscription token by itself, and those of all tokens of a subject", async () => {
    await stop();
    await start({ streamsMax: 100, streamsPerSubjectMax: 2, streamsPerTokenMax: 3 });
    for (const page of ["page-1", "page-2", "page-3"]) tokens.set(page, principal(ADA, { limitedTo: ["abc.>"] }));
    const openMany = async (token: string, count: number): Promise<StreamReader[]> =>
      await Promise.all(Array.from({ length: count }, () => open(url, { token })));
    const [first] = await openMany("page-1", 3);
    await expect(open(url, { token: "page-1" })).rejects.toThrow(/429/);
    await openMany("ada", 2);
    await expect(open(url, { token: "ada" })).rejects.toThrow(/429/);
    await openMany("page-2", 2);
    // A twentieth of all streams is open, all of one subject's tokens.
    await expect(open(url, { token: "page-3" })).rejects.toThrow(/429/);
    await openMany("eve", 2);
    first?.close();
    await until(() => bus.streams === 8);
    await openMany("page-1", 1);
  });

  it("gives a limited token its own events when it names no filter", async () => {
    const reader = await open(url, { token: "limited" });
    for (const subject of ["abc", "other", "abc.Transfer"]) await publish(subject, [ADA]);
    await reader.until(({ events }) => events().length === 2);
    expect(subjectsOf(reader)).toEqual(["abc", "abc.Transfer"]);
  });
});

describe("server-sent events", () => {
  it("end with their connection where the client asked for that", async () => {
    const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
    let received = "";
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
    const closed = new Promise((resolve) => {
      socket.on("close", resolve);
    });
    socket.write("GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: bearer ada\r\nConnection: close\r\n\r\n");
    await until(() => received.includes("event: ready"));
    tokens.delete("ada");
    await closed;
    expect(received).toContain("\r\nConnection: close\r\n");
    expect(received).toContain('event: end\ndata: {"type":"end","reason":"token_revoked"}');
  });
});

describe("a WebSocket", () => {
  const handshake = (version: string, ...lines: readonly string[]): string =>
    [
      "GET /api/v1/events HTTP/1.1",
      "Host: x",
      "Authorization: bearer ada",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      `Sec-WebSocket-Version: ${version}`,
      ...lines,
      "",
      "",
    ].join("\r\n");
  const raw = async (bytes: string): Promise<string> => await rawExchange(Number(new URL(url).port), bytes);

  it.each(["8", "12", "14", "13, 8", ""])(
    "of version %j is refused with 426, which names the one spoken",
    async (version) => {
      const text = await raw(handshake(version));
      expect(text).toMatch(/^HTTP\/1\.1 426 [^]*\r\nConnection: close\r\n[^]*"upgrade_required"/);
      expect(text).toContain("\r\nSec-WebSocket-Version: 13\r\n");
      expect(text).toContain("\r\nUpgrade: websocket\r\n");
    },
  );

  it("is not opened by a handshake with a body", async () => {
    for (const framing of ["Content-Length: 2", "Transfer-Encoding: chunked"])
      expect(await raw(handshake("13", framing))).toMatch(/^HTTP\/1\.1 400 [^]*"malformed_request"/);
  });

  it.each(["protocol", "message"] as const)("takes the token by %s", async (how) => {
    const reader = await openSocket(url, { token: "ada", subjects: ["a.>"] }, how);
    await publish("a.b", [ADA]);
    await reader.until(({ events }) => events().length === 1);
    expect(reader.socket.protocol).toBe(how === "protocol" ? "proofwright.events.v1" : "");
    await expect(openSocket(url, { token: "forged" }, how)).rejects.toThrow(/401/);
    await expect(openSocket(url, { token: "mute" }, how)).rejects.toThrow(/403/);
  });

  it("is prolonged by a newer token of the same subject, and by no other", async () => {
    const reader = await openSocket(url, { token: "ada" });
    tokens.set("ada2", principal(ADA));
    reader.socket.send(JSON.stringify({ token: "ada2" }));
    const other = await openSocket(url, { token: "eve" });
    other.socket.send(JSON.stringify({ token: "ada2" }));
    expect((await other.ended).code).toBe(4403);
    tokens.delete("ada");
    tokens.delete("ada2");
    expect((await reader.ended).reason).toBe("token_revoked");
  });

  it("is closed after a message of another form", async () => {
    for (const text of ["", "[]", '{"token":1}', '{"token":"ada","more":1}']) {
      const reader = await openSocket(url, { token: "ada" });
      reader.socket.send(text);
      expect((await reader.ended).code, text).toBe(4422);
    }
  });
});

describe("a slow reader", () => {
  it("of SSE delays no one and gets everything once it reads again", async () => {
    const { port } = new URL(url);
    const socket = net.connect(Number(port), "127.0.0.1");
    socket.write("GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: bearer ada\r\n\r\n");
    await new Promise((resolve) => {
      socket.once("data", resolve);
    });
    socket.pause();
    const quick = await openSse(url, { token: "ada" });
    const text = "x".repeat(60_000);
    for (let index = 1; index <= 150; index += 1) await publish("big", [ADA], `${String(index)} ${text}`);
    await quick.until(({ events }) => events().length === 150);
    let received = "";
    await new Promise<void>((resolve) => {
      socket.on("data", (chunk: Buffer) => {
        received += chunk.toString("latin1");
        if (received.includes('"payload":"150 ')) resolve();
      });
      socket.resume();
    });
    expect([...received.matchAll(/"payload":"(\d+) /g)].map(([, index]) => Number(index))).toEqual(
      Array.from({ length: 150 }, (_, index) => index + 1),
    );
    socket.destroy();
  });

  it("of a WebSocket delays no one either, beyond the limit of its backlog", async () => {
    const slow = await openSocket(url, { token: "ada" });
    slow.socket.pause();
    const quick = await openSocket(url, { token: "ada" });
    const text = "x".repeat(60_000);
    for (let index = 1; index <= 250; index += 1) await publish("big", [ADA], `${String(index)} ${text}`);
    await quick.until(({ events }) => events().length === 250);
    expect(slow.events().length).toBeLessThan(250);
    slow.socket.resume();
    await slow.until(({ events }) => events().length === 250);
    await publish("after", [ADA]);
    await slow.until(({ events }) => events().length === 251);
    expect(slow.events().map(({ id }) => id)).toEqual(Array.from({ length: 251 }, (_, index) => index + 1));
  });
});
