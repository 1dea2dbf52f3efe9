// A load of transactions through a proxy that fails in every way, with kill -9 of the sender between: every accepted
// transaction is mined once, its record says so, and none was ever told to have failed.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, expect, it } from "vitest";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { runUntilKilled } from "../../support/crash.js";
import { seededRandom } from "../../support/seeded.js";
import { startSpoilingProxy, type SpoilingProxy } from "../../support/spoiling-proxy.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const CHILD = fileURLToPath(new URL("../../support/transaction-load-child.mjs", import.meta.url));
const KILLS = 3;
const SUBMITTED = 60;
const WEALTH = "0x3635c9adc5dea00000";

interface Ended {
  readonly id: string;
  readonly state: string;
  readonly value: number;
  readonly nonce: number;
  readonly hash: string;
  readonly attempts: number;
}

let anvil: Anvil | undefined;
let proxy: SpoilingProxy | undefined;
let folder: string | undefined;
afterEach(async () => {
  await proxy?.stop();
  await anvil?.stop("SIGKILL");
  if (folder !== undefined) removeFolder(folder);
});

it.each([
  ["a block for each transaction", undefined],
  ["a block each second", 1],
])("brings each to the chain once: %s", async (_name, blockTimeSec) => {
  const random = seededRandom();
  const seed = `PROOFWRIGHT_TEST_SEED=${String(random.seed)}`;
  folder = newFolder("transaction-proxy");
  anvil = await startAnvil(blockTimeSec === undefined ? {} : { blockTimeSec });
  proxy = await startSpoilingProxy(anvil.url, random);
  const place = [folder, proxy.url, randomUUID(), randomUUID()];
  const [, accountId = "", address = ""] = /^account (\S+) (\S+)$/m.exec(await drain(place, "-")) ?? [];
  await anvil.request("anvil_setBalance", address, WEALTH);
  const lines: string[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    const { acknowledged } = await runUntilKilled({
      command: [process.execPath, CHILD, ...place, accountId, "run", String(SUBMITTED)],
      readyLine: "ready",
      killAfterMs: 500 + random.below(3_000),
    });
    lines.push(...acknowledged);
  }
  const printed = (await drain(place, accountId)).trim().split("\n");
  const all = JSON.parse(printed.at(-1) ?? "[]") as Ended[];
  const accepted = lines.filter((line) => !line.startsWith("failed ")).map((line) => line.split(" "));
  const failed = [...lines, ...printed].filter((line) => line.startsWith("failed "));
  const mined = await transactionsOf(anvil, address);
  const times = (value: number): number => mined.filter((one) => one.value === value).length;
  const records = new Map(all.map((record) => [record.id, record]));
  const figures = {
    seed: random.seed,
    accepted: accepted.length,
    records: all.length,
    mined: mined.length,
    lost: accepted.filter(([id = "", value]) => !records.has(id) || times(Number(value)) === 0).length,
    doubled: all.filter(({ value }) => times(value) > 1).length,
    failed: failed.length,
    signed_again: all.filter(({ attempts }) => attempts > 1).length,
    ...proxy.figures,
  };
  console.log(`transactions through a bad proxy: ${JSON.stringify(figures)}`);
  expect(figures.accepted, seed).toBeGreaterThan(KILLS * 5);
  expect(figures, seed).toMatchObject({ lost: 0, doubled: 0, failed: 0 });
  expect(
    all.filter(({ state }) => state !== "confirmed"),
    seed,
  ).toEqual([]);
  const byNonce = (one: { nonce: number }, other: { nonce: number }): number => one.nonce - other.nonce;
  const recorded = all.map(({ nonce, hash, value }) => ({ nonce, hash, value }));
  expect(recorded.sort(byNonce), seed).toEqual(mined.sort(byNonce));
});

async function drain(place: readonly string[], accountId: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD, ...place, accountId, "drain", "0"], {
    maxBuffer: 64 * 2 ** 20,
  });
  return stdout;
}

/** The transactions that the chain has of an address. */
async function transactionsOf(node: Anvil, address: string): Promise<{ nonce: number; hash: string; value: number }[]> {
  const head = Number(await node.request("eth_blockNumber"));
  const found: { nonce: number; hash: string; value: number }[] = [];
  for (let number = 0; number <= head; number += 1) {
    const { transactions } = (await node.request("eth_getBlockByNumber", `0x${number.toString(16)}`, true)) as {
      transactions: { from: string; nonce: string; hash: string; value: string }[];
    };
    for (const { from, nonce, hash, value } of transactions)
      if (from.toLowerCase() === address.toLowerCase())
        found.push({ nonce: Number(nonce), hash, value: Number(value) });
  }
  return found;
}
