import { describe, expect, it } from "vitest";
import { PasswordHashLimiter } from "../../../src/platform/auth/password-hash-limiter.js";

interface Task {
  readonly result: Promise<string>;
  readonly finish: () => void;
}

describe("the limiter of password hashes", () => {
  it("runs two at once, lets 32 wait, and rejects the next with a Retry-After", async () => {
    const limiter = new PasswordHashLimiter({ concurrencyMax: 2 });
    let running = 0;
    let most = 0;
    const begin = (): Task => {
      let finish = (): void => undefined;
      const done = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const result = limiter.run(async () => {
        running += 1;
        most = Math.max(most, running);
        await done;
        running -= 1;
        return "done";
      });
      return { result, finish };
    };
    const tasks = Array.from({ length: 34 }, begin);
    await expect(begin().result).rejects.toMatchObject({ code: "too_many_requests", retryAfterSec: 1 });
    expect(running).toBe(2);
    for (const task of tasks) task.finish();
    expect(await Promise.all(tasks.map(({ result }) => result))).toEqual(Array.from({ length: 34 }, () => "done"));
    expect(most).toBe(2);
  });

  it("admits as many attempts as can hash or wait, the others in order of arrival, and rejects those beyond the admission queue", async () => {
    const limiter = new PasswordHashLimiter({ concurrencyMax: 1, queueLengthMax: 1, admissionQueueLengthMax: 2 });
    const entered: number[] = [];
    const leave: (() => void)[] = [];
    const attempts = [0, 1, 2, 3].map(async (index) => {
      const release = await limiter.admit();
      entered.push(index);
      leave.push(release);
    });
    await Promise.all(attempts.slice(0, 2));
    expect(entered).toEqual([0, 1]);
    await expect(limiter.admit()).rejects.toMatchObject({ code: "too_many_requests" });
    leave[0]!();
    await attempts[2];
    leave[1]!();
    await attempts[3];
    expect(entered).toEqual([0, 1, 2, 3]);
    for (const release of leave.slice(2)) release();
    (await limiter.admit())();
  });

  it("hands the place over when a task fails", async () => {
    const limiter = new PasswordHashLimiter({ concurrencyMax: 1, queueLengthMax: 1 });
    const failing = limiter.run(() => Promise.reject(new Error("no memory")));
    const next = limiter.run(() => Promise.resolve("next"));
    await expect(failing).rejects.toThrow("no memory");
    expect(await next).toBe("next");
    expect(await limiter.run(() => Promise.resolve("later"))).toBe("later");
  });
});
