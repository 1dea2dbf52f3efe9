/**
 * Bytes that are hardly a request, sent to both drivers: each answers once and closes the connection, with the same
 * status or with a difference that has its reason here, and serves nothing that is sent behind.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HttpDriver } from "../../../src/platform/http/drivers/driver.js";
import { nodeDriver } from "../../../src/platform/http/drivers/node.js";
import { loadUws } from "../../../src/platform/http/drivers/uws.js";
import { rawExchange, rawExchangeAndEnd, startFront, type Front } from "./support.js";

/** `none`: the connection is closed without an answer, after as long as the library takes. */
type Status = number | "none";

interface Row {
  readonly name: string;
  readonly bytes: string;
  readonly status: Status;
  /** Of uWebSockets.js, where it is another one. */
  readonly uws?: { readonly status: Status; readonly because: string };
}

const AUTH = "Authorization: bearer user-read+create";
const BEHIND = `GET /api/v1/things HTTP/1.1\r\nHost: x\r\n${AUTH}\r\nX-Request-Id: behind\r\n\r\n`;
const THINGS = "/api/v1/things";
/** A request that closes its connection, with these lines. */
const get = (lines: readonly string[] = [], line = `GET ${THINGS} HTTP/1.1`, host = "Host: x"): string =>
  [line, host, AUTH, ...lines, "Connection: close", "", ""].join("\r\n");
const post = (lines: readonly string[], body = ""): string =>
  [
    "POST /api/v1/echo HTTP/1.1",
    "Host: x",
    AUTH,
    "Content-Type: application/json",
    ...lines,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
const chunked = (body: string): string => post(["Transfer-Encoding: chunked"], body);

const OLD = { status: 505, because: "the library takes whatever it cannot read in a request line for another version" };
const SILENT = { status: "none", because: "the library waits for more, and closes after 8 to 12 s" } as const;
const NOT_CHECKED = "the library does not check it; nothing behind a chunked request is served";

const ROWS: readonly Row[] = [
  { name: "a sound request", bytes: get(), status: 200 },
  { name: "an empty line before it", bytes: `\r\n${get()}`, status: 200, uws: SILENT },
  { name: "three empty lines before it", bytes: `\r\n\r\n\r\n${get()}`, status: 200, uws: SILENT },
  { name: "a bare line feed before it", bytes: `\n${get()}`, status: 200, uws: OLD },
  {
    name: "a field without a name",
    bytes: get().replace("\r\n\r\n", "\r\n: x\r\n\r\n"),
    status: 400,
    uws: { status: 200, because: "for the library the head ends there; what it hides is in SECURITY.md" },
  },
  { name: "Transfer-Encoding: Chunked", bytes: post(["Transfer-Encoding: Chunked"], "0\r\n\r\n"), status: 400 },
  { name: "xchunked", bytes: post(["Transfer-Encoding: xchunked"], "0\r\n\r\n"), status: 400 },
  { name: "gzip, chunked", bytes: post(["Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"), status: 400 },
  { name: "chunked, chunked", bytes: post(["Transfer-Encoding: chunked, chunked"], "0\r\n\r\n"), status: 400 },
  { name: "identity", bytes: post(["Transfer-Encoding: identity"]), status: 400 },
  { name: "an empty Transfer-Encoding", bytes: post(["Transfer-Encoding:"]), status: 400 },
  {
    name: "chunked in two fields",
    bytes: post(["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], "0\r\n\r\n"),
    status: 400,
  },
  { name: "a sound chunked body", bytes: chunked("1\r\n1\r\n0\r\n\r\n"), status: 200 },
  {
    name: "a chunk extension",
    bytes: chunked("1;a=b\r\n1\r\n0\r\n\r\n"),
    status: 200,
    uws: { status: "none", because: "the library reads it as a part of the size; 408 after the window of bodies" },
  },
  {
    name: "a chunk longer than its size",
    bytes: chunked("1\r\n1XX0\r\n\r\n"),
    status: 400,
    uws: { status: 200, because: NOT_CHECKED },
  },
  {
    name: "a bare line feed behind a chunk's size",
    bytes: chunked("1\n1\r\n0\r\n\r\n"),
    status: 400,
    uws: { status: 200, because: NOT_CHECKED },
  },
  { name: "a chunk size that is no number", bytes: chunked("zz\r\n1\r\n0\r\n\r\n"), status: 400 },
  { name: "a trailer that is no field", bytes: chunked("1\r\n1\r\n0\r\nGET /status HTTP/1.1\r\n\r\n"), status: 400 },
  { name: "two lengths, equal", bytes: post(["Content-Length: 1", "Content-Length: 1"], "1"), status: 400 },
  { name: "two lengths, different", bytes: post(["Content-Length: 1", "Content-Length: 2"], "1"), status: 400 },
  { name: "a list of lengths", bytes: post(["Content-Length: 1, 1"], "1"), status: 400 },
  { name: "a signed length", bytes: post(["Content-Length: +1"], "1"), status: 400 },
  { name: "an empty length", bytes: post(["Content-Length:"]), status: 400 },
  { name: "a length that overflows", bytes: post(["Content-Length: 18446744073709551617"], "1"), status: 400 },
  { name: "a length beyond the cap", bytes: post(["Content-Length: 99999999"]), status: 413 },
  {
    name: "both lengths",
    bytes: post(["Content-Length: 1", "Transfer-Encoding: chunked"], "1\r\n1\r\n0\r\n\r\n"),
    status: 400,
  },
  { name: "bare line feeds", bytes: get().replaceAll("\r\n", "\n"), status: 505 },
  { name: "a bare line feed between fields", bytes: get(["X: y\nZ: w"]), status: 400 },
  { name: "a bare carriage return", bytes: get(["X: a\rb"]), status: 400, uws: SILENT },
  { name: "a folded field", bytes: get(["X: a\r\n b"]), status: 400 },
  { name: "a folded Transfer-Encoding", bytes: post(["Transfer-Encoding:\r\n chunked"], "0\r\n\r\n"), status: 400 },
  { name: "a blank before the colon", bytes: get(["X : y"]), status: 400 },
  { name: "a blank before the first field", bytes: get([], `GET ${THINGS} HTTP/1.1\r\n X: y`), status: 400 },
  { name: "a field without a colon", bytes: get(["Xy"]), status: 400 },
  { name: "a NUL in a field", bytes: get(["X: a\0b"]), status: 400 },
  {
    name: "a DEL in a field",
    bytes: get(["X: a\x7fb"]),
    status: 400,
    uws: { status: 200, because: "the library takes it for text" },
  },
  { name: "no Host", bytes: get([], undefined, "X: y"), status: 400 },
  { name: "two Hosts", bytes: get(["Host: y"]), status: 400 },
  { name: "an empty Host", bytes: get([], undefined, "Host:"), status: 200 },
  { name: "an absolute target", bytes: get([], `GET http://x${THINGS} HTTP/1.1`), status: 400, uws: OLD },
  { name: "an asterisk", bytes: get([], "OPTIONS * HTTP/1.1"), status: 400, uws: OLD },
  { name: "CONNECT", bytes: get([], "CONNECT x:443 HTTP/1.1"), status: 400, uws: OLD },
  { name: "CONNECT with a path", bytes: get([], `CONNECT ${THINGS} HTTP/1.1`), status: 405 },
  { name: "a target without a slash", bytes: get([], "GET api HTTP/1.1"), status: 400, uws: OLD },
  { name: "a control character in the target", bytes: get([], "GET /\x01 HTTP/1.1"), status: 400, uws: OLD },
  {
    name: "a byte above 127 in the target",
    bytes: get([], "GET /\xe9 HTTP/1.1"),
    status: 400,
  },
  { name: "HTTP/1.0", bytes: get([], `GET ${THINGS} HTTP/1.0`), status: 505 },
  { name: "HTTP/1.2", bytes: get([], `GET ${THINGS} HTTP/1.2`), status: 505 },
  { name: "HTTP/2.0", bytes: get([], `GET ${THINGS} HTTP/2.0`), status: 505 },
  { name: "the preface of HTTP/2", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: 505 },
  { name: "no version", bytes: `GET ${THINGS}\r\n\r\n`, status: 505 },
  { name: "http in lower case", bytes: get([], `GET ${THINGS} http/1.1`), status: 400, uws: OLD },
  {
    name: "two blanks before the target",
    bytes: get([], `GET  ${THINGS} HTTP/1.1`),
    status: 200,
    uws: { ...OLD, because: "RFC 9112 section 3 allows both" },
  },
  { name: "a blank behind the version", bytes: get([], `GET ${THINGS} HTTP/1.1 `), status: 505 },
  { name: "a known method without a route", bytes: get([], `PROPFIND ${THINGS} HTTP/1.1`), status: 405 },
  {
    name: "an unknown method",
    bytes: get([], `BREW ${THINGS} HTTP/1.1`),
    status: 501,
    uws: { status: 405, because: "the library reads every method, Node's parser those of IANA's registry" },
  },
  {
    name: "a method in lower case",
    bytes: get([], `get ${THINGS} HTTP/1.1`),
    status: 501,
    uws: { status: 405, because: "as above" },
  },
  { name: "a method that is no token", bytes: get([], `1{}GET ${THINGS} HTTP/1.1`), status: 400 },
  { name: "no method", bytes: get([], ` ${THINGS} HTTP/1.1`), status: 400 },
  { name: "bytes of TLS", bytes: "\x16\x03\x01\x02\x00\x01\r\n\r\n", status: 400, uws: OLD },
  { name: "98 fields", bytes: get(Array.from({ length: 95 }, () => "A: b")), status: 200 },
  { name: "99 fields", bytes: get(Array.from({ length: 96 }, () => "A: b")), status: 431 },
  { name: "a field of 9,000 bytes", bytes: get([`X: ${"a".repeat(9000)}`]), status: 431 },
  { name: "a target of 9,000 bytes", bytes: get([], `GET /${"a".repeat(9000)} HTTP/1.1`), status: 431 },
  { name: "another protocol offered", bytes: get(["Upgrade: h2c"]), status: 200 },
  { name: "another expectation", bytes: get(["Expect: tea"]), status: 200 },
  { name: "a body of GET", bytes: get(["Content-Length: 2"]) + "{}", status: 200 },
];

const DRIVERS: readonly HttpDriver[] = [nodeDriver, loadUws()];

describe.each(DRIVERS)("bytes that are hardly a request, on $name", (driver) => {
  let front: Front;
  beforeAll(async () => {
    front = await startFront({ driver });
  });
  afterAll(async () => {
    await front.server.stop({ graceMs: 1000 });
  });

  it.each(ROWS)("$name", async ({ bytes, status: common, uws }) => {
    const status = driver.name === "uws" ? (uws?.status ?? common) : common;
    const before = front.ended.length;
    const exchange = status === "none" ? rawExchangeAndEnd : rawExchange;
    const text = await exchange(front.port, Buffer.from(bytes, "latin1"));
    expect(/^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1] ?? "none").toBe(String(status));
    expect(text.match(/HTTP\/1\.1 [2-5]\d\d /g) ?? []).toHaveLength(status === "none" ? 0 : 1);
    expect(text).not.toContain("behind");
    expect(front.ended.length).toBeLessThanOrEqual(before + 1);
    const withMore = await rawExchangeAndEnd(front.port, Buffer.from(bytes + BEHIND, "latin1"));
    expect(withMore).not.toContain("behind");
  });
});
