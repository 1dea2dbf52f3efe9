import { describe, expect, it } from "vitest";
import { Turns } from "../../../src/platform/concurrency/keyed-mutex.js";

describe("turns", () => {
  it("run work on one key in order of arrival, and other keys beside it", async () => {
    const turns = new Turns({ waitingMax: 10 });
    const events: string[] = [];
    const work = (name: string) => async () => {
      events.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      events.push(`${name} ends`);
    };
    await Promise.all([turns.run("a", work("first")), turns.run("a", work("second")), turns.run("b", work("other"))]);
    expect(events.filter((event) => !event.startsWith("other"))).toEqual([
      "first begins",
      "first ends",
      "second begins",
      "second ends",
    ]);
    expect(events.indexOf("other begins")).toBeLessThan(events.indexOf("second begins"));
  });

  it("go on after a failure, which reaches its own caller", async () => {
    const turns = new Turns({ waitingMax: 10 });
    const failing = turns.run("a", () => Promise.reject(new Error("broken")));
    const next = turns.run("a", () => Promise.resolve("next"));
    await expect(failing).rejects.toThrow("broken");
    expect(await next).toBe("next");
  });

  it("turn away what the line cannot hold, but for work that must end what was begun", async () => {
    const turns = new Turns({ waitingMax: 1 });
    const held = turns.run(
      "a",
      () =>
        new Promise((resolve) =>
          setImmediate(() => {
            resolve("held");
          }),
        ),
    );
    await expect(turns.run("a", () => Promise.resolve("late"))).rejects.toMatchObject({
      code: "too_many_requests",
      retryAfterSec: 1,
    });
    expect(await turns.run("a", () => Promise.resolve("end"), { evenWhenFull: true })).toBe("end");
    expect(await held).toBe("held");
    expect(await turns.run("a", () => Promise.resolve("again"))).toBe("again");
  });
});
