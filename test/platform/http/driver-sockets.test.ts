/** WebSockets of both HTTP drivers behind their interface: what is sent, dropped, published and refused. */
import net from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import WebSocket from "ws";
import type {
  HttpApp,
  HttpDriver,
  RawSocket,
  SocketOptions,
  SocketSession,
} from "../../../src/platform/http/drivers/driver.js";
import { nodeDriver } from "../../../src/platform/http/drivers/node.js";
import { answerPath, closeApps, DRIVERS, startApp } from "./driver-support.js";
import { rawExchange, until } from "./support.js";

const BACKLOG = 64 * 1024;
const OPTIONS: SocketOptions = { paths: ["/ws"], messageBytesMax: 1000, backlogBytesMax: BACKLOG, idleSec: 60 };
const KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";

/** Writes down what happens to one WebSocket. */
class Session implements SocketSession {
  readonly log: string[] = [];
  socket: RawSocket | undefined;

  opened(socket: RawSocket): void {
    this.socket = socket;
  }

  message(text: string | undefined): void {
    this.log.push(`message ${text ?? "binary"}`);
  }

  drained(): void {
    this.log.push("drained");
  }

  dropped(message: string): void {
    this.log.push(`dropped ${message.slice(0, 4)}`);
  }

  closed(): void {
    this.log.push("closed");
  }
}

interface Started {
  readonly app: HttpApp;
  readonly port: number;
  readonly sessions: Session[];
}

/** An app that accepts every WebSocket with the first subprotocol that is offered. */
async function startSockets(driver: HttpDriver, options: Partial<SocketOptions> = {}): Promise<Started> {
  const sessions: Session[] = [];
  const { app, port } = await startApp(
    driver,
    (response, request, upgrade) => {
      if (upgrade === undefined) {
        answerPath(response, request);
        return;
      }
      const session = new Session();
      sessions.push(session);
      response.onAborted(() => undefined);
      upgrade.accept(session, upgrade.protocols.split(",")[0] ?? "");
    },
    { sockets: { ...OPTIONS, ...options } },
  );
  return { app, port, sessions };
}

async function connect({ port }: Started, ...protocols: string[]): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${String(port)}/ws?x=1`, protocols);
  await new Promise((resolve, reject) => {
    socket.once("open", resolve).once("error", reject);
  });
  return socket;
}

const nextMessage = async (socket: WebSocket): Promise<string> =>
  await new Promise((resolve) => {
    socket.once("message", (data: Buffer) => {
      resolve(data.toString());
    });
  });
const closing = async (socket: WebSocket): Promise<string> =>
  await new Promise((resolve) => {
    socket.on("error", () => undefined);
    socket.once("close", (code, reason) => {
      resolve(`${String(code)} ${reason.toString()}`.trim());
    });
  });

afterEach(closeApps);

describe.each(DRIVERS)("WebSockets of $name", (driver) => {
  it("carry texts both ways and tell binary messages", async () => {
    const started = await startSockets(driver);
    const socket = await connect(started, "one.v1", "two.v1");
    expect(socket.protocol).toBe("one.v1");
    socket.send("grüß");
    socket.send(Buffer.from([1]), { binary: true });
    const [session] = started.sessions;
    await until(() => session?.log.length === 2);
    expect(session?.log).toEqual(["message grüß", "message binary"]);
    expect(session?.socket?.send("hello")).toBe(1);
    expect(await nextMessage(socket)).toBe("hello");
    socket.terminate();
    await until(() => session?.log.at(-1) === "closed");
  });

  it("take a list of subprotocols that no client should send", async () => {
    const { port, sessions } = await startSockets(driver);
    const head = ["GET /ws HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade", KEY];
    const socket = net.connect(port, "127.0.0.1");
    socket.write([...head, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: a,,b", "", ""].join("\r\n"));
    const text = String(await new Promise((resolve) => socket.once("data", resolve)));
    // RFC 6455 section 1.3.
    expect(text).toMatch(/^HTTP\/1\.1 101 [^]*\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/i);
    expect(text).toMatch(/\r\nSec-WebSocket-Protocol: a\r\n/i);
    expect(sessions).toHaveLength(1);
    socket.destroy();
  });

  it("publish to those that joined, until they leave", async () => {
    const started = await startSockets(driver);
    const [first, second] = [await connect(started), await connect(started)];
    const [one, two] = started.sessions;
    one?.socket?.subscribe("t");
    two?.socket?.subscribe("t");
    two?.socket?.unsubscribe("t");
    const came: string[] = [];
    first.on("message", (data: Buffer) => came.push(`first ${data.toString()}`));
    second.on("message", (data: Buffer) => came.push(`second ${data.toString()}`));
    started.app.publish("t", "1");
    started.app.publish("other", "2");
    two?.socket?.send("3");
    await until(() => came.length === 2);
    expect(came.sort()).toEqual(["first 1", "second 3"]);
  });

  it("drop what a slow reader has no room for, and tell when it has taken the rest", async () => {
    const started = await startSockets(driver);
    const socket = await connect(started);
    const [session] = started.sessions;
    socket.pause();
    const results: (number | undefined)[] = [];
    while (results.at(-1) !== 2 && results.length < 1000) results.push(session?.socket?.send("x".repeat(BACKLOG)));
    expect(results[0]).toBe(1);
    expect(results).toContain(0);
    expect(results.at(-1)).toBe(2);
    session?.socket?.subscribe("t");
    started.app.publish("t", "news");
    await until(() => session?.log.includes("dropped news") === true);
    expect(session?.log).not.toContain("drained");
    let bytes = 0;
    socket.on("message", (data: Buffer) => {
      bytes += data.length;
    });
    socket.resume();
    await until(() => session?.log.includes("drained") === true);
    expect(session?.socket?.getBufferedAmount()).toBe(0);
    await until(() => bytes === (results.length - 1) * BACKLOG);
  });

  it("close with a code and a reason, and tell it before the call returns", async () => {
    const started = await startSockets(driver);
    const socket = await connect(started);
    const [session] = started.sessions;
    const closed = closing(socket);
    session?.socket?.end(4401, "token_expired");
    expect(session?.log).toEqual(["closed"]);
    expect(await closed).toBe("4401 token_expired");
    expect(session?.log).toEqual(["closed"]);
  });

  it("close on a message that is too long and on text that is not UTF-8", async () => {
    const started = await startSockets(driver);
    for (const message of ["x".repeat(1001), Buffer.from([0xff])]) {
      const socket = await connect(started);
      const closed = closing(socket);
      socket.send(message, { binary: false });
      expect(await closed).toMatch(/^(1006|1007|1009)$/);
      expect(started.sessions.at(-1)?.log).toEqual(["closed"]);
    }
  });

  it("end with their app", async () => {
    const started = await startSockets(driver);
    const closed = closing(await connect(started));
    started.app.close();
    expect(await closed).toBe("1006");
    expect(started.sessions[0]?.log).toEqual(["closed"]);
  });

  it("are offered on their paths only, and only with a key", async () => {
    const { port, sessions } = await startSockets(driver);
    for (const [path, key] of [
      ["/other", KEY],
      ["/ws", "Sec-WebSocket-Key: short"],
    ]) {
      const head = [`GET ${path ?? ""} HTTP/1.1`, "Host: x", "Upgrade: websocket", "Connection: Upgrade", key];
      const socket = net.connect(port, "127.0.0.1");
      socket.write([...head, "", ""].join("\r\n"));
      expect(String(await new Promise((resolve) => socket.once("data", resolve)))).toMatch(/^HTTP\/1\.1 200 /);
      socket.destroy();
    }
    expect(sessions).toEqual([]);
  });
});

describe("WebSockets of node", () => {
  it("close on a frame that is not masked", async () => {
    const { port, sessions } = await startSockets(nodeDriver);
    const head = ["GET /ws HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade", KEY];
    const socket = net.connect(port, "127.0.0.1");
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write([...head, "Sec-WebSocket-Version: 13", "", ""].join("\r\n"));
    await new Promise((resolve) => socket.once("data", resolve));
    let received = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
    });
    socket.write(Buffer.from([0x81, 0x02, 0x68, 0x69]));
    await closed;
    // A close frame with 1002.
    expect([...received.subarray(0, 4)]).toEqual([0x88, 0x02, 0x03, 0xea]);
    await until(() => sessions[0]?.log.join("") === "closed");
  });

  it("are disconnected where nothing comes from the other side, not even an answer to a ping", async () => {
    const { port, sessions } = await startSockets(nodeDriver, { idleSec: 1 });
    const head = ["GET /ws HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade", KEY];
    const silent = rawExchange(port, [...head, "Sec-WebSocket-Version: 13", "", ""].join("\r\n"));
    // A ping came before the end.
    expect(await silent).toMatch(/\r\n\r\n\x89\x00/);
    expect(sessions[0]?.log).toEqual(["closed"]);
  });
});
