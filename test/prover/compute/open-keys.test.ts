/** Keys that several calls open at once, on a pool that answers when the test says so. */
import { describe, expect, it } from "vitest";
import { openKeyBytes, storedKeyNeeds } from "../../../src/engine/proof-systems/memory-needs.js";
import { openWithRoom } from "../../../src/engine/proof-systems/open-with-room.js";
import type { OpenKey, OpenKeyRoom } from "../../../src/engine/protocol.js";
import { MemoryBudget } from "../../../src/platform/concurrency/memory-budget.js";
import { AppError } from "../../../src/platform/errors.js";
import type { KeyImages } from "../../../src/prover/compute/keys/key-images.js";
import { OpenKeys, type OpenCall } from "../../../src/prover/compute/keys/open-keys.js";
import { storedKey } from "../../support/stored-key.js";
import { recordedLog } from "../../support/silent-log.js";

const KEY = {
  system: "groth16/BN254",
  provingKey: storedKey({ sha256: "0".repeat(64), bytes: new SharedArrayBuffer(0) }),
  circuit: {
    curve: "BN254",
    ...{ wireCount: 4, constraintCount: 2, outputCount: 0, publicInputCount: 1, privateInputCount: 1 },
    signals: [],
  },
} as const;
const OPENED = { ok: true, value: { memory: { buffer: new SharedArrayBuffer(8) } } };

/** What a key of this system and circuit is told to take with one workspace. */
const LEAST_BYTES = openKeyBytes(storedKeyNeeds(KEY.system, KEY.circuit, { keyBytes: 0 }), { workspaces: 1 });
/** A key in a memory as large as it was told. */
const LARGE = { ok: true, value: { memory: { buffer: { byteLength: LEAST_BYTES } } } };

class TestPool {
  readonly calls: {
    readonly task: string;
    readonly call: OpenCall;
    readonly resolve: (value: object) => void;
    readonly reject: (error: Error) => void;
  }[] = [];
  readonly keys: OpenKeys;

  constructor(memory?: MemoryBudget, images?: KeyImages) {
    this.keys = new OpenKeys(
      { budgetBytes: LEAST_BYTES, workspaces: 1 },
      {
        ...(memory === undefined ? {} : { memory }),
        images,
        pools: {
          run: (_pool: string, task: string, _message: object, call: OpenCall = {}) =>
            new Promise<never>((resolve, reject) => {
              this.calls.push({ task, call, resolve: resolve as (value: object) => void, reject });
            }),
        },
        log: recordedLog(),
      },
    );
  }

  /** Opens the key, and lets it go at once. */
  async open(file: typeof KEY, call: OpenCall = {}): Promise<OpenKey | undefined> {
    return await this.keys.use(file, call, (openKey) => Promise.resolve(openKey));
  }

  /** Proves with a key until `end` is called. */
  prove(
    sha256: string,
    call: OpenCall = {},
  ): { readonly begun: () => boolean; readonly end: () => void; readonly done: Promise<void> } {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let isBegun = false;
    const done = this.keys.use({ ...KEY, provingKey: { ...KEY.provingKey, sha256 } }, call, async () => {
      isBegun = true;
      await ended;
    });
    return { begun: () => isBegun, end, done };
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const overloaded = new AppError("overloaded", { message: "full", retryAfterSec: 1 });

describe("a key that several calls open at once", () => {
  it("is opened once, and kept", async () => {
    const test = new TestPool();
    const both = [test.open(KEY, { owner: "user:a" }), test.open(KEY, { owner: "user:b" })];
    await turn();
    test.calls[0]!.resolve(OPENED);
    const [first, second] = await Promise.all(both);
    expect([first === second, await test.open(KEY), test.calls.length]).toEqual([true, first, 1]);
  });

  it("is opened in another's own turn when the first was refused, came too late or has gone", async () => {
    for (const refusal of [overloaded, new AppError("deadline_exceeded", { message: "late" }), new Error("gone")]) {
      const test = new TestPool();
      const gone = new AbortController();
      const first = test.open(KEY, { owner: "user:a", signal: gone.signal, deadlineMs: 5 });
      const others = [test.open(KEY, { owner: "user:b" }), test.open(KEY, { owner: "user:c" })];
      await turn();
      gone.abort(refusal);
      test.calls[0]!.reject(refusal);
      await expect(first).rejects.toBe(refusal);
      await turn();
      expect(test.calls.map(({ call }) => call)).toMatchObject([
        { owner: "user:a", deadlineMs: 5 },
        { owner: "user:b" },
      ]);
      test.calls[1]!.resolve(OPENED);
      const [second, third] = await Promise.all(others);
      expect([second === third, second?.key, test.calls.length]).toEqual([true, OPENED.value, 2]);
    }
  });
});

describe("a call that waits for another's opening", () => {
  it("ends with its own signal, and the opening goes on for the others", async () => {
    const test = new TestPool();
    const leaving = new AbortController();
    const first = test.open(KEY, { owner: "user:a" });
    const left = test.open(KEY, { owner: "user:b", signal: leaving.signal });
    const stays = test.open(KEY, { owner: "user:c", signal: new AbortController().signal });
    await turn();
    leaving.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    test.calls[0]!.resolve(OPENED);
    expect([(await first) === (await stays), test.calls.length]).toEqual([true, 1]);
  });

  it("waits no longer than its own deadline", async () => {
    const test = new TestPool();
    const first = test.open(KEY, { owner: "user:a" });
    await expect(test.open(KEY, { owner: "user:b", deadlineMs: 1 })).rejects.toMatchObject({
      code: "deadline_exceeded",
      retryAfterSec: 10,
    });
    test.calls[0]!.resolve(OPENED);
    expect([(await first)?.key, test.calls.length]).toEqual([OPENED.value, 1]);
  });
});

describe("a key that no memory can hold", () => {
  it("is not opened again by each proof", async () => {
    const test = new TestPool();
    const first = test.open(KEY);
    await turn();
    test.calls[0]!.resolve({ ok: false, code: "internal_error", message: "too large" });
    expect([await first, await test.open(KEY), test.calls.length]).toEqual([undefined, undefined, 1]);
  });
});

describe("keys that do not fit beside each other", () => {
  it("are proved with one after the other", async () => {
    const memory = new MemoryBudget({ bytes: 1.5 * LEAST_BYTES });
    const test = new TestPool(memory);
    const [first, second] = [test.prove("a"), test.prove("b")];
    await turn();
    test.calls[0]!.resolve(LARGE);
    await turn();
    expect([first.begun(), second.begun(), test.calls.length, memory.taken]).toEqual([true, false, 1, LEAST_BYTES]);
    first.end();
    await first.done;
    await turn();
    test.calls[1]!.resolve(LARGE);
    await turn();
    expect([second.begun(), memory.taken]).toEqual([true, LEAST_BYTES]);
    second.end();
    await second.done;
    // Kept for the next proof, until other work wants the memory.
    expect(memory.taken).toBe(LEAST_BYTES);
    (await memory.take({ bytes: LEAST_BYTES, what: "a setup" })).release();
    expect(memory.taken).toBe(0);
  });

  it("are not used again before work that has waited long enough for their memory", async () => {
    const memory = new MemoryBudget({ bytes: LEAST_BYTES, patienceMs: 0 });
    const test = new TestPool(memory);
    const first = test.prove("a");
    await turn();
    test.calls[0]!.resolve(LARGE);
    await turn();
    const setup = memory.take({ bytes: LEAST_BYTES, what: "a setup" });
    const again = test.prove("a");
    const late = test.prove("a", { deadlineMs: 1 });
    await expect(late.done).rejects.toMatchObject({ code: "deadline_exceeded" });
    expect([first.begun(), again.begun()]).toEqual([true, false]);
    first.end();
    await first.done;
    (await setup).release();
    await turn();
    test.calls[1]!.resolve(LARGE);
    await turn();
    expect(again.begun()).toBe(true);
    again.end();
    await again.done;
  });

  it("give their memory back when they are dropped, once the last proof with them has ended", async () => {
    const memory = new MemoryBudget({ bytes: 4 * LEAST_BYTES });
    const test = new TestPool(memory);
    const proof = test.prove("a");
    await turn();
    test.calls[0]!.resolve(LARGE);
    await turn();
    test.keys.drop("a");
    expect(memory.taken).toBe(LEAST_BYTES);
    proof.end();
    await proof.done;
    expect(memory.taken).toBe(0);
  });

  it("wait no longer than their proofs may take, and are refused where they never fit", async () => {
    const memory = new MemoryBudget({ bytes: LEAST_BYTES });
    const held = await memory.take({ bytes: LEAST_BYTES, what: "a setup" });
    const test = new TestPool(memory);
    await expect(test.prove("a", { deadlineMs: 1 }).done).rejects.toMatchObject({ code: "deadline_exceeded" });
    held.release();
    const small = new TestPool(new MemoryBudget({ bytes: LEAST_BYTES - 1 }));
    await expect(small.prove("a").done).rejects.toMatchObject({ code: "insufficient_memory" });
    expect([test.calls.length, small.calls.length]).toEqual([0, 0]);
  });
});

describe("opening with the room there is", () => {
  it("takes fewer workspaces until the memory suffices", () => {
    const tried: number[] = [];
    const holding =
      (max: number) =>
      ({ workspaces, helpers = 0 }: OpenKeyRoom) => {
        // A helper takes a tenth of a workspace.
        tried.push(workspaces + helpers / 10);
        if (workspaces + helpers / 10 > max) throw new RangeError("the key does not fit");
        return workspaces;
      };
    expect(openWithRoom({ workspaces: 8 }, holding(3))).toBe(2);
    expect(tried).toEqual([8, 4, 2]);
    tried.length = 0;
    expect(openWithRoom({ workspaces: 8 }, holding(1.2))).toBe(1);
    expect(tried).toEqual([8, 4, 2, 1.7, 1.3, 1.1]);
    const rooms: OpenKeyRoom[] = [];
    const holdingNoTables = (room: OpenKeyRoom): number => {
      rooms.push(room);
      if (room.tableBytesMax !== undefined) throw new RangeError("the tables do not fit");
      return room.workspaces;
    };
    for (const wanted of [{ workspaces: 8 }, { workspaces: 1, helpers: 2 }]) {
      rooms.length = 0;
      expect(openWithRoom({ ...wanted, tableBytesMax: 5 }, holdingNoTables)).toBe(wanted.workspaces);
      expect(rooms).toEqual([{ ...wanted, tableBytesMax: 5 }, wanted]);
    }
    expect(() => openWithRoom({ workspaces: 8 }, holding(0))).toThrow(RangeError);
    expect(() =>
      openWithRoom({ workspaces: 8 }, () => {
        throw new TypeError("a bug");
      }),
    ).toThrow(TypeError);
  });
});

describe("a key that is opened ahead of its first proof", () => {
  const other = { ...KEY, provingKey: { ...KEY.provingKey, sha256: "1".repeat(64) } };
  const used = (openKey: OpenKey): Promise<OpenKey> => Promise.resolve(openKey);

  it("is the one that the first proof finds, also while it is being opened", async () => {
    const test = new TestPool();
    const warmed = test.keys.warm(KEY, {}, used);
    const first = test.open(KEY);
    await turn();
    test.calls[0]!.resolve(OPENED);
    expect([(await warmed) === (await first), await test.open(KEY), test.calls.length]).toEqual([true, await first, 1]);
  });

  it("takes no other key's place", async () => {
    const test = new TestPool();
    const first = test.open(KEY);
    await turn();
    test.calls[0]!.resolve(LARGE);
    await first;
    expect([await test.keys.warm(other, {}, used), test.calls.length]).toEqual([undefined, 1]);
    expect((await test.open(KEY))?.id).toBe((await first)?.id);
  });

  it("takes no memory that other work has, or waits for", async () => {
    const memory = new MemoryBudget({ bytes: 1.5 * LEAST_BYTES, patienceMs: 0 });
    const share = await memory.take({ bytes: LEAST_BYTES, what: "a setup" });
    const test = new TestPool(memory);
    expect([await test.keys.warm(KEY, {}, used), test.calls.length]).toEqual([undefined, 0]);
    const waiting = memory.take({ bytes: LEAST_BYTES, what: "another setup" });
    expect([await test.keys.warm(KEY, {}, used), test.calls.length]).toEqual([undefined, 0]);
    share.release();
    (await waiting).release();
    const warmed = test.keys.warm(KEY, {}, used);
    await turn();
    test.calls[0]!.resolve(LARGE);
    expect((await warmed)?.key).toEqual(LARGE.value);
  });
});

describe("a key that has an image", () => {
  const pin = { find: () => Promise.resolve(undefined), keep: () => Promise.resolve() };

  /** Images that answer what a test says, and note what they were asked. */
  function imagesOf(key: OpenKey["key"] | undefined): { readonly images: KeyImages; readonly asked: string[] } {
    const asked: string[] = [];
    const images = {
      read: async () => {
        asked.push("read");
        return await Promise.resolve(key);
      },
      keep: async (_of: object, openKey: OpenKey) => {
        asked.push(`keep ${openKey.id}`);
        await Promise.resolve();
      },
      noteUse: () => {
        asked.push("used");
      },
    };
    return { images: images as unknown as KeyImages, asked };
  }

  /** A key whose file says when it is read. */
  function watchedKey(asked: string[]): typeof KEY {
    const file = async (): ReturnType<typeof KEY.provingKey.read> => {
      asked.push("file");
      return await KEY.provingKey.read();
    };
    return { ...KEY, provingKey: { ...KEY.provingKey, read: file, pin } };
  }

  it("is read from there, and its file is not", async () => {
    const { images, asked } = imagesOf(OPENED.value as unknown as OpenKey["key"]);
    const test = new TestPool(undefined, images);
    const first = await test.open(watchedKey(asked));
    expect([first?.key, test.calls, asked]).toEqual([OPENED.value, [], ["read", "used"]]);
  });

  it("is made from its file where there is none to read, and the image is written once, after the first use", async () => {
    const { images, asked } = imagesOf(undefined);
    const test = new TestPool(undefined, images);
    const key = watchedKey(asked);
    const first = test.open(key);
    await turn();
    test.calls[0]!.resolve(OPENED);
    const id = (await first)?.id ?? "";
    await test.open(key);
    expect([test.calls.map(({ task }) => task), asked]).toEqual([
      ["open_key"],
      ["read", "file", "used", `keep ${id}`, "used"],
    ]);
  });
});
