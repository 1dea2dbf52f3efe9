/** Many WebSocket subscribers in one process, for bench/subjects/events.ts: prints a line once all listen, then for each event when the server recorded it and how much later each had it, in milliseconds. */
import WebSocket from "ws";

const [port = "", countText = "", filter = ""] = process.argv.slice(2);
const count = Number(countText);
/** Connections that are being opened at once: more than a listening socket's backlog takes are lost. */
const OPENING_MAX = 200;

let listening = 0;
const latencies = new Map<number, number[]>();

function open(): void {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1/events?subject=${encodeURIComponent(filter)}`, { headers: { authorization: "bearer bench" }, perMessageDeflate: false });
  socket.on("error", (error) => { process.stderr.write(`subscriber: ${error.message}\n`); process.exit(1); });
  socket.on("close", () => { process.exit(0); });
  socket.on("message", (data: Buffer) => { take(Date.now(), data); });
}

function take(nowMs: number, data: Buffer): void {
  const message = JSON.parse(data.toString("utf8")) as { readonly id: number; readonly type?: string; readonly created_at?: string };
  if (message.type === "ready") {
    listening += 1;
    if (listening + OPENING_MAX <= count) open();
    if (listening === count) process.stdout.write('{"at":0,"latencies":[]}\n');
    return;
  }
  if (message.created_at === undefined) return;
  const known = latencies.get(message.id) ?? [];
  latencies.set(message.id, known);
  known.push(nowMs - Date.parse(message.created_at));
  if (known.length < count) return;
  latencies.delete(message.id);
  process.stdout.write(`${JSON.stringify({ at: Date.parse(message.created_at), latencies: known })}\n`);
}

for (let index = 0; index < Math.min(OPENING_MAX, count); index += 1) open();
