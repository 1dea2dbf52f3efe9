/** What nodes tell each other of their folders of powers-of-tau files, and which of them makes a key that takes one. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { NodeFolders } from "../../../src/prover/reference-strings/node-folders.js";
import {
  PowersRecords,
  type PowersRecord,
  type PublishedString,
} from "../../../src/prover/reference-strings/powers-records.js";
import { NodesInMemory } from "../../support/nodes-in-memory.js";
import { recordedLog, type RecordedLog } from "../../support/silent-log.js";
import { folderOfTest } from "../../support/temporary-folder.js";

const POWER = 3;
const NEEDED = { curve: "BN254", power: POWER } as const;
const FILE = "three.ptau";

let file: Uint8Array;
let cluster: NodesInMemory;
beforeAll(async () => {
  file = await makePowersOfTau(POWER, { isPrepared: false });
});
beforeEach(() => {
  cluster = new NodesInMemory();
});

interface Told {
  readonly folders: NodeFolders;
  readonly folder: string;
  readonly records: PowersRecords;
  readonly log: RecordedLog;
  readonly changes: () => number;
}

/** A node that has told the others of its folder, with the file in it or not. */
async function node(name: string, { hasFile }: { readonly hasFile: boolean }): Promise<Told> {
  const folder = folderOfTest(`ptau-${name}`);
  if (hasFile) writeFileSync(join(folder, FILE), file);
  const { store, nodes } = cluster.node(name);
  const [records, log] = [new PowersRecords({ store }), recordedLog()];
  let changes = 0;
  const onChanged = (): void => {
    changes += 1;
  };
  const folders = new NodeFolders({ folder }, { store, nodes, records, onChanged, onRound: () => undefined, log });
  await folders.start();
  folders.stop();
  return { folders, folder, records, log, changes: () => changes };
}

/** Records that the only file that was told of was checked or refused. */
async function settle({ folders, records }: Told, state: PowersRecord["state"]): Promise<void> {
  const { identity } = folders.others()[0]!;
  const common = { file: FILE, identity, checked_at: "2026-01-01T00:00:00.000Z" } as const;
  const string: PublishedString = {
    ...{ sha256: "0".repeat(64), bytes: 1, power: POWER, ceremony_power: POWER, prepared: false },
    ...{ curve: NEEDED.curve, contributions: [], contributions_checked: true },
  };
  const refused = { fault: "truncated", message: "cut off" } as const;
  const record: PowersRecord = state === "checked" ? { ...common, state, string } : { ...common, state, ...refused };
  await cluster.store.commit(records.put(record));
}

it("a key is left to a node that has a file which may do, and to nobody else", async () => {
  const without = await node("without", { hasFile: false });
  const having = await node("having", { hasFile: true });
  expect(without.folders.others()).toMatchObject([{ file: FILE, claim: { ...NEEDED, prepared: false } }]);
  expect(having.folders.others()).toEqual([]);
  expect([without.folders.hasElsewhere(NEEDED), having.folders.hasElsewhere(NEEDED)]).toEqual([true, false]);
  expect([without.folders.isFor(NEEDED), having.folders.isFor(NEEDED)]).toEqual([false, true]);
});

it.each([
  ["a larger power", { ...NEEDED, power: POWER + 1 }],
  ["another curve", { ...NEEDED, curve: "BLS12_381" }],
] as const)("a file does not do for %s, so that any node may say that there is none", async (_what, needed) => {
  const without = await node("without", { hasFile: false });
  await node("having", { hasFile: true });
  expect([without.folders.hasElsewhere(needed), without.folders.isFor(needed)]).toEqual([false, true]);
});

it("a node that has ended has no file any more, and what it told goes with the next that tells something", async () => {
  const without = await node("without", { hasFile: false });
  await node("having", { hasFile: true });
  cluster.end("having");
  expect([without.folders.hasElsewhere(NEEDED), without.folders.isFor(NEEDED)]).toEqual([false, true]);
  expect(cluster.store.count(["powers_of_tau_folder"])).toBe(1);
  await node("next", { hasFile: true });
  const told = cluster.store.range(["powers_of_tau_folder"]).map(({ key }) => key[1]);
  expect(told).toEqual(["next"]);
});

it.each([
  ["checked, since its string is kept for all", "checked" as const],
  ["refused", "refused" as const],
])("a key may be made on every node once the file was %s", async (_what, state) => {
  const without = await node("without", { hasFile: false });
  await node("having", { hasFile: true });
  await settle(without, state);
  expect([without.folders.hasElsewhere(NEEDED), without.folders.isFor(NEEDED)]).toEqual([false, true]);
});

it("what comes into a folder and goes from it is told, and what stays is told once", async () => {
  const without = await node("without", { hasFile: false });
  const having = await node("having", { hasFile: false });
  writeFileSync(join(having.folder, FILE), file);
  expect(without.folders.isFor(NEEDED)).toBe(true);
  await having.folders.tell();
  expect(without.folders.isFor(NEEDED)).toBe(false);
  const { version } = cluster.store.get(["powers_of_tau_folder", "having"])!;
  await having.folders.tell();
  expect(cluster.store.get(["powers_of_tau_folder", "having"])?.version).toBe(version);
  expect([without.changes(), having.changes()]).toEqual([1, 1]);
  rmSync(join(having.folder, FILE));
  await having.folders.tell();
  expect(without.folders.isFor(NEEDED)).toBe(true);
});

it("a folder that cannot be read is warned of once, and the node starts", async () => {
  const { store, nodes } = cluster.node("broken");
  const log = recordedLog();
  const folder = join(folderOfTest("ptau-broken"), "nowhere");
  const records = new PowersRecords({ store });
  const folders = new NodeFolders(
    { folder },
    { store, nodes, records, onChanged: () => undefined, onRound: () => undefined, log },
  );
  for (let start = 0; start < 2; start += 1) {
    await folders.start();
    folders.stop();
  }
  expect(log.lines.map(({ level }) => level)).toEqual(["warn"]);
});
