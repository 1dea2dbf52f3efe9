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
});
