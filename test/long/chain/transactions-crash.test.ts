// Kill -9 of a whole process that sends: before a send, after it, and at random moments. What was acknowledged is
// mined, once.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startAnvil, type Anvil } from "../../support/anvil.js";
import { runUntilKilled } from "../../support/crash.js";
import { seededRandom } from "../../support/seeded.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { minedNonces } from "../../chain/transactions/support.js";

const CHILD = fileURLToPath(new URL("../../support/transaction-crash-child.mjs", import.meta.url));
/** Above the time that the process needs to come to the send that kills it. */
const KILLED_BY_ITSELF_MS = 120_000;

let anvil: Anvil;
let folder: string;
beforeAll(async () => {
  anvil = await startAnvil();
  folder = newFolder("transaction-crash");
});
afterAll(async () => {
  await anvil.stop("SIGKILL");
  removeFolder(folder);
});

it("loses nothing and sends nothing twice", async () => {
  const random = seededRandom();
  console.log(`transaction crash: PROOFWRIGHT_TEST_SEED=${String(random.seed)}`);
  const [ownerId, networkId] = [randomUUID(), randomUUID()];
  const setup = await run(ownerId, networkId, "-", "drain", "0");
  const [, accountId = "", address = ""] = /^account (\S+) (\S+)$/m.exec(setup) ?? [];
  const kills: [mode: string, send: number, killAfterMs: number][] = [
    ["before", 20 + random.below(10), KILLED_BY_ITSELF_MS],
    ["after", 1 + random.below(20), KILLED_BY_ITSELF_MS],
    ["run", 0, 20 + random.below(200)],
  ];
  const acknowledged: string[] = [];
  for (const [mode, send, killAfterMs] of kills) {
    const result = await runUntilKilled({
      command: [process.execPath, CHILD, folder, anvil.url, ownerId, networkId, accountId, mode, String(send)],
      readyLine: "ready",
      killAfterMs,
    });
    acknowledged.push(...result.acknowledged);
  }
  const printed = await run(ownerId, networkId, accountId, "drain", "0");
  const all = JSON.parse(printed.trim().split("\n").at(-1) ?? "[]") as {
    id: string;
    state: string;
    nonce: number;
    hash: string;
    attempts: number;
  }[];
  const message = `seed ${String(random.seed)}`;
  expect(acknowledged.length, message).toBeGreaterThan(10);
  const ids = new Set(all.map(({ id }) => id));
  expect(
    acknowledged.filter((id) => !ids.has(id)),
    message,
  ).toEqual([]);
  expect(
    all.filter(({ state }) => state !== "confirmed"),
    message,
  ).toEqual([]);
  // A second only where anvil lost sight of one (queued-transaction.ts, `isStuck`).
  expect(
    all.filter(({ attempts }) => attempts > 2),
    message,
  ).toEqual([]);
  const mined = await minedNonces(anvil, address);
  expect(
    mined.map(({ nonce }) => nonce).sort((a, b) => a - b),
    message,
  ).toEqual(Array.from({ length: all.length }, (_, nonce) => nonce));
  expect(new Set(mined.map(({ hash }) => hash)), message).toEqual(new Set(all.map(({ hash }) => hash)));
});

async function run(ownerId: string, networkId: string, accountId: string, mode: string, send: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [CHILD, folder, anvil.url, ownerId, networkId, accountId, mode, send],
    { maxBuffer: 64 * 2 ** 20 },
  );
  return stdout;
}
