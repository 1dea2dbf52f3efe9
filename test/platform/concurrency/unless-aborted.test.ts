import { describe, expect, it } from "vitest";
import { unlessAborted } from "../../../src/platform/concurrency/unless-aborted.js";

describe("work that a signal does not end", () => {
  it("is waited for, with a signal or without", async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(Promise.resolve(1), undefined)).toBe(1);
    expect(await unlessAborted(Promise.resolve(2), signal)).toBe(2);
    await expect(unlessAborted(Promise.reject(new Error("failed")), signal)).rejects.toThrow("failed");
  });

  it("is not waited for once the signal fires, nor after", async () => {
    const gone = new AbortController();
    let fail: ((error: Error) => void) | undefined;
    const work = new Promise<never>((_, reject) => (fail = reject));
    const waiting = unlessAborted(work, gone.signal);
    gone.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    await expect(unlessAborted(work, gone.signal)).rejects.toThrow("gone");
    // Its later failure is nobody's: an unhandled one would end the test.
    fail?.(new Error("late"));
    await expect(work).rejects.toThrow("late");
  });

  it("leaves no listener behind", async () => {
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    signal.addEventListener = (_: string, listener: unknown) => void listeners.add(listener);
    signal.removeEventListener = (_: string, listener: unknown) => void listeners.delete(listener);
    await unlessAborted(Promise.resolve(1), signal);
    expect(listeners.size).toBe(0);
  });
});
