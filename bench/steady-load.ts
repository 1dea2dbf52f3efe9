/**
 * Sends one request again and again at a steady rate, as a process of its own. A request that finds every connection busy counts from
 * then on, so that a stalled server is not spared (coordinated omission); what this process itself is late by is not the server's, nor is
 * the second in which its own code is still slow. autocannon's fixed rate comes in bursts, one a second and connection, which measures the
 * burst. Reads its options as JSON from the first argument; prints JSON.
 */
import { connect, type Socket } from "node:net";
import type { LoadOptions, LoadResult } from "./http-load.js";

interface Line {
  readonly socket: Socket;
  /** When the request under way was to go; undefined while idle. */
  dueMs: number | undefined;
  received: Buffer;
}

const { url, token, body, seconds, connections, perSec = 1 } = JSON.parse(process.argv[2] ?? "{}") as LoadOptions;
const { hostname, port, pathname, search, host } = new URL(url);
const request = requestBytes();
/** Not counted, but for failures. */
const WARM_UP_SEC = 1;
let latenciesMs: number[] = [];
let failed = 0;
const waiting: number[] = [];
const lines: Line[] = await Promise.all(Array.from({ length: connections }, openLine));

function requestBytes(): Buffer {
  const head = [`${body === undefined ? "GET" : "POST"} ${pathname}${search} HTTP/1.1`, `Host: ${host}`];
  if (token !== undefined) head.push(`Authorization: bearer ${token}`);
  if (body !== undefined) head.push("Content-Type: application/json", `Content-Length: ${String(Buffer.byteLength(body))}`);
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body ?? ""}`);
}

async function openLine(): Promise<Line> {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const line: Line = { socket, dueMs: undefined, received: Buffer.alloc(0) };
  socket.on("data", (chunk) => { take(line, chunk); });
  socket.on("close", () => { if (line.dueMs !== undefined) failed += 1; });
  return await new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("connect", () => { resolve(line); });
  });
}

/** Answers are small and carry Content-Length. */
function take(line: Line, chunk: Buffer): void {
  line.received = line.received.length === 0 ? chunk : Buffer.concat([line.received, chunk]);
  const end = line.received.indexOf("\r\n\r\n");
  if (end === -1 || line.dueMs === undefined) return;
  const head = line.received.toString("latin1", 0, end);
  const bytes = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  if (line.received.length < end + 4 + bytes) return;
  line.received = Buffer.alloc(0);
  latenciesMs.push(performance.now() - line.dueMs);
  if (!/^HTTP\/1\.1 2/.test(head)) failed += 1;
  const next = waiting.shift();
  line.dueMs = undefined;
  if (next !== undefined) send(line, next);
}

function send(line: Line, dueMs: number): void {
  line.dueMs = dueMs;
  line.socket.write(request);
}

/** Requests at the rate for some seconds. */
async function go(forSec: number): Promise<void> {
  const begunMs = performance.now();
  const total = Math.round(forSec * perSec);
  for (let sent = 0; sent < total; ) {
    const nowMs = performance.now();
    const dueCount = Math.min(total, Math.floor(((nowMs - begunMs) * perSec) / 1000) + 1);
    for (; sent < dueCount; sent += 1) {
      const idle = lines.find((line) => line.dueMs === undefined && !line.socket.destroyed);
      if (idle === undefined) waiting.push(nowMs);
      else send(idle, nowMs);
    }
    await new Promise((resolve) => { setTimeout(resolve, 1); });
  }
}

async function run(): Promise<void> {
  await go(WARM_UP_SEC);
  latenciesMs = [];
  await go(seconds);
  const limitMs = performance.now() + 10_000;
  while (lines.some(({ dueMs, socket }) => dueMs !== undefined && !socket.destroyed) && performance.now() < limitMs) await new Promise((resolve) => { setTimeout(resolve, 5); });
  for (const { socket } of lines) socket.destroy();
}

await run();
latenciesMs.sort((a, b) => a - b);
const quantile = (share: number): number => latenciesMs[Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * share))] ?? Number.NaN;
const result: LoadResult = { p50: quantile(0.5), p99: quantile(0.99), perSec: latenciesMs.length / seconds, total: latenciesMs.length, failed: failed + waiting.length };
process.stdout.write(`${JSON.stringify(result)}\n`);
