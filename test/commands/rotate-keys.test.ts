/** `proofwright rotate-keys`: the keys of access tokens and of id tokens together. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runRotateKeys } from "../../src/commands/rotate-keys.js";
import {
  ACCESS_TOKEN_KEY_FILE,
  ID_TOKEN_ALGORITHM,
  ID_TOKEN_KEY_FILE,
  PUBLISH_BEFORE_USE_MS,
  openSigningKeys,
} from "../../src/platform/auth/signing-keys.js";
import { systemClock, type Clock } from "../../src/platform/clock.js";
import type { Config } from "../../src/platform/config.js";
import { quietLog, temporaryFolder } from "../platform/auth/support.js";
import { secretFile } from "../../src/platform/files/secret-file.js";

const LONG_AGO: Clock = { ...systemClock, nowMs: () => Date.now() - PUBLISH_BEFORE_USE_MS - 60_000 };
let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
});

afterEach(() => {
  vi.restoreAllMocks();
});

function config(): Config {
  return { data_dir: folder, signing_algorithm: "EdDSA" } as Config;
}

/** Ids of the keys that sign now and next; makes the keys at first. */
async function accessKeys(clock: Clock = systemClock): Promise<string[]> {
  const keys = await openSigningKeys(
    { file: secretFile(join(folder, ACCESS_TOKEN_KEY_FILE)) },
    { clock, log: quietLog },
  );
  return keys.publicKeys().map(({ kid }) => kid);
}
async function idTokenKeys(clock: Clock = systemClock): Promise<string[]> {
  const options = { file: secretFile(join(folder, ID_TOKEN_KEY_FILE)), algorithm: ID_TOKEN_ALGORITHM } as const;
  return (await openSigningKeys(options, { clock, log: quietLog })).publicKeys().map(({ kid }) => kid);
}

describe("a rotation", () => {
  it("puts both next keys to use, and keeps the old ones for what they signed", async () => {
    const [access, id] = [await accessKeys(LONG_AGO), await idTokenKeys(LONG_AGO)];
    expect(await runRotateKeys(config(), { emergency: false })).toBe(0);
    for (const [before, after] of [
      [access, await accessKeys()],
      [id, await idTokenKeys()],
    ] as const) {
      expect([after[0], after[2]]).toEqual([before[1], before[0]]);
      expect(before).not.toContain(after[1]);
    }
  });

  it("rotates the keys of access tokens alone while those of id tokens are new", async () => {
    const [access, id] = [await accessKeys(LONG_AGO), await idTokenKeys()];
    await runRotateKeys(config(), { emergency: false });
    expect([(await accessKeys())[0], await idTokenKeys()]).toEqual([access[1], id]);
  });

  it("refuses keys that are too new, and changes nothing", async () => {
    const [access, id] = [await accessKeys(), await idTokenKeys(LONG_AGO)];
    await expect(runRotateKeys(config(), { emergency: false })).rejects.toThrow(/published for 15 minutes first/);
    expect([await accessKeys(), await idTokenKeys()]).toEqual([access, id]);
  });

  it("replaces all of both in an emergency", async () => {
    const [access, id] = [await accessKeys(), await idTokenKeys()];
    await runRotateKeys(config(), { emergency: true });
    const after = [...(await accessKeys()), ...(await idTokenKeys())];
    for (const kid of [...access, ...id]) expect(after).not.toContain(kid);
  });
});
