import { describe, expect, it } from "vitest";
import { KeyedMutex } from "../../../src/platform/concurrency/keyed-mutex.js";

describe("a keyed mutex", () => {
  it("runs tasks of one key in order of arrival, and tasks of other keys beside them", async () => {
    const mutex = new KeyedMutex({ waitingMax: 10 });
    const events: string[] = [];
    const work = (name: string) => async () => {
      events.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      events.push(`${name} ends`);
    };
    await Promise.all([mutex.run("a", work("first")), mutex.run("a", work("second")), mutex.run("b", work("other"))]);
    expect(events.filter((event) => !event.startsWith("other"))).toEqual([
      "first begins",
      "first ends",
      "second begins",
      "second ends",
    ]);
    expect(events.indexOf("other begins")).toBeLessThan(events.indexOf("second begins"));
  });

  it("goes on after a failure, which reaches its own caller", async () => {
    const mutex = new KeyedMutex({ waitingMax: 10 });
    const failing = mutex.run("a", () => Promise.reject(new Error("broken")));
    const next = mutex.run("a", () => Promise.resolve("next"));
    await expect(failing).rejects.toThrow("broken");
    expect(await next).toBe("next");
  });

  it("rejects tasks beyond its limit, except those that complete an earlier one", async () => {
    const mutex = new KeyedMutex({ waitingMax: 1 });
    const held = mutex.run(
      "a",
      () =>
        new Promise((resolve) =>
          setImmediate(() => {
            resolve("held");
          }),
        ),
    );
    await expect(mutex.run("a", () => Promise.resolve("late"))).rejects.toMatchObject({
      code: "too_many_requests",
      retryAfterSec: 1,
    });
    expect(await mutex.run("a", () => Promise.resolve("end"), { mayExceedLimit: true })).toBe("end");
    expect(await held).toBe("held");
    expect(await mutex.run("a", () => Promise.resolve("again"))).toBe("again");
  });

  it("lets a waiting task leave by its signal, and keeps the order of the others", async () => {
    const mutex = new KeyedMutex({ waitingMax: 3 });
    const events: string[] = [];
    let end: (() => void) | undefined;
    const held = mutex.run("a", () => new Promise<void>((resolve) => (end = resolve)));
    const gone = new AbortController();
    const leaving = mutex.run("a", () => Promise.resolve(events.push("left")), { signal: gone.signal });
    const staying = mutex.run("a", () => Promise.resolve(events.push("stayed")), { signal: never });
    gone.abort(new Error("gone"));
    await expect(leaving).rejects.toThrow("gone");
    // Its place is free, though the first task still runs.
    const later = mutex.run("a", () => Promise.resolve(events.push("later")));
    await expect(mutex.run("a", () => Promise.resolve(), { signal: gone.signal })).rejects.toThrow("gone");
    expect(events).toEqual([]);
    end?.();
    await Promise.all([held, staying, later]);
    expect(events).toEqual(["stayed", "later"]);
  });

  it("leaves a task that has begun to heed its signal by itself", async () => {
    const mutex = new KeyedMutex({ waitingMax: 1 });
    const gone = new AbortController();
    const task = mutex.run(
      "a",
      async () => {
        gone.abort(new Error("gone"));
        return await Promise.resolve("done");
      },
      { signal: gone.signal },
    );
    expect(await task).toBe("done");
  });
});

const never = new AbortController().signal;
