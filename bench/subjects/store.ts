/**
 * The store beside plain lmdb-js on the same disk: reads of one record and of a page, one commit after the other, and
 * commits in parallel. The peer has no integrity tags, no checks, no JSON of our own: what our guarantees cost is the
 * difference.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "lmdb";
import type { RootDatabase } from "lmdb";
import { createLog } from "../../src/platform/log.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import type { DurableStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import type { StoreAppend } from "../../src/platform/store/store.js";
import type { BenchSubject, Report } from "../subject.js";

const RECORDS = 10_000;
const PAGE = 25;
const PARALLEL = 64;
/** Reads per sample: one read is below the clock's resolution. */
const READS_PER_SAMPLE = 200;

/** About the size of a prover record. */
function record(index: number): { id: string; created_at: string; name: string; note: string } {
  return { id: `id-${index}`, created_at: "2026-01-01T00:00:00.000Z", name: `prover ${index}`, note: "n".repeat(300) };
}

/** What a signature leaves in the audit log. */
function auditRecord(caller: number, index: number): StoreAppend {
  const id = (number: number): string => `7c9e6679-7425-40de-944b-${String(number).padStart(12, "0")}`;
  const user = `user:${id(caller)}`;
  return {
    chain: "audit",
    indexes: [["audit#subject", user]],
    value: {
      at: "2026-01-01T00:00:00.000Z",
      action: "signMessage",
      subject: user,
      session_id: id(caller),
      request_id: id(index),
      address: "127.0.0.1",
      target: { vault_id: id(1), key_id: id(2) },
      outcome: "ok",
    },
  };
}

export const subject: BenchSubject = {
  name: "store",
  title: "Store: reads and durable commits beside plain lmdb-js",
  run: async (report, { quick }) => {
    const folder = mkdtempSync(join(tmpdir(), "proofwright-bench-store-"));
    const store = await openStore(
      { path: join(folder, "store"), chainKey: randomBytes(32) },
      { log: createLog("error") },
    );
    const plain = open({ path: join(folder, "plain") });
    try {
      await fill(store, plain);
      reads(report, store, plain, quick ? 20 : 200);
      await sequential(report, store, plain, quick ? 200 : 2_000);
      await parallel(report, store, plain, quick ? 500 : 3_000);
    } finally {
      await store.close();
      await plain.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function fill(store: DurableStore, plain: RootDatabase): Promise<void> {
  for (let from = 0; from < RECORDS; from += 1_000) {
    const puts = Array.from({ length: 1_000 }, (_, offset) => ({
      key: ["row", from + offset],
      value: record(from + offset),
    }));
    await store.commit({ puts });
    await Promise.all(puts.map(({ key, value }) => plain.put([...key], value)));
  }
}

function reads(report: Report, store: DurableStore, plain: RootDatabase, samples: number): void {
  let index = 0;
  const next = (): number => (index = (index + 7919) % RECORDS);
  const measure = (id: string, peer: string, read: () => unknown): void => {
    const times = sample(samples, () => {
      for (let run = 0; run < READS_PER_SAMPLE; run += 1) read();
    }).map((ms) => (ms * 1000) / READS_PER_SAMPLE);
    report({ subject: "store", id, peer, unit: "us", ...summary(times) });
  };
  measure("get", "proofwright", () => store.get(["row", next()]));
  measure("get", "lmdb", () => plain.get(["row", next()]) as unknown);
  measure("range of 25", "proofwright", () => store.range(["row"], { after: ["row", next()], limit: PAGE }));
  measure("range of 25", "lmdb", () => [...plain.getRange({ start: ["row", next()], limit: PAGE })]);
}

async function sequential(report: Report, store: DurableStore, plain: RootDatabase, samples: number): Promise<void> {
  const measure = async (peer: string, write: (index: number) => Promise<unknown>, note?: string): Promise<void> => {
    const times: number[] = [];
    for (let index = 0; index < samples; index += 1) {
      const started = performance.now();
      await write(index);
      times.push(performance.now() - started);
    }
    report({
      subject: "store",
      id: "commit, one after the other",
      peer,
      unit: "ms",
      ...summary(times),
      ...(note === undefined ? {} : { note }),
    });
  };
  await measure(
    "proofwright",
    (index) => store.commit({ puts: [{ key: ["one", index], value: record(index) }] }),
    "fsynced",
  );
  await measure("lmdb", (index) => plain.put(["one", index], record(index)), "await put");
  await measure(
    "lmdb transactionSync",
    async (index) => {
      plain.transactionSync(() => {
        void plain.put(["sync", index], record(index));
      });
    },
    "fsynced, holds the calling thread",
  );
}

/**
 * Commits per second with 64 callers, each waiting for its own; one figure per second-long slice would be noise, so per
 * round. Beside them the processor time of all threads, which hangs less on the disk.
 */
async function parallel(report: Report, store: DurableStore, plain: RootDatabase, perRound: number): Promise<void> {
  const measure = async (
    id: string,
    peer: string,
    write: (caller: number, index: number) => Promise<unknown>,
  ): Promise<void> => {
    const rates: number[] = [];
    const costs: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      let next = 0;
      const cpuBefore = process.cpuUsage();
      const started = performance.now();
      await Promise.all(
        Array.from({ length: PARALLEL }, async (_, caller) => {
          while (next < perRound) await write(caller, (next += 1) + round * perRound);
        }),
      );
      rates.push((perRound * 1000) / (performance.now() - started));
      const { user, system } = process.cpuUsage(cpuBefore);
      costs.push((user + system) / perRound);
    }
    report({ subject: "store", id, peer, unit: "ops/s", ...summary(rates) });
    report({ subject: "store", id: `${id}, processor time`, peer, unit: "us", ...summary(costs) });
  };
  await measure("commits, 64 in parallel", "proofwright", (caller, index) =>
    store.commit({
      checks: [{ key: ["many", caller, index], version: "absent" }],
      puts: [{ key: ["many", caller, index], value: record(index) }],
    }),
  );
  await measure("commits, 64 in parallel", "lmdb", (caller, index) =>
    plain.put(["many", caller, index], record(index)),
  );
  await measure("audit records, 64 in parallel", "proofwright", (caller, index) =>
    store.commit({ appends: [auditRecord(caller, index)], urgent: true }),
  );
}

function sample(count: number, body: () => void): number[] {
  return Array.from({ length: count }, () => {
    const started = performance.now();
    body();
    return performance.now() - started;
  });
}

function summary(values: number[]): { median: number; p95: number; samples: number } {
  const sorted = [...values].sort((one, other) => one - other);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { median: at(0.5), p95: at(0.95), samples: sorted.length };
}
