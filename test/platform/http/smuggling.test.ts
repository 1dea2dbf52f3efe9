/**
 * Requests that two parsers could read differently: no second answer, the connection ends, the server goes on.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BEARER, rawExchange, startFront, type Front } from "./support.js";

let front: Front;
beforeAll(async () => {
  front = await startFront();
});
afterAll(async () => {
  await front.server.stop({ graceMs: 1000 });
});

const AUTH = "Authorization: bearer user-read+create";
/** Would be answered with 200 and counted by the metrics if it were read as a request. */
const SMUGGLED = `GET /api/v1/things HTTP/1.1\r\nHost: x\r\n${AUTH}\r\nX-Request-Id: smuggled\r\n\r\n`;
const head = (...lines: string[]): string =>
  ["POST /api/v1/echo HTTP/1.1", "Host: x", AUTH, "Content-Type: application/json", ...lines, "", ""].join("\r\n");

describe("smuggling corpus", () => {
  it.each([
    [
      "Content-Length and Transfer-Encoding",
      head("Content-Length: 4", "Transfer-Encoding: chunked") + `0\r\n\r\n${SMUGGLED}`,
    ],
    [
      "Transfer-Encoding and Content-Length",
      head("Transfer-Encoding: chunked", "Content-Length: 5") + `0\r\n\r\n${SMUGGLED}`,
    ],
    [
      "two Content-Length, different",
      head("Content-Length: 0", `Content-Length: ${String(SMUGGLED.length)}`) + SMUGGLED,
    ],
    ["two Content-Length, equal", head("Content-Length: 2", "Content-Length: 2") + `{}${SMUGGLED}`],
    ["a list of lengths", head("Content-Length: 2, 2") + `{}${SMUGGLED}`],
    ["an empty Content-Length", head("Content-Length:") + SMUGGLED],
    ["a signed length", head("Content-Length: +2") + `{}${SMUGGLED}`],
    ["a negative length", head("Content-Length: -1") + SMUGGLED],
    ["a hexadecimal length", head("Content-Length: 0x2") + `{}${SMUGGLED}`],
    ["a length that overflows", head("Content-Length: 18446744073709551618") + `{}${SMUGGLED}`],
    ["xchunked", head("Transfer-Encoding: xchunked") + `0\r\n\r\n${SMUGGLED}`],
    ["gzip, chunked", head("Transfer-Encoding: gzip, chunked") + `0\r\n\r\n${SMUGGLED}`],
    ["chunked twice", head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + `0\r\n\r\n${SMUGGLED}`],
    ["chunked, chunked", head("Transfer-Encoding: chunked, chunked") + `0\r\n\r\n${SMUGGLED}`],
    ["identity", head("Transfer-Encoding: identity") + SMUGGLED],
    ["Chunked in another case", head("Transfer-Encoding: Chunked") + `0\r\n\r\n${SMUGGLED}`],
    ["space before the colon", head("Transfer-Encoding : chunked") + `0\r\n\r\n${SMUGGLED}`],
    ["a folded header", head("Transfer-Encoding:\r\n chunked") + `0\r\n\r\n${SMUGGLED}`],
    ["a bare line feed", head("X: y\nTransfer-Encoding: chunked") + `0\r\n\r\n${SMUGGLED}`],
    ["a NUL in a header", head("X: a\0b") + SMUGGLED],
    ["no Host", `GET /api/v1/things HTTP/1.1\r\n${AUTH}\r\n\r\n`],
    ["two Hosts", `GET /api/v1/things HTTP/1.1\r\nHost: a\r\nHost: b\r\n${AUTH}\r\n\r\n`],
    ["a request line without a method", ` /api/v1/things HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n\r\n${SMUGGLED}`],
    ["a method that is no token", `1{}GET /api/v1/things HTTP/1.1\r\nHost: x\r\n${AUTH}\r\n\r\n${SMUGGLED}`],
    ["HTTP/1.0", `GET /api/v1/things HTTP/1.0\r\nHost: a\r\n${AUTH}\r\n\r\n`],
    [
      "a header that is too large",
      `GET /api/v1/things HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(9000)}\r\n\r\n${SMUGGLED}`,
    ],
  ])("serves nothing after %s", async (_name, bytes) => {
    const before = front.ended.length;
    const text = await rawExchange(front.port, bytes);
    expect(text).not.toContain("smuggled");
    expect(text).not.toMatch(/^HTTP\/1\.1 2/);
    expect(front.ended.slice(before).filter(({ status }) => status === 200)).toEqual([]);
    expect((await fetch(`${front.url}/api/v1/things`, { headers: BEARER })).status).toBe(200);
  });

  it.each([
    ["a trailer", "2\r\n{}\r\n0\r\na:"],
    ["wrong bytes behind a chunk", "2\r\n{}XX0\r\n\r\n"],
    ["a bare line feed behind a size", "2\n{}\r\n0\r\n\r\n"],
    ["a sound body", "2\r\n{}\r\n0\r\n\r\n"],
  ])("serves nothing after a chunked body with %s", async (_name, body) => {
    for (const hidden of [SMUGGLED, SMUGGLED.repeat(3)]) {
      const bytes = `${head("Transfer-Encoding: chunked")}${body}${hidden}`;
      for (const pieces of [[bytes], bytes.match(/[^]/g) ?? []]) {
        const before = front.ended.length;
        const text = await rawExchange(front.port, ...pieces);
        expect(text).not.toContain("smuggled");
        expect(front.ended.length).toBeLessThanOrEqual(before + 1);
      }
    }
  });

  it("answers a sound chunked body and closes", async () => {
    const text = await rawExchange(front.port, head("Transfer-Encoding: chunked") + "2\r\n{}\r\n0\r\n\r\n");
    expect(text).toMatch(/^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n[^]*\r\n\r\n\{\}$/);
  });

  it.each([
    ["Chunked in another case", ["Transfer-Encoding: Chunked"]],
    ["chunked, chunked", ["Transfer-Encoding: chunked, chunked"]],
    ["xchunked", ["Transfer-Encoding: xchunked"]],
    ["two equal lengths", ["Content-Length: 2", "Content-Length: 2"]],
    ["an empty length", ["Content-Length:"]],
  ])("answers 400 to %s and closes", async (_name, lines) => {
    const text = await rawExchange(front.port, head(...lines));
    expect(text).toMatch(/^HTTP\/1\.1 400 [^]*\r\nConnection: close\r\n[^]*"malformed_request"/);
  });
});
