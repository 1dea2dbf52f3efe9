// Hints of new blocks over WebSockets: from a real node (anvil), from an independent server (npm ws), and from one that
// breaks RFC 6455.
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocketServer, type WebSocket } from "ws";
import { HeadFeed } from "../../../src/chain/rpc/head-feed.js";
import { openWebSocket } from "../../../src/chain/rpc/web-socket.js";
import { systemClock } from "../../../src/platform/clock.js";
import { AllowList } from "../../../src/platform/net/address-rules.js";
import { createEgressGuard } from "../../../src/platform/net/egress-guard.js";
import { startAnvil } from "../../support/anvil.js";

const guard = createEgressGuard({ allow: new AllowList(["127.0.0.1"]), ports: [443] });
const after: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of after.splice(0).reverse()) await undo();
});

/** Counts hints; `next` waits for the next one that was not waited for before. */
function hear(
  url: string,
  options: { readonly pauseMs?: number; readonly pingMs?: number } = {},
): { feed: HeadFeed; next: () => Promise<void>; count: () => number } {
  let [heard, taken] = [0, 0];
  let wake = (): void => undefined;
  const feed = new HeadFeed(
    { url, ...options },
    {
      egress: guard,
      clock: systemClock,
      onHint: () => {
        heard += 1;
        wake();
      },
    },
  );
  after.push(() => {
    feed.close();
  });
  const next = async (): Promise<void> => {
    while (heard <= taken)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    taken += 1;
  };
  return { feed, next, count: () => heard };
}

interface Node {
  readonly url: string;
  readonly server: WebSocketServer;
  /** The next connection and its first message. */
  readonly accepted: () => Promise<{ readonly socket: WebSocket; readonly said: unknown }>;
}

/** A node that gives this answer to the subscription. */
async function node(answer: object = { jsonrpc: "2.0", id: 1, result: "0x1" }): Promise<Node> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: true });
  after.push(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  await once(server, "listening");
  const waiting: { readonly socket: WebSocket; readonly said: unknown }[] = [];
  let wake = (): void => undefined;
  server.on("connection", (socket) => {
    socket.once("message", (text: Buffer) => {
      socket.send(JSON.stringify(answer));
      waiting.push({ socket, said: JSON.parse(text.toString()) });
      wake();
    });
  });
  const accepted: Node["accepted"] = async () => {
    for (;;) {
      const first = waiting.shift();
      if (first !== undefined) return first;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { url: `ws://127.0.0.1:${String((server.address() as AddressInfo).port)}/ws?key=k`, server, accepted };
}
const head = (number: number): string =>
  JSON.stringify({
    jsonrpc: "2.0",
    method: "eth_subscription",
    params: { subscription: "0x1", result: { number: `0x${number.toString(16)}` } },
  });

/** A server that speaks the handshake and then sends bytes of the test's choice; `sockets` are those that have both. */
async function raw(
  bytes: Uint8Array,
  accept: (key: string) => string = (key) =>
    createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64"),
  extra = "",
): Promise<{ url: string; sockets: Socket[] }> {
  const sockets: Socket[] = [];
  const opened: Socket[] = [];
  const server: Server = createServer((socket) => {
    opened.push(socket);
    socket.on("error", () => undefined);
    socket.once("data", (request: Buffer) => {
      const key = /Sec-WebSocket-Key: (.+)\r\n/.exec(request.toString())?.[1] ?? "";
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n${extra}Sec-WebSocket-Accept: ${accept(key)}\r\n\r\n`,
      );
      socket.write(bytes);
      sockets.push(socket);
    });
  });
  after.push(() => {
    for (const socket of opened) socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return { url: `ws://127.0.0.1:${String((server.address() as AddressInfo).port)}/`, sockets };
}

/** Returns what a connection receives until it is over. */
async function talk(url: string): Promise<string[]> {
  const texts: string[] = [];
  await new Promise<void>((resolve, reject) => {
    openWebSocket(
      url,
      {
        onText: (text) => {
          texts.push(text);
        },
        onClosed: resolve,
      },
      { egress: guard, clock: systemClock },
    ).catch(reject);
  });
  return texts;
}
const bytes = (...parts: (number | string | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "number" ? Buffer.from([part]) : Buffer.from(part as string))));
const CLOSE = bytes(0x88, 0);

describe("a feed", () => {
  it("hears of each block of a real node", async () => {
    const anvil = await startAnvil();
    after.push(async () => {
      await anvil.stop("SIGKILL");
    });
    const { next, count } = hear(anvil.url.replace("http", "ws"));
    // The subscription's own answer.
    await next();
    await anvil.request("evm_mine");
    await next();
    expect(count()).toBe(2);
  });

  it("subscribes to new heads, hints at once and then in steps, and not at all once it is closed", async () => {
    const { url, accepted } = await node();
    const { feed, next, count } = hear(url);
    const { socket, said } = await accepted();
    expect(said).toEqual({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] });
    await next();
    for (let number = 0; number < 1000; number += 1) socket.send(head(number));
    socket.ping("there?");
    const [data] = (await once(socket, "pong")) as [Buffer];
    expect(data.toString()).toBe("there?");
    await next();
    const hints = count();
    // One each tenth of a second, however long a busy machine takes for them.
    expect(hints).toBeLessThan(100);
    feed.close();
    socket.send(head(1000));
    await once(socket, "close");
    expect(count()).toBe(hints);
  });

  it("opens a new connection when one is lost, or is silent for too long", async () => {
    const { url, accepted } = await node();
    const { next } = hear(url, { pauseMs: 1, pingMs: 40 });
    (await accepted()).socket.terminate();
    const { socket } = await accepted();
    // The node reads no pings any more and does not answer them.
    socket.pause();
    await accepted();
    await next();
  });

  it("leaves a node alone that knows no subscriptions", async () => {
    const { url, accepted, server } = await node({
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32_601, message: "the method does not exist" },
    });
    const { count } = hear(url, { pauseMs: 1 });
    const { socket } = await accepted();
    await once(socket, "close");
    expect([count(), server.clients.size]).toEqual([0, 0]);
  });

  it("ends with a node that floods it", async () => {
    const { url, accepted } = await node();
    hear(url);
    const { socket } = await accepted();
    const long = "x".repeat(60 * 1024);
    const closed = once(socket, "close");
    for (let sent = 0; sent < 100; sent += 1) socket.send(long);
    await closed;
  });
});

describe("a connection", () => {
  it("joins pieces, also those that come one byte at a time, and takes lengths of all forms", async () => {
    const [short, middle] = ["é".repeat(30), "b".repeat(300)];
    const frames = bytes(
      0x01,
      3,
      "one",
      0x89,
      2,
      "hi",
      0x80,
      3,
      "two",
      0x81,
      60,
      short,
      0x81,
      126,
      1,
      44,
      middle,
      0x81,
      127,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      1,
      "z",
      0x81,
      0,
      CLOSE,
    );
    expect(await talk((await raw(frames)).url)).toEqual(["onetwo", short, middle, "z", ""]);
    const slow = await raw(Buffer.alloc(0));
    const talking = talk(slow.url);
    await expect.poll(() => slow.sockets.length).toBe(1);
    for (const byte of frames)
      await new Promise((resolve) => {
        slow.sockets[0]?.setNoDelay(true).write(Buffer.from([byte]), resolve);
      });
    expect(await talking).toEqual(["onetwo", short, middle, "z", ""]);
  });

  it.each([
    ["a masked frame", bytes(0x81, 0x81, 0, 0, 0, 0, "a")],
    ["a reserved bit", bytes(0xc1, 1, "a")],
    ["an unknown opcode", bytes(0x83, 1, "a")],
    ["a binary message", bytes(0x82, 1, "a")],
    ["a ping in pieces", bytes(0x09, 1, "a")],
    ["a long ping", bytes(0x89, 126, 0, 126, "a".repeat(126))],
    ["a continuation of nothing", bytes(0x80, 1, "a")],
    ["a message within a message", bytes(0x01, 1, "a", 0x81, 1, "b")],
    ["a message that is too long", bytes(0x81, 127, 0, 0, 0, 0, 0, 1, 0, 1)],
    ["a message of any length", bytes(0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255)],
    [
      "pieces that are too long together",
      bytes(...Array.from({ length: 20 }, (_, at) => bytes(at === 0 ? 0x01 : 0x00, 126, 0x20, 0x00, "a".repeat(8192)))),
    ],
  ])("ends at %s, and hears nothing of it", async (_what, frames) => {
    expect(await talk((await raw(Buffer.concat([bytes(0x81, 2, "ok"), frames, bytes(0x81, 4, "late")]))).url)).toEqual([
      "ok",
    ]);
  });

  it.each([
    ["another key's answer", (key: string) => Buffer.from(key).toString("hex"), ""],
    ["an extension that was not offered", undefined, "Sec-WebSocket-Extensions: permessage-deflate\r\n"],
    ["a subprotocol that was not offered", undefined, "Sec-WebSocket-Protocol: x\r\n"],
    ["a head without end", undefined, `X-Long: ${"a".repeat(20_000)}`],
  ])("is not opened to a server with %s", async (_what, accept, extra) => {
    await expect(talk((await raw(CLOSE, accept, extra)).url)).rejects.toMatchObject({ code: "network_answer_invalid" });
  });

  it("is not opened to one that hangs up", async () => {
    const server = createServer((socket) => {
      socket.destroy();
    });
    after.push(() => {
      server.close();
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    await expect(talk(`ws://127.0.0.1:${String((server.address() as AddressInfo).port)}`)).rejects.toMatchObject({
      code: "egress_unreachable",
    });
  });

  it.each([
    "ws://127.0.0.1/",
    "ws://localhost:8545/",
    "wss://127.0.0.1/",
    "wss://[::1]/",
    "wss://169.254.169.254/",
    "wss://10.0.0.1:443/x",
    "ws://93.184.216.34/",
    "ws://93.184.216.34:443/",
    "wss://93.184.216.34:8545/",
    "wss://user:secret@93.184.216.34/",
    "http://93.184.216.34/",
    "https://93.184.216.34/",
    "file:///etc/passwd",
    "ws:",
    "",
  ])("goes nowhere that the egress guard keeps: %s", async (url) => {
    const strict = createEgressGuard({ allow: new AllowList([]), ports: [443] });
    const opening = openWebSocket(
      url,
      { onText: () => undefined, onClosed: () => undefined },
      { egress: strict, clock: systemClock },
    );
    await expect(opening).rejects.toMatchObject({ code: "egress_refused" });
  });
});
