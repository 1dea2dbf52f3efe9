/** Keys that several calls open at once, on a pool that answers when the test says so. */
import { describe, expect, it } from "vitest";
import { openWithRoom } from "../../../src/engine/proof-systems/open-with-room.js";
import { AppError } from "../../../src/platform/errors.js";
import { OpenKeys, type OpenCall } from "../../../src/prover/compute/open-keys.js";
import { recordedLog } from "../../support/silent-log.js";

const KEY = {
  system: "groth16/BN254",
  provingKey: { sha256: "0".repeat(64), bytes: new SharedArrayBuffer(0) },
} as const;
const OPENED = { ok: true, value: { memory: { buffer: new SharedArrayBuffer(8) } } };

class TestPool {
  readonly calls: {
    readonly call: OpenCall;
    readonly resolve: (value: object) => void;
    readonly reject: (error: Error) => void;
  }[] = [];
  readonly keys = new OpenKeys(
    { budgetBytes: 1024, workspaces: 1 },
    {
      pools: {
        run: (_pool: string, _task: string, _message: object, call: OpenCall = {}) =>
          new Promise<never>((resolve, reject) => {
            this.calls.push({ call, resolve: resolve as (value: object) => void, reject });
          }),
      },
      log: recordedLog(),
    },
  );
}

const overloaded = new AppError("overloaded", { message: "full", retryAfterSec: 1 });

describe("a key that several calls open at once", () => {
  it("is opened once, and kept", async () => {
    const test = new TestPool();
    const both = [test.keys.get(KEY, { owner: "user:a" }), test.keys.get(KEY, { owner: "user:b" })];
    test.calls[0]!.resolve(OPENED);
    const [first, second] = await Promise.all(both);
    expect([first === second, await test.keys.get(KEY), test.calls.length]).toEqual([true, first, 1]);
  });

  it("is opened in another's own turn when the first was refused, came too late or has gone", async () => {
    for (const refusal of [overloaded, new AppError("deadline_exceeded", { message: "late" }), new Error("gone")]) {
      const test = new TestPool();
      const gone = new AbortController();
      const first = test.keys.get(KEY, { owner: "user:a", signal: gone.signal, deadlineMs: 5 });
      const others = [test.keys.get(KEY, { owner: "user:b" }), test.keys.get(KEY, { owner: "user:c" })];
      gone.abort(refusal);
      test.calls[0]!.reject(refusal);
      await expect(first).rejects.toBe(refusal);
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

describe("a key that no memory can hold", () => {
  it("is not opened again by each proof", async () => {
    const test = new TestPool();
    const first = test.keys.get(KEY);
    test.calls[0]!.resolve({ ok: false, code: "internal_error", message: "too large" });
    expect([await first, await test.keys.get(KEY), test.calls.length]).toEqual([undefined, undefined, 1]);
  });
});

describe("opening with the room there is", () => {
  it("takes fewer workspaces until the memory suffices", () => {
    const tried: number[] = [];
    const holding = (max: number) => (workspaces: number) => {
      tried.push(workspaces);
      if (workspaces > max) throw new RangeError("the key does not fit");
      return workspaces;
    };
    expect(openWithRoom(8, holding(3))).toBe(2);
    expect(tried).toEqual([8, 4, 2]);
    expect(() => openWithRoom(8, holding(0))).toThrow(RangeError);
    expect(() =>
      openWithRoom(8, () => {
        throw new TypeError("a bug");
      }),
    ).toThrow(TypeError);
  });
});
