// Data folders of production and of development stay apart, whatever settings get lost or added between two starts.
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { canonicalPhrase, phraseEntropy, validationHash } from "../../../src/crypto/wallets/seal-phrase.js";
import { systemClock } from "../../../src/platform/clock.js";
import { StartError } from "../../../src/platform/start-error.js";
import { rewriteStore } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { DEVELOPMENT_PHRASE_FILE, initialiseDevelopmentSeal } from "../../../src/vault/seal/providers/development.js";
import { environmentSealProvider } from "../../../src/vault/seal/providers/environment.js";
import { rekeyStore } from "../../../src/vault/seal/rekey.js";
import { admitSealStart, SEAL_MODE_KEY, type SealStart } from "../../../src/vault/seal/start-mode.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";
import { openTestVault, PHRASE, PHRASE_HASH } from "../../vault/support.js";

const CHAIN_KEY = new Uint8Array(32);
let folder: string;
beforeEach(() => {
  folder = newFolder("start-mode");
});
afterEach(() => {
  removeFolder(folder);
});

/** The settings of a start: nothing at all, production with a hash, or development with a hash. */
const NOTHING = { mode: "development", makesOwnKey: true } as const;
const PRODUCTION = { mode: "production", makesOwnKey: false, validationHash: PHRASE_HASH } as const;
const DEVELOPMENT_WITH_HASH = { ...PRODUCTION, mode: "development" } as const;

/** Starts as a server does, unseals where it can, and stops. Returns why the start was refused. */
async function start(settings: Omit<SealStart, "dataDir">, phrase?: string): Promise<string> {
  const test = await openTestVault({ folder: join(folder, "store"), chainKey: CHAIN_KEY, unsealed: false });
  try {
    await admitSealStart({ ...settings, dataDir: folder }, { store: test.store, clock: systemClock });
  } catch (error) {
    expect(error).toBeInstanceOf(StartError);
    return (error as StartError).message;
  } finally {
    await test.close({ keep: true });
  }
  const provider = settings.makesOwnKey
    ? await initialiseDevelopmentSeal(folder)
    : environmentSealProvider({ validationHash: settings.validationHash });
  const opened = await openTestVault({
    folder: join(folder, "store"),
    chainKey: CHAIN_KEY,
    provider,
    unsealed: false,
  });
  if (phrase !== undefined) await opened.seal.unseal(Buffer.from(phrase));
  const state = await opened.seal.unsealAutomatically();
  await opened.close({ keep: true });
  return state;
}

/** Makes a store of an earlier version, which remembered nothing. */
async function forgetMode(): Promise<void> {
  const test = await openTestVault({ folder: join(folder, "store"), chainKey: CHAIN_KEY, unsealed: false });
  await test.store.commit({ deletes: [SEAL_MODE_KEY] });
  await test.close({ keep: true });
}

async function developmentHash(): Promise<string> {
  const text = canonicalPhrase(await readFile(join(folder, DEVELOPMENT_PHRASE_FILE)));
  return Buffer.from(validationHash(text!)).toString("hex");
}

function entropyOf(text: Uint8Array): Uint8Array {
  return phraseEntropy(canonicalPhrase(text)!)!;
}

const noPhraseFile = async (): Promise<void> => {
  await expect(readFile(join(folder, DEVELOPMENT_PHRASE_FILE))).rejects.toMatchObject({ code: "ENOENT" });
};

describe("a folder that served in production", () => {
  it("is refused to development mode, and gets no phrase, even if it was never unsealed", async () => {
    expect(await start(PRODUCTION)).toBe("sealed");
    expect(await start(NOTHING)).toMatch(/has served in production.*SEAL_UNSEAL_/);
    await noPhraseFile();
    expect(await start(DEVELOPMENT_WITH_HASH)).toMatch(/has served in production/);
    expect(await start(PRODUCTION, PHRASE)).toBe("unsealed");
  });

  it("is refused to development mode when an earlier version served it", async () => {
    expect(await start(PRODUCTION, PHRASE)).toBe("unsealed");
    await forgetMode();
    expect(await start(NOTHING)).toMatch(/a seal key that development mode did not make/);
    await noPhraseFile();
  });
});

describe("a folder that was unsealed with a configured key in development mode", () => {
  it("is refused a key of development mode, and may go into production", async () => {
    expect(await start(DEVELOPMENT_WITH_HASH, PHRASE)).toBe("unsealed");
    expect(await start(NOTHING)).toMatch(/a seal key that development mode did not make/);
    expect(await start(DEVELOPMENT_WITH_HASH, PHRASE)).toBe("unsealed");
    expect(await start(PRODUCTION, PHRASE)).toBe("unsealed");
  });
});

describe("a folder of development mode", () => {
  it("starts again and again in development mode", async () => {
    for (let round = 0; round < 2; round += 1) expect(await start(NOTHING)).toBe("unsealed");
  });

  it("is refused in production, with its own phrase and with another", async () => {
    expect(await start(NOTHING)).toBe("unsealed");
    const own = { ...PRODUCTION, validationHash: await developmentHash() };
    for (const settings of [PRODUCTION, own]) {
      expect(await start(settings)).toMatch(/made by development mode.*rekey/);
      await forgetMode();
      expect(await start(settings)).toMatch(/made by development mode.*rekey/);
      expect(await start(NOTHING)).toBe("unsealed");
    }
    await rm(join(folder, DEVELOPMENT_PHRASE_FILE));
    expect(await start(own)).toMatch(/made by development mode/);
  });

  it("opens in development mode as a copy without its phrase, and stays sealed", async () => {
    expect(await start(NOTHING)).toBe("unsealed");
    await rm(join(folder, DEVELOPMENT_PHRASE_FILE));
    expect(await start(NOTHING)).toBe("sealed");
    expect(await start(PRODUCTION)).toMatch(/made by development mode/);
  });

  it("is refused in production with a phrase that never opened its store", async () => {
    await initialiseDevelopmentSeal(folder);
    expect(await start({ ...PRODUCTION, validationHash: await developmentHash() })).toMatch(/made by development mode/);
    expect(await start(PRODUCTION)).toBe("sealed");
  });

  it("goes into production after a rekey, and not back", async () => {
    expect(await start(NOTHING)).toBe("unsealed");
    const oldEntropy = entropyOf(await readFile(join(folder, DEVELOPMENT_PHRASE_FILE)));
    await rewriteStore({ path: join(folder, "store"), chainKey: CHAIN_KEY }, (store) => {
      rekeyStore(store, { oldEntropy, newEntropy: entropyOf(Buffer.from(PHRASE)) });
    });
    expect(await start(PRODUCTION, PHRASE)).toBe("unsealed");
    expect(await start(NOTHING)).toMatch(/has served in production/);
  });
});
