/** A node's copy of the state: what is decided over rows that are not written yet, and when others can read them. */
import { afterAll, describe, expect, it } from "vitest";
import { ROW_FORMAT, encodeBody, type LogRow } from "../../../src/platform/cluster/log/log-row.js";
import { Replica, ReplicaSpent, type EvaluatedGroup } from "../../../src/platform/cluster/replica.js";
import { ChainKey } from "../../../src/platform/store/chain.js";
import {
  emptyMeta,
  openEnvironment,
  readMeta,
  transact,
  writeMeta,
  type Environment,
} from "../../../src/platform/store/lmdb/lmdb-environment.js";
import { readRange } from "../../../src/platform/store/lmdb/lmdb-reader.js";
import { scrubStoreNow } from "../../../src/platform/store/lmdb/lmdb-scrub.js";
import { randomGroup } from "../../support/random-commits.js";
import { seededRandom } from "../../support/seeded.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const CLUSTER = "00000000-0000-4000-8000-000000000001";
const NODE = "00000000-0000-4000-8000-000000000002";
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) removeFolder(folder);
});

interface Member {
  readonly environment: Environment;
  readonly replica: Replica;
}

function member(): Member {
  const folder = newFolder("replica");
  folders.push(folder);
  const environment = openEnvironment(folder, { isUnsynced: true });
  transact(environment, () => {
    writeMeta(environment, emptyMeta(1));
  });
  return { environment, replica: new Replica(environment, new ChainKey(new Uint8Array(32))) };
}

function rowOf(g: number, { body, first, end }: NonNullable<EvaluatedGroup["change"]>): LogRow {
  const whole = { g, node: NODE, incarnation: NODE, format: ROW_FORMAT, first, ...end, body: encodeBody(body) };
  return { ...whole, mac: Buffer.alloc(32, g) };
}

/** With the changes in the order of their keys: deletions of a prefix come in any. */
function inOrder({ outcomes, change }: EvaluatedGroup): unknown {
  if (change === undefined) return { outcomes };
  const changes = [...change.body.changes].sort((a, b) => a.key.compare(b.key));
  return { outcomes, change: { ...change, body: { ...change.body, changes } } };
}

/** What others can read of it. */
function stored({ environment }: Member): unknown {
  environment.resetReadTxn();
  return [readMeta(environment), readRange(environment, [])];
}

describe("a replica", () => {
  it("decides over rows that wait to be written as over those that are, and shows none of them before", async () => {
    const random = seededRandom();
    const [writer, at, late] = [member(), member(), member()];
    let g = 0;
    for (let turn = 0; turn < 60; turn += 1) {
      const label = `turn ${String(turn)}, seed ${String(random.seed)}`;
      const before = stored(late);
      for (let rows = 1 + random.below(4); rows > 0; rows -= 1) {
        const group = randomGroup(random);
        const decided = writer.replica.evaluate(group);
        for (const { replica } of [at, late]) expect(inOrder(replica.evaluate(group)), label).toEqual(inOrder(decided));
        if (decided.change === undefined) continue;
        g += 1;
        const row = rowOf(g, decided.change);
        writer.replica.stage(row, CLUSTER, decided.change.body);
        writer.replica.settle();
        at.replica.stage(row, CLUSTER);
        at.replica.settle();
        late.replica.stage(row, CLUSTER);
        expect(late.replica.end(), label).toEqual(writer.replica.end());
        expect(stored(late), label).toEqual(before);
      }
      late.replica.settle();
      for (const other of [at, late]) {
        expect(stored(other), label).toEqual(stored(writer));
        expect(other.replica.place(), label).toEqual(writer.replica.place());
      }
    }
    for (const { environment } of [writer, at, late]) {
      expect(scrubStoreNow(environment)).toMatchObject({ sound: true });
      await environment.close();
    }
  });

  it("takes in no row whose writer had other records, and keeps those before it", async () => {
    const random = seededRandom();
    const [writer, other] = [member(), member()];
    const rows: LogRow[] = [];
    while (rows.length < 3) {
      const { change } = writer.replica.evaluate(randomGroup(random));
      if (change === undefined) continue;
      rows.push(rowOf(rows.length + 1, change));
      writer.replica.stage(rows.at(-1) as LogRow, CLUSTER, change.body);
      writer.replica.settle();
    }
    const [first, second, third] = rows as [LogRow, LogRow, LogRow];
    other.replica.stage(first, CLUSTER);
    const wrong = [
      { ...second, count: second.count + 1 },
      { ...second, tagSum: BigInt.asUintN(64, second.tagSum + 1n) },
      third.tagSum === second.tagSum ? { ...third, count: -1 } : { ...second, tagSum: third.tagSum },
    ];
    for (const row of wrong)
      expect(() => other.replica.stage(row, CLUSTER), `seed ${String(random.seed)}`).toThrow(ReplicaSpent);
    other.replica.settle();
    expect(other.replica.place()?.g).toBe(1);
    for (const row of [second, third]) other.replica.stage(row, CLUSTER);
    other.replica.settle();
    expect(stored(other), `seed ${String(random.seed)}`).toEqual(stored(writer));
    for (const { environment } of [writer, other]) await environment.close();
  });
});
