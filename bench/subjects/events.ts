/**
 * Events: ten thousand WebSocket subscribers in a process of their own get one event each; the time from the moment that the server recorded
 * it (before its fsync) to the moment that a subscriber has read it, both by the same machine's clock.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { permissionBits } from "../../src/platform/auth/permissions.js";
import type { Principal } from "../../src/platform/auth/principal.js";
import { systemClock } from "../../src/platform/clock.js";
import { bindRoutes } from "../../src/platform/contract/route.js";
import { EventBus } from "../../src/platform/events/event-bus.js";
import { eventHandlers } from "../../src/platform/events/event-handlers.js";
import { eventRoutes } from "../../src/platform/events/event-routes.js";
import { createServer } from "../../src/platform/http/server.js";
import { createLog } from "../../src/platform/log.js";
import { openStore } from "../../src/platform/store/lmdb-store.js";
import type { BenchSubject, Report } from "../subject.js";

const OWNER = { kind: "application", id: "7a4c1f2e-0000-4000-8000-00000000000a" } as const;
const PREFIX = "b1".repeat(32);
const LISTENER: Principal = { subject: OWNER, permissions: permissionBits(["subscribe"]), tokenId: "t", sessionId: "s", expiresAtSec: 4_000_000_000 };
/** As a transfer of a token comes decoded. */
const PAYLOAD = {
  from: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", to: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", value: "1000000000000000000", type: "Transfer", removed: false,
  by: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", tx_hash: `0x${"ab".repeat(32)}`, block_number: 1234, log_index: 0, network_id: "7a4c1f2e-0000-4000-8000-00000000000b",
};

export const subject: BenchSubject = {
  name: "events",
  title: "Events: one contract event to ten thousand WebSocket subscribers",
  run: async (report, { quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-events-"));
    try {
      await benchFanOut(folder, { subscribers: quick ? 1000 : 10_000, events: quick ? 10 : 30 }, report);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function benchFanOut(folder: string, size: { readonly subscribers: number; readonly events: number }, report: Report): Promise<void> {
  const log = createLog("silent");
  const store = await openStore({ path: join(folder, "store") }, { log });
  const bus = new EventBus({ eventsMax: 100_000, daysMax: 7, streamsMax: 2 * size.subscribers, streamsPerSubjectMax: 2 * size.subscribers }, { store, clock: systemClock, log });
  bus.start();
  const server = createServer(
    { host: "127.0.0.1", port: 0, limits: { rateLimits: false, connectionsMax: 2 * size.subscribers } },
    { routes: bindRoutes(eventRoutes, eventHandlers({ events: bus })), authenticate: () => LISTENER, isUnsealed: () => true, clock: systemClock, log },
  );
  const { port } = await server.listen();
  try {
    await withSubscribers(port, size.subscribers, async (next) => {
      await next();
      const medians: number[] = [];
      const p99s: number[] = [];
      for (let index = 0; index < size.events; index += 1) {
        await bus.publish([{ subject: "network.1.contracts.0x1", also: [PREFIX, `${PREFIX}.Transfer`], payload: PAYLOAD, audience: [OWNER] }]);
        const latencies = await next();
        if (latencies.length !== size.subscribers) throw new Error(`an event reached ${String(latencies.length)} of ${String(size.subscribers)} subscribers`);
        latencies.sort((a, b) => a - b);
        medians.push(quantile(latencies, 0.5));
        p99s.push(quantile(latencies, 0.99));
      }
      row(report, "fan-out-p50", medians, `${String(size.subscribers)} WebSocket subscribers`);
      row(report, "fan-out-p99", p99s, `of each event over ${String(size.subscribers)} subscribers; median and p95 over the events`);
    });
  } finally {
    await server.stop({ graceMs: 1000 });
    await bus.stop();
    await store.close();
  }
}

function row(report: Report, id: string, samples: readonly number[], note: string): void {
  const sorted = [...samples].sort((a, b) => a - b);
  report({ subject: "events", id, peer: "proofwright", unit: "ms", median: quantile(sorted, 0.5), p95: quantile(sorted, 0.95), samples: sorted.length, note });
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** The subscribers' process prints a line of JSON once all are connected, and one with all latencies per event. */
async function withSubscribers(port: number, count: number, run: (next: () => Promise<number[]>) => Promise<void>): Promise<void> {
  const child = spawn(process.execPath, [fileURLToPath(new URL("../peers/event-subscribers.js", import.meta.url)), String(port), String(count), `${PREFIX}.>`], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  try {
    await run(async () => {
      const line = await lines.next();
      if (line.done === true) throw new Error("the subscribers ended; see `ulimit -n`");
      return JSON.parse(line.value) as number[];
    });
  } finally {
    child.kill();
  }
}
