// The opened keys of a worker: how long they stay, how many, and what drops them.
import { createSecretKey, randomBytes, type KeyObject } from "node:crypto";
import { describe, expect, it } from "vitest";
import { KeyObjects } from "../../../src/vault/worker/key-objects.js";

const MINUTE_MS = 60_000;
const OPENED_MAX = 256;

/** A set of opened keys with a clock that the test moves, and how often a key was opened. */
function openedKeys(): {
  keys: KeyObjects;
  clock: { ms: number };
  get: (name: string, vaultId?: string) => KeyObject;
  opened: string[];
} {
  const clock = { ms: 1 },
    opened: string[] = [];
  const keys = new KeyObjects({ nowMs: () => clock.ms });
  const get = (name: string, vaultId = "vault"): KeyObject =>
    keys.get(name, vaultId, () => {
      opened.push(name);
      return createSecretKey(randomBytes(32));
    }).secret;
  return { keys, clock, get, opened };
}

describe("opened keys", () => {
  it("are kept while they are used, and dropped after an idle minute and a sweep", () => {
    const { keys, clock, get, opened } = openedKeys();
    const key = get("a");
    for (let round = 0; round < 5; round += 1) {
      clock.ms += MINUTE_MS - 2_000;
      keys.dropIdle();
      expect(get("a")).toBe(key);
    }
    clock.ms += MINUTE_MS + 1;
    keys.dropIdle();
    expect(get("a")).not.toBe(key);
    expect(opened).toEqual(["a", "a"]);
  });

  it("are 256 at most, the least recently used first to go", () => {
    const { get, opened } = openedKeys();
    for (let index = 0; index < OPENED_MAX; index += 1) get(String(index));
    get("0");
    get("one more");
    get("0");
    get("1");
    expect(opened.slice(OPENED_MAX)).toEqual(["one more", "1"]);
  });

  it("of a forgotten vault are dropped, and no other's; clearing drops all", () => {
    const { keys, get, opened } = openedKeys();
    get("a", "one");
    get("b", "other");
    keys.forgetVault("one");
    get("a", "one");
    get("b", "other");
    expect(opened).toEqual(["a", "b", "a"]);
    keys.clear();
    get("b", "other");
    expect(opened).toEqual(["a", "b", "a", "b"]);
  });

  it("are not kept when they cannot be opened", () => {
    const { keys, get, opened } = openedKeys();
    expect(() =>
      keys.get("a", "vault", () => {
        throw new Error("damaged");
      }),
    ).toThrow("damaged");
    get("a");
    expect(opened).toEqual(["a"]);
  });
});
