/** `proofwright init`: what it makes, what it asks, where the seal key goes, and that nothing stays when it fails. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, afterEach, describe, expect, it, vi } from "vitest";
import { runInit, type InitInput, type InitTerminal } from "../../src/commands/init.js";
import { canonicalPhrase } from "../../src/crypto/wallets/seal-phrase.js";
import { systemClock } from "../../src/platform/clock.js";
import { loadConfig } from "../../src/platform/config.js";
import { openStore } from "../../src/platform/store/lmdb/lmdb-store.js";
import { admitSealStart } from "../../src/vault/seal/start-mode.js";
import { recordedLog } from "../support/silent-log.js";
import { folderOfTest } from "../support/temporary-folder.js";

const PASSWORD = "a long phrase of my own";
let root: string;
let shown: string;

beforeEach(() => {
  root = folderOfTest("init");
  shown = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    shown += String(text);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** A terminal that a person reads, who gives these answers in turn; without answers, a pipe. */
function terminal(answers?: string[], password = PASSWORD): InitTerminal {
  return {
    showsSecrets: answers !== undefined,
    ask: answers === undefined ? undefined : () => Promise.resolve(answers.shift() ?? ""),
    readPassword: () => Promise.resolve(new Uint8Array(Buffer.from(password))),
    write: (text) => {
      shown += typeof text === "string" ? text : Buffer.from(text).toString("utf8");
    },
  };
}

function input(more: Partial<InitInput> = {}): InitInput {
  const names = { firstName: "Ada", lastName: "Lovelace" };
  return { dataDir: join(root, "data"), issuer: "https://zk.example.com", email: "ada@example.com", ...names, ...more };
}

/** Every file below a folder as one text. */
function everything(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), "latin1"))
    .join("\n");
}

describe("init on a terminal", () => {
  it("asks for what no flag tells, shows the seal key once, and keeps it nowhere", async () => {
    const answers = ["https://zk.example.com", " grace@example.com "];
    expect(await runInit(input({ issuer: undefined, email: undefined }), terminal(answers))).toBe(0);
    const phrase = /\n\n((?:[a-z]+ ){23}[a-z]+)\n\n/.exec(shown)?.[1] ?? "";
    const hash = createHash("sha256").update(phrase).digest("hex");
    expect(canonicalPhrase(Buffer.from(phrase))).toBeDefined();
    expect(shown).toContain(`SEAL_UNSEAL_VALIDATION_HASH=0x${hash}\n`);
    expect(shown).toContain("grace@example.com is an administrator");
    expect(shown).not.toContain(PASSWORD);
    const kept = everything(root);
    for (const secret of [phrase, phrase.split(" ").slice(0, 3).join(" "), PASSWORD])
      expect(kept.includes(secret)).toBe(false);
  });

  it("makes a folder of production, which development mode is refused on", async () => {
    await runInit(input(), terminal([]));
    const dataDir = join(root, "data");
    const store = await openStore({ path: join(dataDir, "store") }, { log: recordedLog() });
    try {
      const start = { mode: "development", makesOwnKey: true, dataDir } as const;
      await expect(admitSealStart(start, { store, clock: systemClock })).rejects.toThrow("has served in production");
    } finally {
      await store.close();
    }
  });
});

describe("init for scripts", () => {
  it("writes the seal key and the settings to the new files that are named, the key for nobody else to read", async () => {
    const [sealKeyTo, configTo] = [join(root, "words"), join(root, "settings.json")];
    await runInit(input({ sealKeyTo, configTo }), terminal());
    expect(statSync(sealKeyTo).mode & 0o777).toBe(0o600);
    const phrase = readFileSync(sealKeyTo, "utf8").trim();
    expect(shown).not.toContain(phrase);
    const config = loadConfig({ flags: {}, env: {}, file: configTo });
    expect(config).toMatchObject({
      mode: "production",
      data_dir: join(root, "data"),
      issuer: "https://zk.example.com",
    });
    expect(config.seal_unseal_validation_hash).toBe(`0x${createHash("sha256").update(phrase).digest("hex")}`);
  });

  it("never shows the seal key where output may be kept", async () => {
    await expect(runInit(input(), terminal())).rejects.toThrow("name a new file for it with --seal-key-to");
    expect([shown, readdirSync(root)]).toEqual(["", []]);
  });

  it.each([
    ["issuer", { issuer: undefined }],
    ["email", { email: undefined }],
  ])("says which flag is missing: --%s", async (flag, missing) => {
    await expect(runInit(input({ sealKeyTo: join(root, "words"), ...missing }), terminal())).rejects.toThrow(
      `--${flag} is missing`,
    );
  });
});

describe("init is refused, and leaves nothing,", () => {
  async function refused(more: Partial<InitInput>, password = PASSWORD): Promise<string> {
    const before = readdirSync(root, { recursive: true });
    const error: unknown = await runInit(input(more), terminal([], password)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    const left = readdirSync(root, { recursive: true }).filter((path) => path !== "data");
    expect(left).toEqual(before.filter((path) => path !== "data"));
    return (error as Error).message;
  }

  it("for a folder with data", async () => {
    mkdirSync(join(root, "data"));
    writeFileSync(join(root, "data", "mine"), "");
    expect(await refused({})).toContain("is not empty (mine)");
  });

  it("for files that exist, which it would overwrite", async () => {
    writeFileSync(join(root, "words"), "mine");
    for (const more of [{ sealKeyTo: join(root, "words") }, { configTo: join(root, "words") }])
      expect(await refused(more)).toContain("exists already");
    expect(readFileSync(join(root, "words"), "utf8")).toBe("mine");
  });

  it("for a seal key in the data folder", async () => {
    expect(await refused({ sealKeyTo: join(root, "data", "words") })).toContain("must not lie in the data folder");
    expect(existsSync(join(root, "data"))).toBe(false);
  });

  it("for a password or an address that no user may have, with the files that it would have written", async () => {
    const sealKeyTo = join(root, "words");
    expect(await refused({ sealKeyTo }, "short")).toContain("password");
    expect(await refused({ sealKeyTo, email: "nobody" })).toContain("e-mail address is not valid");
  });

  it("for a settings file that cannot be written, after the key was", async () => {
    writeFileSync(join(root, "file"), "");
    await refused({ sealKeyTo: join(root, "words"), configTo: join(root, "file", "settings.json") });
  });

  it.each(["http://zk.example.com", "zk.example.com", "https://zk.example.com/", "https://zk.example.com?a=b", ""])(
    "for %j as the issuer",
    async (issuer) => {
      expect(await refused({ issuer })).toContain("cannot be the issuer");
    },
  );
});
