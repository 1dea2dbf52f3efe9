/** Both HTTP drivers behind their interface, over real sockets: connections and bodies. */
import http from "node:http";
import net from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { nodeDriver } from "../../../src/platform/http/drivers/node.js";
import { answerPath, closeApps, DRIVERS, startApp } from "./driver-support.js";
import { rawExchange, until } from "./support.js";

afterEach(closeApps);

const GET = (path: string, ...lines: string[]): string =>
  [`GET ${path} HTTP/1.1`, "Host: x", ...lines, "", ""].join("\r\n");
const bodiesOf = (text: string): string[] =>
  [...text.matchAll(/\r\n\r\n(\/[a-z]+|\/\d+)/g)].map(([, body]) => body ?? "");

describe.each(DRIVERS)("connections of $name", (driver) => {
  it("says why it cannot listen", async () => {
    const { port } = await startApp(driver, answerPath);
    const second = driver.createHttpApp({ connectionsMax: 1, keepAliveSec: 75 }, answerPath);
    await expect(second.listen("127.0.0.1", port)).rejects.toThrow(
      `cannot listen on 127.0.0.1 port ${String(port)}: another program listens there; stop it or choose another port`,
    );
    await expect(second.listen("192.0.2.1", 0)).rejects.toThrow(/the address is not this machine's/);
  });

  it("closes the connections beyond its limit as they open", async () => {
    const { port } = await startApp(driver, answerPath, { connectionsMax: 1 });
    const first = net.connect(port, "127.0.0.1");
    first.write(GET("/a"));
    await new Promise((resolve) => first.once("data", resolve));
    const closed = new Promise((resolve) => {
      net
        .connect(port, "127.0.0.1")
        .on("error", () => undefined)
        .on("close", resolve);
    });
    await closed;
    first.write(GET("/b", "Connection: close"));
    expect(String(await new Promise((resolve) => first.once("data", resolve)))).toMatch(/\/b$/);
    first.destroy();
  });

  it.each([
    ["127.0.0.1", [127, 0, 0, 1], "127.0.0.1"],
    ["::1", [...Array<number>(15).fill(0), 1], "0000:0000:0000:0000:0000:0000:0000:0001"],
  ])("tells the address of a client at %s", async (host, bytes, text) => {
    const seen: unknown[] = [];
    const { port } = await startApp(
      driver,
      (response, request) => {
        seen.push([...new Uint8Array(response.getRemoteAddress())]);
        seen.push(Buffer.from(response.getRemoteAddressAsText()).toString());
        answerPath(response, request);
      },
      { host },
    );
    await fetch(`http://${host.includes(":") ? `[${host}]` : host}:${String(port)}/`);
    expect(seen).toEqual([bytes, text]);
  });

  it("answers what was pipelined in its order", async () => {
    const { port } = await startApp(driver, answerPath);
    const socket = net.connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.write(GET("/a") + GET("/b") + GET("/c"));
    await until(() => bodiesOf(text).length === 3);
    expect(bodiesOf(text)).toEqual(["/a", "/b", "/c"]);
    socket.destroy();
  });

  it("holds a body back while it is paused, and loses nothing of it", async () => {
    const bytes = 3_000_000;
    let seen = 0;
    let resume = (): void => undefined;
    let isPaused = false;
    const { port } = await startApp(driver, (response) => {
      response.onAborted(() => undefined);
      response.onData(
        (chunk, isLast) => {
          seen += chunk.byteLength;
          if (!isPaused && !isLast) {
            isPaused = true;
            response.pause();
            resume = () => {
              response.resume();
            };
          }
          if (isLast)
            response.cork(() => {
              response.end(`/${String(seen)}`);
            });
        },
        () => undefined,
      );
    });
    const answered = fetch(`http://127.0.0.1:${String(port)}/`, { method: "POST", body: Buffer.alloc(bytes, 1) });
    await until(() => isPaused);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    expect(seen).toBeLessThan(bytes);
    resume();
    expect(await (await answered).text()).toBe(`/${String(bytes)}`);
  });
});

describe("connections of node", () => {
  it("are kept for as long as the setting says, and say so", async () => {
    const { port } = await startApp(nodeDriver, answerPath, { keepAliveSec: 75 });
    const agent = new http.Agent({ keepAlive: true });
    const header = await new Promise((resolve) => {
      http.get({ port, host: "127.0.0.1", agent, path: "/a" }, (response) => {
        response.resume();
        resolve(response.headers["keep-alive"]);
      });
    });
    agent.destroy();
    expect(header).toBe("timeout=75");
    const { port: brief } = await startApp(nodeDriver, answerPath, { keepAliveSec: 0.02 });
    expect(bodiesOf(await rawExchange(brief, GET("/a")))).toEqual(["/a"]);
  });

  it("answer pipelined requests in their order, however long each takes, and no more at once than one", async () => {
    let open = 0;
    let openMax = 0;
    const { port } = await startApp(nodeDriver, (response, request) => {
      const url = request.getUrl();
      open += 1;
      openMax = Math.max(openMax, open);
      response.onAborted(() => undefined);
      setImmediate(() => {
        open -= 1;
        response.end(url, url === "/last");
      });
    });
    const paths = Array.from({ length: 300 }, (_, index) => `/${String(index)}`);
    const text = await rawExchange(port, [...paths, "/last", "/behind"].map((path) => GET(path)).join(""));
    expect(bodiesOf(text)).toEqual([...paths, "/last"]);
    expect(openMax).toBe(1);
  });

  it("answer what came before bytes that are no request, and then those", async () => {
    const faults: unknown[] = [];
    const { port } = await startApp(nodeDriver, (response, request) => {
      if (request.fault !== undefined) faults.push(request.fault.status);
      const { fault } = request;
      const url = request.getUrl();
      response.onAborted(() => undefined);
      setImmediate(() => {
        response.writeStatus(fault === undefined ? "200 OK" : "400 Bad Request");
        response.end(fault === undefined ? url : "/refused");
      });
    });
    const text = await rawExchange(port, `${GET("/a")}${GET("/b")}GET /c HTTP/1.1\r\n: x\r\n\r\n${GET("/d")}`);
    expect(bodiesOf(text)).toEqual(["/a", "/b", "/refused"]);
    expect(text).toMatch(/HTTP\/1\.1 400 Bad Request\r\nConnection: close\r\n/);
    expect(faults).toEqual([400]);
  });

  it("end with a request that offers another protocol, once it has its answer", async () => {
    const seen: string[] = [];
    const { port } = await startApp(nodeDriver, (response, request) => {
      const url = request.getUrl();
      response.onAborted(() => undefined);
      response.onData(
        (chunk, isLast) => {
          seen.push(Buffer.from(chunk).toString());
          if (isLast) response.end(url);
        },
        () => undefined,
      );
    });
    const offer = `POST /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\nbody`;
    const text = await rawExchange(port, offer + GET("/b"), GET("/c"));
    expect(text).toMatch(/\r\nConnection: close\r\n/);
    expect(bodiesOf(text)).toEqual(["/a"]);
    expect(seen.join("")).toBe("body");
  });

  it("overwrite the bytes of a body once they were given", async () => {
    const kept: ArrayBuffer[] = [];
    const { port } = await startApp(nodeDriver, (response) => {
      response.onAborted(() => undefined);
      response.onData(
        (chunk, isLast) => {
          kept.push(chunk);
          if (isLast) response.end("/done");
        },
        () => undefined,
      );
    });
    await (await fetch(`http://127.0.0.1:${String(port)}/`, { method: "POST", body: "secret" })).text();
    expect(Buffer.concat(kept.map((chunk) => Buffer.from(chunk))).every((byte) => byte === 0)).toBe(true);
  });
});
