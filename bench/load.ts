/**
 * Sends one request again and again, as a process of its own: at a steady rate, or each connection as soon as it is
 * answered, for some seconds or a number of times. It shares the machine with what it measures, so it does no more than
 * that takes (45 us a request, where autocannon takes 77). At a rate, a request that finds every connection busy counts
 * from when it was due, so that a stalled server is not spared (coordinated omission). What is sent in the first second
 * does not count, but for failures: this process's own code is still slow. Reads its options as JSON from the first
 * argument; prints JSON.
 */
import { connect, type Socket } from "node:net";
import type { LoadOptions, LoadResult } from "./http-load.js";
import { quantileOf } from "./sample.js";

interface Line {
  readonly socket: Socket;
  /** When the request under way was to go; undefined while idle. */
  dueMs: number | undefined;
  /** What came of the answer's head, as long as it is not whole. */
  head: Buffer;
  /** Bytes of the answer that are still to come; undefined as long as that is not known. */
  missing: number | undefined;
  isGood: boolean;
}

const { url, token, body, seconds, requests, connections, perSec } = JSON.parse(process.argv[2] ?? "{}") as LoadOptions;
const { hostname, port, pathname, search, host } = new URL(url);
const request = requestBytes();
const WARM_UP_SEC = 1;
/** For those under way at the end. */
const LAST_ANSWERS_MS = 10_000;
const HEAD_END = "\r\n\r\n";
const NOTHING = Buffer.alloc(0);
/** One for all connections: what is read is looked at before the next one reads. */
const readBuffer = Buffer.alloc(256 * 1024);
let latenciesMs: number[] = [];
let failed = 0;
/** Times at which requests were due that no connection is free for. */
const waiting: number[] = [];
/** What a connection does once it is answered. */
let onIdle: (line: Line) => void = () => undefined;
const lines: Line[] = await Promise.all(Array.from({ length: connections }, openLine));

function requestBytes(): Buffer {
  const head = [`${body === undefined ? "GET" : "POST"} ${pathname}${search} HTTP/1.1`, `Host: ${host}`];
  if (token !== undefined) head.push(`Authorization: bearer ${token}`);
  if (body !== undefined)
    head.push("Content-Type: application/json", `Content-Length: ${String(Buffer.byteLength(body))}`);
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

async function openLine(): Promise<Line> {
  return await new Promise((resolve, reject) => {
    const socket = connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      onread: { buffer: readBuffer, callback: (bytes) => take(line, bytes) },
    });
    const line: Line = { socket, dueMs: undefined, head: NOTHING, missing: undefined, isGood: false };
    socket.on("close", () => {
      if (line.dueMs !== undefined) failed += 1;
    });
    socket.once("error", reject);
    socket.once("connect", () => {
      resolve(line);
    });
  });
}

/** Answers carry Content-Length. Returns true, so that reading goes on. */
function take(line: Line, bytes: number): boolean {
  if (line.missing !== undefined) line.missing -= bytes;
  else
    readHead(
      line,
      line.head.length === 0
        ? readBuffer.subarray(0, bytes)
        : Buffer.concat([line.head, readBuffer.subarray(0, bytes)]),
    );
  if (line.missing === 0) answered(line);
  return true;
}

function readHead(line: Line, received: Buffer): void {
  const end = received.indexOf(HEAD_END);
  if (end === -1) {
    line.head = Buffer.from(received);
    return;
  }
  const head = received.toString("latin1", 0, end);
  line.head = NOTHING;
  line.isGood = head.startsWith("HTTP/1.1 2");
  line.missing = end + HEAD_END.length + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0) - received.length;
}

function answered(line: Line): void {
  latenciesMs.push(performance.now() - (line.dueMs ?? 0));
  if (!line.isGood) failed += 1;
  line.missing = undefined;
  line.dueMs = undefined;
  onIdle(line);
}

function send(line: Line, dueMs: number): void {
  line.dueMs = dueMs;
  line.socket.write(request);
}

/** Requests at a rate for some seconds. */
async function goSteadily(rate: number, forSec: number): Promise<void> {
  onIdle = (line) => {
    const next = waiting.shift();
    if (next !== undefined) send(line, next);
  };
  const begunMs = performance.now();
  const total = Math.round(forSec * rate);
  for (let sent = 0; sent < total;) {
    const nowMs = performance.now();
    const dueCount = Math.min(total, Math.floor(((nowMs - begunMs) * rate) / 1000) + 1);
    for (; sent < dueCount; sent += 1) {
      const idle = lines.find((line) => line.dueMs === undefined && !line.socket.destroyed);
      if (idle === undefined) waiting.push(nowMs);
      else send(idle, nowMs);
    }
    await sleep(1);
  }
}

/** As many requests as go: each connection has the next one under way as soon as `isOver` says no. */
function goFlatOut(isOver: () => boolean): void {
  onIdle = (line) => {
    if (!isOver()) send(line, performance.now());
  };
  for (const line of lines) onIdle(line);
}

async function untilAnswered(limitMs: number): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (lines.some(({ dueMs, socket }) => dueMs !== undefined && !socket.destroyed) && performance.now() < endMs)
    await sleep(1);
}

async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Answers the seconds that what was counted took. */
async function run(): Promise<number> {
  if (requests !== undefined) {
    let sent = 0;
    const begunMs = performance.now();
    goFlatOut(() => (sent += 1) > requests);
    await untilAnswered(Infinity);
    return (performance.now() - begunMs) / 1000;
  }
  if (perSec !== undefined) {
    await goSteadily(perSec, WARM_UP_SEC);
    latenciesMs = [];
    await goSteadily(perSec, seconds);
    await untilAnswered(LAST_ANSWERS_MS);
    return seconds;
  }
  let isOver = false;
  goFlatOut(() => isOver);
  await sleep(1000 * WARM_UP_SEC);
  latenciesMs = [];
  const begunMs = performance.now();
  await sleep(1000 * seconds);
  const tookSec = (performance.now() - begunMs) / 1000;
  const counted = [...latenciesMs];
  isOver = true;
  await untilAnswered(LAST_ANSWERS_MS);
  latenciesMs = counted;
  return tookSec;
}

const tookSec = await run();
for (const { socket } of lines) socket.destroy();
const result: LoadResult = {
  p50: quantileOf(latenciesMs, 0.5),
  p99: quantileOf(latenciesMs, 0.99),
  perSec: latenciesMs.length / tookSec,
  total: latenciesMs.length,
  failed: failed + waiting.length,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
