/** After an answer that closes its connection nothing else of that connection is served (RFC 9112 section 9.6). */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { rawExchange, requestText, startFront, THING_ID, until, type Front } from "./support.js";

const FILE_BYTES = 300_000;

let front: Front;
let folder: string;
beforeAll(async () => {
  front = await startFront();
  folder = newFolder("last-answer");
  const path = join(folder, "file");
  const bytes = Buffer.alloc(FILE_BYTES, 7);
  writeFileSync(path, bytes);
  front.file = { path, bytes: FILE_BYTES, sha256: createHash("sha256").update(bytes).digest("hex") };
});
afterAll(async () => {
  await front.server.stop({ graceMs: 1000 });
  removeFolder(folder);
});

const JSON_BODY = "Content-Type: application/json";
const BEHIND = requestText("GET /api/v1/things", ["X-Request-Id: behind"], "", true);
const open = (line: string, headers: readonly string[] = [], body = ""): string =>
  requestText(line, headers, body, true);
const sized = (body: string): readonly string[] => [JSON_BODY, `Content-Length: ${String(body.length)}`];
/** Final ones; the library answers `Expect` with 100 first. */
const statuses = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map((match) => match[1] ?? "");

/** Each with the status that it gets, and the length of the body. */
const LAST: [name: string, request: string, status: number, bytes?: number][] = [
  ["a bad path", open("GET /api/v1/users/%00"), 400],
  ["bad JSON", open("POST /api/v1/echo", sized("{"), "{"), 400],
  ["a body that is too long", open("POST /api/v1/echo", sized("x".repeat(1001)), "x".repeat(1001)), 413],
  [
    "a chunked body",
    open("POST /api/v1/echo", [JSON_BODY, "Transfer-Encoding: chunked"], "1\r\n1\r\n0\r\n\r\n"),
    200,
    1,
  ],
  ["the client's close", requestText("GET /api/v1/things"), 200],
  ["close among other options", open("GET /api/v1/things", ["Connection: keep-alive, Close"]), 200],
  ["close on HEAD", requestText("HEAD /api/v1/things"), 200, 0],
  ["close on an answer without a body", requestText(`DELETE /api/v1/things/${THING_ID}`), 204, 0],
  ["close on a preflight", requestText("OPTIONS /api/v1/things"), 204, 0],
  ["close on an unknown path", requestText("GET /nothing"), 404],
  ["close on a request without a token", "GET /api/v1/things HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 401],
  ["close on a long answer", requestText("GET /api/v1/big?length=1000000"), 200, 1_000_002],
  ["close on a file", requestText("GET /api/v1/file"), 200, FILE_BYTES],
  ["close on HEAD of a file", requestText("HEAD /api/v1/file"), 200, 0],
  ["close on no byte of a file", requestText("GET /api/v1/file", ["Range: bytes=999999-"]), 416, 0],
  ["close on one byte of a file", requestText("GET /api/v1/file", ["Range: bytes=0-0"]), 206, 1],
  [
    "close on a body that is expected",
    requestText("POST /api/v1/echo", ["Expect: 100-continue", ...sized("1")], "1"),
    200,
  ],
];

const rows = LAST.map(([name, request, status, bytes]) => ({ name, request, status, bytes }));

describe("the last answer of a connection", () => {
  it.each(rows)("is whole and closes: $name", async ({ request, status, bytes }) => {
    const before = front.ended.length;
    const text = (await rawExchange(front.port, request)).replace("HTTP/1.1 100 Continue\r\n\r\n", "");
    expect(statuses(text)).toEqual([String(status)]);
    const end = text.indexOf("\r\n\r\n") + 4;
    const head = text.slice(0, end);
    expect(head.match(/\r\nConnection: close\r\n/g)).toHaveLength(1);
    expect(head).toMatch(/\r\nDate: /);
    const length = /\r\nContent-Length: (\d+)\r\n/.exec(head)?.[1];
    if (status === 204) expect(length).toBeUndefined();
    else expect(length).toBeDefined();
    if (bytes !== 0) expect(text.length - end).toBe(Number(length));
    if (bytes !== undefined) expect(text.length - end).toBe(bytes);
    expect(front.ended.slice(before).map((entry) => entry.status)).toEqual([status]);
  });

  it.each(rows)("has nothing served behind it: $name", async ({ request }) => {
    const bytes = Buffer.from(request + BEHIND.repeat(3), "latin1");
    const packets = [[bytes], [request, BEHIND, BEHIND], [bytes.subarray(0, 20), bytes.subarray(20)]];
    for (const pieces of packets) {
      const before = front.ended.length;
      const text = await rawExchange(front.port, ...pieces);
      expect(text).not.toContain("X-Request-Id: behind");
      expect(statuses(text).length).toBeLessThanOrEqual(1);
      expect(front.ended.length).toBeLessThanOrEqual(before + 1);
    }
  });

  it.each(rows)("comes after the answers before it: $name", async ({ request, status }) => {
    const first = open("GET /api/v1/things");
    expect(statuses(await rawExchange(front.port, first + first + request))).toEqual(["200", "200", String(status)]);
  });

  it("has nothing served behind it while its reader is slow", async () => {
    const text = await new Promise<string>((resolve) => {
      let received = "";
      const socket = net.connect(front.port, "127.0.0.1", () => {
        socket.write(requestText("GET /api/v1/big?length=8000000"));
      });
      socket.once("readable", () => {
        // The answer does not fit into the socket's buffers: it is still on its way when this arrives.
        socket.write(BEHIND.repeat(2));
        socket.on("data", (chunk: Buffer) => {
          received += chunk.toString("latin1");
        });
      });
      socket.on("error", () => undefined);
      socket.on("close", () => {
        resolve(received);
      });
    });
    expect(statuses(text)).toEqual(["200"]);
    expect(text).not.toContain("X-Request-Id: behind");
  });

  it("is not interrupted by a client that is slow to read it", async () => {
    const text = await new Promise<string>((resolve) => {
      let received = "";
      const socket = net.connect(front.port, "127.0.0.1", () => {
        socket.write(requestText("GET /api/v1/big?length=8000000"));
      });
      socket.once("readable", () => {
        setImmediate(() => {
          socket.on("data", (chunk: Buffer) => {
            received += chunk.toString("latin1");
          });
        });
      });
      socket.on("close", () => {
        resolve(received);
      });
    });
    expect(text.length - text.indexOf("\r\n\r\n") - 4).toBe(8_000_002);
  });

  it("is that of a refused request whose body does not come", async () => {
    const refused = await rawExchange(
      front.port,
      "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12",
    );
    expect(refused).toMatch(/^HTTP\/1\.1 401 [^]*\r\nConnection: close\r\n/);
  });

  it.each([
    ["POST /none", 404],
    ["PUT /api/v1/things", 405],
    ["OPTIONS /api/v1/things", 204],
  ])("is that of %s whose body does not come", async (line, status) => {
    const text = await rawExchange(front.port, open(line, ["Content-Length: 1000000"]));
    expect(statuses(text)).toEqual([String(status)]);
    expect(text).toMatch(/\r\nConnection: close\r\n/);
  });

  it("is that of a request too many whose body does not come", async () => {
    const small = await startFront({ limits: { rateLimits: true, requestsPerAddressMax: 0 } });
    try {
      const text = await rawExchange(small.port, open("POST /api/v1/echo", ["Content-Length: 1000000"]));
      expect(text).toMatch(/^HTTP\/1\.1 429 [^]*\r\nConnection: close\r\n/);
    } finally {
      await small.server.stop({ graceMs: 1000 });
    }
  });

  it("is not that of a request without a route whose body has come", async () => {
    const bodied = (line: string): string => open(line, ["Content-Length: 5"], "12345");
    const requests = bodied("POST /none") + bodied("PUT /api/v1/things") + bodied("OPTIONS /api/v1/things");
    const text = await rawExchange(front.port, requests + requestText("GET /api/v1/things"));
    expect(statuses(text)).toEqual(["404", "405", "204", "200"]);
  });

  it("is not that of a refused request whose body has come", async () => {
    const refused = "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n";
    const before = front.ended.length;
    const socket = net.connect(front.port, "127.0.0.1");
    let received = "";
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
    const closed = new Promise((resolve) => {
      socket.on("close", resolve);
    });
    socket.write(`${refused}12345`);
    await until(() => front.ended.length === before + 1);
    socket.write(refused);
    socket.write("12345");
    await until(() => front.ended.length === before + 2);
    socket.write(requestText("GET /api/v1/things"));
    await closed;
    expect(statuses(received)).toEqual(["401", "401", "200"]);
  });

  it("is 408 where a body stops coming", async () => {
    const hasty = await startFront({ limits: { bodyWindowMs: 200, bodyWindowBytes: 1000 } });
    try {
      const head = requestText("POST /api/v1/raw", [JSON_BODY, "Content-Length: 5000"], "x".repeat(1500), true);
      const chunked = requestText(
        "POST /api/v1/raw",
        [JSON_BODY, "Transfer-Encoding: chunked"],
        "5;a=b\r\nhello",
        true,
      );
      for (const request of [head, chunked]) {
        const text = await rawExchange(hasty.port, request);
        expect(text).toMatch(/^HTTP\/1\.1 408 [^]*\r\nConnection: close\r\n[^]*"request_timeout"/);
      }
    } finally {
      await hasty.server.stop({ graceMs: 1000 });
    }
  });
});
