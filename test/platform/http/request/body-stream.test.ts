/** Files in bodies, over real sockets: order, memory, checks before the first byte, and clients that stop or leave. */
import { createHash, randomBytes } from "node:crypto";
import net from "node:net";
import Type from "typebox";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bindRoutes, defineRoute, type HandlersFor } from "../../../../src/platform/contract/route.js";
import { closed } from "../../../../src/platform/contract/schemas.js";
import { AppError } from "../../../../src/platform/errors.js";
import type { RawResponse } from "../../../../src/platform/http/drivers/driver.js";
import { BodyBudget } from "../../../../src/platform/http/request/body.js";
import { BodyStream } from "../../../../src/platform/http/request/body-stream.js";
import { BEARER, errorOf, rawExchange, requestText, startFront, TOKEN, until, type Front } from "../support.js";

const FILE_BYTES_MAX = 32 * 1024 * 1024;
/** Less than any file here: what is held in memory must stay below it. */
const MEMORY_BYTES = 2 * 1024 * 1024;

const routes = {
  takeFile: defineRoute({
    id: "takeFile",
    area: "prover",
    method: "PUT",
    path: "/api/v1/file/:how",
    summary: "Take a file",
    auth: { permissions: ["create"] },
    params: closed({ how: Type.String() }),
    streamedBody: true,
    bodyBytesMax: FILE_BYTES_MAX,
    responses: {
      201: { description: "What came", schema: Type.Unknown() },
    },
  }),
  ping: defineRoute({
    id: "ping",
    area: "prover",
    method: "GET",
    path: "/api/v1/ping",
    summary: "Answer",
    auth: "public",
    responses: { 200: { description: "Pong", schema: Type.String() } },
  }),
} as const;

let front: Front;
let calls = 0;
let read = 0;
let failure: unknown;
let openGate = (): void => undefined;
let gate: Promise<void>;

const handlers: HandlersFor<typeof routes> = {
  ping: () => ({ status: 200, body: "pong" }),
  takeFile: async ({ params, body }) => {
    calls += 1;
    read = 0;
    failure = undefined;
    if (params.how === "ignore") return { status: 201, body: null };
    if (params.how === "gate") await gate;
    const hash = createHash("sha256");
    try {
      for await (const chunk of body.chunks) {
        if (params.how === "refuse") throw new AppError("conflict", { message: "not this one" });
        hash.update(chunk);
        read += chunk.length;
      }
    } catch (error) {
      failure = error;
      throw error;
    }
    const { bytes, part, sha256: said } = body;
    return { status: 201, body: { read, hash: hash.digest("hex"), bytes, part: part ?? null, said: said ?? null } };
  },
};

beforeAll(async () => {
  front = await startFront({
    limits: { bodiesInFlightBytesMax: MEMORY_BYTES, bodyWindowMs: 300, bodyWindowBytes: 1000 },
    routes: bindRoutes(routes, handlers),
  });
});
afterAll(async () => {
  await front.server.stop({ graceMs: 0 });
});

async function put(how: string, body: Buffer, headers: Record<string, string> = {}): Promise<Response> {
  return await fetch(`${front.url}/api/v1/file/${how}`, {
    method: "PUT",
    headers: { ...BEARER, ...headers },
    body: new Uint8Array(body),
  });
}
const sha256 = (bytes: Buffer): Buffer => createHash("sha256").update(bytes).digest();
const closedGate = (): void => {
  gate = new Promise((resolve) => {
    openGate = resolve;
  });
};
const head = (how: string, bytes: number, ...headers: string[]): string =>
  [`PUT /api/v1/file/${how} HTTP/1.1`, "Host: x", `Authorization: bearer ${TOKEN}`, `Content-Length: ${String(bytes)}`]
    .concat(headers, "", "")
    .join("\r\n");

it("hands on a file that is longer than all bodies in memory may be together", async () => {
  const file = randomBytes(24 * 1024 * 1024);
  const response = await put("read", file);
  expect(response.status).toBe(201);
  expect(await response.json()).toMatchObject({ read: file.length, hash: sha256(file).toString("hex"), part: null });
});

it("tells where a part lies, and the hash that the client says", async () => {
  const digest = sha256(Buffer.from("whole"));
  const said = {
    "Content-Range": "bytes 2-4/5",
    "Repr-Digest": `sha-512=:AA==:, sha-256=:${digest.toString("base64")}:`,
  };
  const response = await put("read", Buffer.from("ole"), said);
  expect(await response.json()).toMatchObject({ bytes: 3, part: { start: 2, total: 5 }, said: digest.toString("hex") });
});

it("holds up a client whose bytes nobody takes", async () => {
  closedGate();
  const socket = net.connect(front.port, "127.0.0.1");
  const bytes = FILE_BYTES_MAX;
  let answer = "";
  socket.on("data", (chunk: Buffer) => {
    answer += chunk.toString("latin1");
  });
  const before = calls;
  socket.write(head("gate", bytes));
  socket.write(Buffer.alloc(bytes));
  await until(() => calls > before);
  // What the kernel and the server hold together; the rest waits at the client.
  await until(() => socket.writableLength > 0);
  expect(socket.writableLength).toBeGreaterThan(0);
  openGate();
  await until(() => answer.includes("\r\n\r\n{"));
  expect(answer).toMatch(/^HTTP\/1.1 201 /);
  expect(read).toBe(bytes);
  socket.destroy();
});

it("checks the caller before it takes a byte", async () => {
  const before = calls;
  const file = Buffer.alloc(1024 * 1024);
  expect((await put("read", file, { Authorization: "bearer nobody-x" })).status).toBe(401);
  expect((await put("read", file, { Authorization: "bearer user-read" })).status).toBe(403);
  expect(calls).toBe(before);
});

it.each([
  ["Content-Range: bytes 0-3/9", 400],
  ["Content-Range: bytes 3-7/7", 400],
  ["Content-Range: bytes 0-4/*", 400],
  ["Content-Range: bytes 4-0/9", 400],
  ["Repr-Digest: sha-512=:AA==:", 400],
  ["Repr-Digest: sha-256=:AA==:", 400],
  ["Content-Encoding: gzip", 415],
  ["Content-Range: bytes 0-4/33554433", 413],
])("refuses a file with %s by %i", async (header, status) => {
  const before = calls;
  const answer = await rawExchange(front.port, `${head("read", 5, header, "Connection: close")}hello`);
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `));
  expect(calls).toBe(before);
});

it("refuses a chunked file by 411, and one that is too long by 413", async () => {
  const chunked = requestText("PUT /api/v1/file/read", ["Transfer-Encoding: chunked"], "5\r\nhello\r\n0\r\n\r\n");
  expect(await rawExchange(front.port, chunked)).toMatch(/^HTTP\/1.1 411 /);
  expect(await rawExchange(front.port, head("read", FILE_BYTES_MAX + 1), "hello")).toMatch(/^HTTP\/1.1 413 /);
});

it("serves the next request of the connection after the last byte, and not before", async () => {
  closedGate();
  const ping = "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const answers = rawExchange(front.port, `${head("gate", 10)}hello`, `world${ping}`);
  openGate();
  expect((await answers).match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 201", "HTTP/1.1 200"]);
  expect(read).toBe(10);
});

it.each(["ignore", "refuse"])("keeps the connection when a short file is left unread (%s)", async (how) => {
  const ping = "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const answers = await rawExchange(front.port, `${head(how, 200_000)}${"x".repeat(200_000)}${ping}`);
  expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual([`HTTP/1.1 ${how === "ignore" ? "201" : "409"}`, "HTTP/1.1 200"]);
});

it("ends the reading when the client leaves", async () => {
  const before = calls;
  const socket = net.connect(front.port, "127.0.0.1");
  socket.write(`${head("read", 1000)}hello`);
  await until(() => calls > before && read === 5);
  socket.destroy();
  await until(() => failure !== undefined);
  expect(failure).toMatchObject({ code: "malformed_request" });
});

it("answers a client that sends too slowly, and closes", async () => {
  const answer = await rawExchange(front.port, `${head("read", 1_000_000)}hello`);
  expect(answer).toMatch(/^HTTP\/1.1 408 /);
  expect(failure).toMatchObject({ code: "malformed_request" });
});

it("takes an empty body as a file of no bytes", async () => {
  expect(await (await put("read", Buffer.alloc(0))).json()).toMatchObject({ read: 0, bytes: 0 });
  expect((await errorOf(await put("nothing/else", Buffer.alloc(0)))).errors[0]?.code).toBe("not_found");
});

it("neither pauses nor resumes the connection of a file that came with its head", async () => {
  // uWebSockets.js closes a connection ten seconds after it was resumed, whatever its handler still does.
  const touched: string[] = [];
  let handOn = (_chunk: ArrayBuffer, _isLast: boolean): void => undefined;
  const response = {
    onData: (handler: typeof handOn) => {
      handOn = handler;
    },
    pause: () => touched.push("pause"),
    resume: () => touched.push("resume"),
  } as unknown as RawResponse;
  const pace = { bodyWindowMs: 300, bodyWindowBytes: 1000 };
  const budget = new BodyBudget(MEMORY_BYTES);
  const stream = new BodyStream({ pace, startedMs: 0 }, { budget, response });
  stream.attach();
  handOn(Uint8Array.from([1, 2, 3]).buffer, true);
  await new Promise((resolve) => setImmediate(resolve));
  const chunks: number[] = [];
  for await (const chunk of stream) chunks.push(...chunk);
  expect([chunks, touched]).toEqual([[1, 2, 3], []]);
});
