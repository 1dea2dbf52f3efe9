/** Graceful stop: what was admitted is answered, what takes too long gets 503, nothing new is accepted. */
import net from "node:net";
import { describe, expect, it } from "vitest";
import { BEARER, errorOf, rawExchange, requestText, startFront, until } from "./support.js";

/** A port chosen beforehand: Linux does not let one be bound again at once that it chose itself for port 0. */
async function freePort(): Promise<number> {
  const probe = net.createServer();
  return await new Promise((resolve) => {
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as net.AddressInfo;
      probe.close(() => {
        resolve(port);
      });
    });
  });
}

describe("leaving", () => {
  it("serves on, also on new connections, and ends each after its answer", async () => {
    const front = await startFront();
    const before = await fetch(`${front.url}/api/v1/things`, { headers: BEARER });
    expect(before.headers.get("connection")).not.toBe("close");
    front.server.leave();
    for (let n = 0; n < 3; n += 1) {
      const response = await fetch(`${front.url}/api/v1/things`, { headers: BEARER });
      expect([response.status, response.headers.get("connection")]).toEqual([200, "close"]);
    }
    await front.server.stop({ graceMs: 0 });
    await expect(fetch(`${front.url}/api/v1/things`, { headers: BEARER })).rejects.toThrow();
  });
});

describe("stopping", () => {
  it("waits for an admitted request, answers it and closes its connection", async () => {
    const front = await startFront();
    const answered = fetch(`${front.url}/api/v1/slow`, { method: "POST", headers: BEARER });
    const signal = await front.entered();
    const stopped = front.server.stop({ graceMs: 10_000 });
    front.openGate();
    const response = await answered;
    expect(response.status).toBe(200);
    expect(response.headers.get("connection")).toBe("close");
    await stopped;
    expect(signal.aborted).toBe(false);
    await expect(fetch(`${front.url}/api/v1/things`, { headers: BEARER })).rejects.toThrow();
  });

  it("answers 503 to what outlasts the grace, and aborts it", async () => {
    const front = await startFront();
    const answered = fetch(`${front.url}/api/v1/slow`, { method: "POST", headers: BEARER });
    const signal = await front.entered();
    await front.server.stop({ graceMs: 50 });
    expect(signal.aborted).toBe(true);
    const response = await answered;
    expect(response.status).toBe(503);
    expect((await errorOf(response)).errors[0]?.code).toBe("shutting_down");
    expect(response.headers.get("retry-after")).toBe("2");
    front.openGate();
  });

  it("refuses new requests on old connections while it drains", async () => {
    const front = await startFront();
    const slow = fetch(`${front.url}/api/v1/slow`, { method: "POST", headers: BEARER });
    await front.entered();
    let received = "";
    const socket = net.connect(front.port, "127.0.0.1", () => {
      socket.write(requestText("GET /api/v1/things", [], "", true));
    });
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", () => undefined);
    await until(() => received.includes("200 OK"));
    const stopped = front.server.stop({ graceMs: 10_000 });
    received = "";
    socket.write(requestText("GET /api/v1/things", [], "", true));
    await until(() => received.includes("\r\n\r\n"));
    expect(received).toMatch(/^HTTP\/1\.1 503 /);
    expect(received).toContain("Connection: close");
    front.openGate();
    expect((await slow).status).toBe(200);
    await stopped;
  });

  it("closes idle connections and takes its port again at once after a restart", async () => {
    const front = await startFront({ server: { port: await freePort() } });
    const idle = rawExchange(front.port, requestText("GET /api/v1/things", [], "", true));
    await until(() => front.ended.length === 1);
    await front.server.stop({ graceMs: 1000 });
    expect(await idle).toMatch(/^HTTP\/1\.1 200 /);
    const next = await startFront({ server: { port: front.port } });
    expect(next.port).toBe(front.port);
    await next.server.stop({ graceMs: 0 });
  });
});

describe("listening", () => {
  it("refuses an address that is taken instead of sharing it", async () => {
    const front = await startFront();
    await expect(startFront({ server: { port: front.port } })).rejects.toThrow(
      /cannot listen on 127\.0\.0\.1 port \d+: another program listens there/,
    );
    await front.server.stop({ graceMs: 0 });
  });

  it("serves the areas that it is given and no others", async () => {
    const front = await startFront({ server: { areas: ["vault"] } });
    const status = async (path: string): Promise<number> =>
      (await fetch(front.url + path, { method: "POST", headers: BEARER })).status;
    expect(await status("/api/v1/empty")).toBe(204);
    expect(await status("/api/v1/echo")).toBe(404);
    await front.server.stop({ graceMs: 0 });
  });
});
