/** Who of several nodes over one store has a duty, as their signs, their vaults and their faults decide. */
import { beforeEach, describe, expect, it } from "vitest";
import { Duties } from "../../../src/platform/cluster/members/duties.js";
import { dutyKey, memberKey, type DutyRecord } from "../../../src/platform/cluster/members/member-records.js";
import { AppError } from "../../../src/platform/errors.js";
import { MemoryStore } from "../../support/memory-store.js";
import { recordedLog } from "../../support/silent-log.js";

const DUTY = "sends";
const REST_MS = 10_000;

let store: MemoryStore;
let nowMs: number;
/** Those whose vault is unsealed, and those of whom every node has heard that it is. */
let unsealed: Set<string>;
let heard: Set<string>;
beforeEach(() => {
  store = new MemoryStore();
  nowMs = 0;
  unsealed = new Set();
  heard = new Set();
});

interface Node {
  readonly duties: Duties;
  readonly log: ReturnType<typeof recordedLog>;
  /** What was begun and ended, in order. */
  readonly did: string[];
  /** Thrown by what begins the work, while it is set. */
  fault: Error | undefined;
  /** Takes the duty when it may, with the work of a vault unless `isPlain`. */
  readonly want: (options?: { readonly isPlain: boolean }) => void;
  /** Reads the signs of the others and settles, as with each sign of its own. */
  readonly beat: (meanwhile?: () => Promise<void>) => Promise<void>;
}

async function node(name: string): Promise<Node> {
  await store.commit({ puts: [{ key: memberKey(name), value: {} }] });
  const log = recordedLog();
  const standsAside = (): boolean => !unsealed.has(name) && [...heard].some((other) => other !== name);
  const duties = new Duties(name, {
    ...{ store, log, standsAside },
    clock: { monotonicMs: () => nowMs },
    isUnsealed: () => unsealed.has(name),
    isAlive: (incarnation) => store.get(memberKey(incarnation)) !== undefined,
  });
  const made: Node = {
    ...{ duties, log, did: [], fault: undefined },
    want: ({ isPlain } = { isPlain: false }) => {
      const begin = (): void => {
        made.did.push("begin");
        if (made.fault !== undefined) throw made.fault;
      };
      const end = async (): Promise<void> => {
        made.did.push("end");
        await Promise.resolve();
      };
      if (isPlain) duties.take(DUTY, begin);
      else duties.take(DUTY, begin, end);
    },
    beat: async (meanwhile) => {
      const free = duties.free();
      await meanwhile?.();
      await duties.settle(free);
    },
  };
  return made;
}

function holder(): string | undefined {
  return store.get<DutyRecord>(dutyKey(DUTY))?.value.incarnation;
}

describe("a duty that needs an unsealed vault", () => {
  it("goes from a sealed node to the unsealed one, and past a third that has not heard of it", async () => {
    const [holds, third, opens] = [await node("holds"), await node("third"), await node("opens")];
    for (const { want } of [holds, third, opens]) want();
    await holds.beat();
    expect(holder()).toBe("holds");
    unsealed.add("opens");
    // The third reads the signs before the one that says so, and settles after the duty was given up.
    await third.beat(async () => {
      heard.add("opens");
      await holds.beat();
      heard.delete("opens");
      expect([holder(), holds.did]).toEqual([undefined, ["begin", "end"]]);
      // Told of the change at once.
      await third.duties.settle();
    });
    expect([holder(), third.did]).toEqual([undefined, []]);
    heard.add("opens");
    await opens.duties.settle();
    for (const { beat } of [third, holds, opens]) await beat();
    expect([holder(), third.did, opens.did]).toEqual(["opens", [], ["begin"]]);
  });

  it("stays where it is while all are sealed, and is taken by a sealed node when its holder has died", async () => {
    const [holds, other] = [await node("holds"), await node("other")];
    for (const { want } of [holds, other]) want();
    for (let round = 0; round < 3; round += 1) for (const { beat } of [holds, other]) await beat();
    expect([holder(), holds.did, other.did]).toEqual(["holds", ["begin"], []]);
    await store.commit({ deletes: [memberKey("holds")] });
    await other.beat();
    expect([holder(), other.did]).toEqual(["other", ["begin"]]);
  });

  it("is taken at once by a node that is unsealed", async () => {
    const opens = await node("opens");
    unsealed.add("opens");
    opens.want();
    await opens.duties.settle();
    expect([holder(), opens.duties.has(DUTY)]).toEqual(["opens", true]);
  });
});

describe.each([{ isPlain: false }, { isPlain: true }])("a duty whose work cannot be begun (%j)", (options) => {
  beforeEach(() => {
    unsealed.add("first").add("second");
  });

  it("is logged, goes to another node, and is not taken back at once", async () => {
    const [first, second] = [await node("first"), await node("second")];
    first.fault = new Error("the work is broken");
    first.want(options);
    await first.duties.settle();
    expect([holder(), first.duties.held]).toEqual([undefined, []]);
    expect(first.did).toEqual(options.isPlain ? ["begin"] : ["begin", "end"]);
    expect(first.log.lines).toContainEqual(
      expect.objectContaining({ level: "error", message: expect.stringContaining("could not be begun") as string }),
    );
    await first.beat();
    expect(holder()).toBeUndefined();
    second.want(options);
    await second.beat();
    expect([holder(), second.did]).toEqual(["second", ["begin"]]);
  });

  it("is tried again by the same node, where there is no other, after a rest", async () => {
    const first = await node("first");
    first.fault = new Error("the work is broken");
    first.want(options);
    await first.beat();
    first.fault = undefined;
    nowMs += REST_MS - 1;
    await first.beat();
    expect(holder()).toBeUndefined();
    nowMs += 1;
    await first.beat();
    expect([holder(), first.duties.has(DUTY)]).toEqual(["first", true]);
  });

  it("is given up later where the store takes no writes then", async () => {
    const [first, second] = [await node("first"), await node("second")];
    first.fault = new Error("the work is broken");
    const commit = store.commit.bind(store);
    store.commit = async (change) => {
      if (change.deletes !== undefined) throw new AppError("store_unreachable", { message: "away" });
      await commit(change);
    };
    first.want(options);
    await first.beat();
    expect(holder()).toBe("first");
    expect(first.duties.has(DUTY)).toBe(false);
    store.commit = commit;
    await first.beat();
    second.want(options);
    await second.beat();
    expect(holder()).toBe("second");
  });
});

it("a store that cannot be read rejects nothing, is logged, and is asked again", async () => {
  const first = await node("first");
  unsealed.add("first");
  const get = store.get.bind(store);
  store.get = () => {
    throw new AppError("data_corrupt", { message: "damaged" });
  };
  first.want();
  await first.duties.settle();
  expect(first.log.lines).toContainEqual(expect.objectContaining({ level: "error" }));
  store.get = get;
  await first.beat();
  expect(holder()).toBe("first");
});
