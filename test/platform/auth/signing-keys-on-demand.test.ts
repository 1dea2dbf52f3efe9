/** Signing keys that are made with their first use. */
import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openSigningKeys } from "../../../src/platform/auth/signing-keys.js";
import { SigningKeysOnDemand } from "../../../src/platform/auth/signing-keys-on-demand.js";
import { HeldClock, quietLog, temporaryFolder } from "./support.js";
import { secretFile } from "../../../src/platform/files/secret-file.js";

let path: string;
const dependencies = { clock: new HeldClock(), log: quietLog };

beforeEach(() => {
  path = join(temporaryFolder(), "id-token-keys.json");
});
afterEach(() => {
  vi.useRealTimers();
});

function newKeys(): SigningKeysOnDemand {
  return new SigningKeysOnDemand({ file: secretFile(path) }, dependencies);
}

it("are made with the first use, once, and not by the start", async () => {
  const keys = newKeys();
  await keys.openIfMade();
  expect(existsSync(path)).toBe(false);
  const [first, second] = await Promise.all([keys.open(), keys.open()]);
  expect(existsSync(path)).toBe(true);
  expect(second).toBe(first);
});

it("are those of the file where it is there", async () => {
  const made = await openSigningKeys({ file: secretFile(path) }, dependencies);
  expect((await newKeys().open()).publicKeys()).toEqual(made.publicKeys());
});

it("of a damaged file fail the start, and open once the file is right", async () => {
  writeFileSync(path, "{}", { mode: 0o600 });
  const keys = newKeys();
  await expect(keys.openIfMade()).rejects.toThrow(path);
  const other = join(temporaryFolder(), "right.json");
  const made = await openSigningKeys({ file: secretFile(other) }, dependencies);
  copyFileSync(other, path);
  expect((await keys.open()).publicKeys()).toEqual(made.publicKeys());
});

it.each(["before", "after"])(
  "take up a rotation by another process, watched since %s they were opened",
  async (since) => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const keys = newKeys();
    if (since === "before") keys.startWatching();
    const opened = await keys.open();
    if (since === "after") keys.startWatching();
    const reload = vi.spyOn(opened, "reload").mockResolvedValue();
    await Promise.resolve();
    vi.advanceTimersByTime(60_000);
    expect(reload).toHaveBeenCalled();
    keys.stopWatching();
    await Promise.resolve();
    reload.mockClear();
    vi.advanceTimersByTime(60_000);
    expect(reload).not.toHaveBeenCalled();
  },
);
