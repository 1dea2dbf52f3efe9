/** Seeded malformed requests over raw sockets: no 5xx, no hang, no exit, and every failure in the common form. */
import { Buffer } from "node:buffer";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededRandom, type SeededRandom } from "../../support/seeded.js";
import { BEARER, THING_ID, rawExchangeAndEnd, startFront, type Front } from "./support.js";

const REQUESTS = 3000;
const IN_PARALLEL = 20;

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(async () => {
  await front.server.stop({ graceMs: 1000 });
});

const METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "post", "X"];
const PATHS = [
  "/api/v1/things",
  `/api/v1/things/${THING_ID}`,
  "/api/v1/things/x",
  "/api/v1/echo",
  "/api/v1/raw",
  "/api/v1/open",
  "/api/v1/empty",
  "/api/v1/big",
  "/",
  "//",
  "/api/v1/../things",
  "/%00",
  "/%",
  "/a%2Fb",
  "/\u00e4",
  `/${"a/".repeat(40)}`,
  `/${"a".repeat(3000)}`,
  "*",
  "http://x/api/v1/things",
];
const QUERIES = [
  "",
  "?",
  "?page=-1",
  "?page=99999999999999999999",
  "?rpp=1e3",
  "?a=%",
  "?a=%00",
  "?name=" + "x".repeat(2000),
  "?__proto__=1",
  "?length=-5",
  "?=&=&",
  "?name[]=1",
  "?name=a&name=b",
];
const HEADERS = [
  "Content-Type: application/json",
  "Content-Type: text/plain",
  "Content-Type: application/json; charset=utf-16",
  "Content-Type:",
  "Content-Encoding: gzip",
  "Accept: application/problem+json",
  "Authorization: bearer user-read+create",
  "Authorization: bearer x",
  "Authorization:",
  "X-Request-Id: \u00ff\u00fe",
  "X-Request-Id: ok-1",
  "Idempotency-Key: " + "k".repeat(300),
  "Prefer: wait=999999999",
  "Prefer: wait=-1",
  "Range: bytes=0-1,5-9",
  "If-None-Match: *",
  "Expect: 100-continue",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: gzip",
  "Content-Length: 5",
  "Content-Length: -5",
  "Content-Length: 5, 5",
  "Connection: upgrade",
  "Upgrade: websocket",
  "Cookie: a=b",
  "X: \t ",
  ": novalue",
  "Host: y",
];
const BODIES = [
  "",
  "{",
  "{}",
  '{"name":"a"}',
  '{"name":{}}',
  '{"name":1e400}',
  '{"name":"\\ud800"}',
  '{"__proto__":{"a":1}}',
  '{"a":1,"a":2}',
  "[".repeat(100_000),
  `{"n":${"9".repeat(500)}}`,
  '"\u0000"',
  "\ufeff{}",
  "null",
  "[]",
  '{"n":1.5}',
  "0\r\n\r\n",
  "5\r\nhello\r\n0\r\n\r\n",
  "zz\r\n",
  "x".repeat(3000),
];

function requestBytes(random: SeededRandom): Buffer {
  const headers = Array.from({ length: random.below(5) }, () => random.pick(HEADERS));
  if (random.chance(0.8)) headers.push("Authorization: bearer user-read+create");
  const body = random.pick(BODIES);
  if (random.chance(0.7))
    headers.push(
      `Content-Length: ${String(Buffer.byteLength(body) + (random.chance(0.05) ? random.below(20) - 10 : 0))}`,
    );
  if (random.chance(0.6)) headers.push("Content-Type: application/json");
  const text = [
    `${random.pick(METHODS)} ${random.pick(PATHS)}${random.pick(QUERIES)} HTTP/1.1`,
    "Host: x",
    ...headers,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
  const bytes = Buffer.from(text, random.chance(0.5) ? "latin1" : "utf8");
  if (random.chance(0.1)) return bytes.subarray(0, random.below(bytes.length));
  for (let flips = random.chance(0.2) ? random.below(4) : 0; flips > 0; flips -= 1)
    bytes[random.below(bytes.length)] = random.below(256);
  return bytes;
}

/** Answers of the library's own parser have no JSON body; all others have one, unless their status forbids it. */
function checkAnswer(text: string, seed: number, request: Buffer): void {
  const context = `seed ${String(seed)}: ${JSON.stringify(request.toString("latin1").slice(0, 300))}`;
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
  if (status === 0 || text.includes("<h1>")) return;
  expect([500, 502, 503], context).not.toContain(status);
  const separator = text.indexOf("\r\n\r\n");
  const length = Number(/\r\nContent-Length: (\d+)/.exec(text.slice(0, separator + 2))?.[1] ?? 0);
  if (status < 400 || length === 0 || request.subarray(0, 4).toString() === "HEAD") return;
  const body = JSON.parse(Buffer.from(text, "latin1").toString("utf8", separator + 4, separator + 4 + length)) as {
    message: unknown;
    errors: { message: unknown; code: unknown }[];
  };
  expect(typeof body.message, context).toBe("string");
  expect(body.errors.length, context).toBeGreaterThan(0);
  for (const entry of body.errors)
    expect([typeof entry.message, typeof entry.code], context).toEqual(["string", "string"]);
}

describe("malformed requests", () => {
  it(`get an answer or a closed connection, ${String(REQUESTS)} times`, async () => {
    const random = seededRandom();
    console.log(`malformed requests: PROOFWRIGHT_TEST_SEED=${String(random.seed)}`);
    const one = async (): Promise<void> => {
      const request = requestBytes(random);
      const text = await rawExchangeAndEnd(front.port, request);
      checkAnswer(text, random.seed, request);
    };
    for (let done = 0; done < REQUESTS; done += IN_PARALLEL)
      await Promise.all(Array.from({ length: IN_PARALLEL }, one));
    // Enough of them reached the server's own answers for the checks to mean something.
    expect(front.ended.filter(({ status }) => status > 0).length).toBeGreaterThan(REQUESTS / 4);
    expect(new Set(front.ended.map(({ status }) => status)).size).toBeGreaterThan(7);
    expect(front.logged.filter(({ level }) => level === "error")).toEqual([]);
    expect((await fetch(`${front.url}/api/v1/things`, { headers: BEARER })).status).toBe(200);
  });
});
