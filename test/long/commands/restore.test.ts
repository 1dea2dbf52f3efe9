/** `proofwright backup` and `proofwright restore` on data folders without a server: what is in them, and what is refused. */
import { createHash, randomBytes } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { runBackup } from "../../../src/commands/backup/backup.js";
import { SERVER_KEY_FILES } from "../../../src/commands/backup/backup-manifest.js";
import { runRestore } from "../../../src/commands/backup/restore.js";
import { refuseUnfinishedRestore, restoreFolder } from "../../../src/platform/files/data-folder.js";
import { openArtifacts } from "../../../src/platform/store/artifacts.js";
import { openStore, openStoreReader } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { SEAL_MODE_KEY } from "../../../src/vault/seal/start-mode.js";
import { SENTINEL_KEY } from "../../../src/vault/seal/sentinel.js";
import { recordedLog } from "../../support/silent-log.js";
import { folderOfTest, newFolder, removeFolder } from "../../support/temporary-folder.js";

const PHRASE_FILE = "development-seal-phrase";
/** A data folder of each mode, made once: opening a store costs half a second of processor time. */
let made: string;
let root: string;
let printed: string;

beforeAll(async () => {
  made = newFolder("backup-made");
  for (const mode of ["development", "production"] as const) await makeDataFolder(mode, join(made, mode));
});

afterAll(() => {
  removeFolder(made);
});

beforeEach(() => {
  root = folderOfTest("backup");
  printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Makes a data folder as a server leaves it, with a phrase file in either mode. */
async function makeDataFolder(mode: "development" | "production", dataDir: string): Promise<void> {
  const store = await openStore({ path: join(dataDir, "store") }, { log: recordedLog() });
  await store.commit({
    checks: [],
    puts: [
      { key: SEAL_MODE_KEY, value: { mode, since: "2026-01-01T00:00:00.000Z" } },
      { key: SENTINEL_KEY, value: { format_version: 1, store_id: `store-of-${dataDir}`, sentinel: "00" } },
      ...Array.from({ length: 50 }, (_, index) => ({ key: ["thing", String(index)], value: { index } })),
    ],
  });
  await store.close();
  const artifacts = await openArtifacts(join(dataDir, "artifacts"));
  for (let index = 0; index < 3; index += 1) await artifacts.put(randomBytes(1000 + index));
  writeFileSync(join(dataDir, "artifacts", "partial", "an-upload"), "a part");
  for (const file of [...SERVER_KEY_FILES, PHRASE_FILE, "bootstrap-token"])
    writeFileSync(join(dataDir, file), `secret of ${file}`, { mode: 0o600 });
}

/** Returns a copy of the data folder of a mode. */
function dataFolder(mode: "development" | "production"): string {
  const dataDir = join(root, "data");
  cpSync(join(made, mode), dataDir, { recursive: true });
  return dataDir;
}

/** Every file below a folder with its content's hash. */
function contents(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    files.map((file) => {
      const path = join(file.parentPath, file.name);
      return [path.slice(folder.length + 1), createHash("sha256").update(readFileSync(path)).digest("hex")];
    }),
  );
}

async function backedUp(mode: "development" | "production" = "development"): Promise<string> {
  const to = join(root, "backup");
  expect(await runBackup({ dataDir: dataFolder(mode), to })).toBe(0);
  return to;
}

async function refused(input: Partial<Parameters<typeof runRestore>[0]> & { readonly from: string }): Promise<string> {
  const dataDir = input.dataDir ?? join(root, "new");
  const before = existsSync(dataDir) ? [...contents(dataDir)] : [];
  const error: unknown = await runRestore({ ...input, dataDir }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Error);
  expect(existsSync(dataDir) ? [...contents(dataDir)] : []).toEqual(before);
  expect(existsSync(restoreFolder(dataDir))).toBe(false);
  return (error as Error).message;
}

describe("a backup of development mode", () => {
  it("comes back whole, with its seal key and every other key", async () => {
    const from = await backedUp();
    expect(printed).toContain("holds the seal key");
    const dataDir = join(root, "new");
    expect(await runRestore({ from, dataDir })).toBe(0);
    expect(printed).toContain("unseals itself");
    for (const file of [...SERVER_KEY_FILES, PHRASE_FILE]) {
      expect(readFileSync(join(dataDir, file), "utf8")).toBe(`secret of ${file}`);
      expect(statSync(join(dataDir, file)).mode & 0o777).toBe(0o600);
    }
    for (const gone of ["bootstrap-token", "manifest.json", "keys", "artifacts/partial", "restore-in-progress"])
      expect(existsSync(join(dataDir, gone))).toBe(false);
    const sorted = (folder: string): unknown => [...contents(join(folder, "artifacts/sha256"))].sort();
    expect(sorted(dataDir)).toEqual(sorted(join(root, "data")));
    const reader = openStoreReader({ path: join(dataDir, "store") });
    expect(reader.count(["thing"])).toBe(50);
    await reader.close();
  });

  it("has no folder of its own for the keys", async () => {
    const input = { dataDir: dataFolder("development"), to: join(root, "b"), keysTo: join(root, "k") };
    await expect(runBackup(input)).rejects.toThrow("--keys-to is for production");
    expect([existsSync(input.to), existsSync(input.keysTo)]).toEqual([false, false]);
  });
});

describe("a backup of production", () => {
  it("holds no key at all, not even a phrase that development mode left behind, and says so", async () => {
    const from = await backedUp("production");
    const held = [...contents(from).keys()].map((path) => readFileSync(join(from, path)));
    for (const file of [...SERVER_KEY_FILES, PHRASE_FILE])
      expect(held.some((bytes) => bytes.includes(`secret of ${file}`))).toBe(false);
    expect(printed).toContain("holds nothing that unseals the vault");
    expect(JSON.parse(readFileSync(join(from, "manifest.json"), "utf8"))).toMatchObject({ holds_seal_key: false });
    const dataDir = join(root, "new");
    await runRestore({ from, dataDir });
    expect(readdirSync(dataDir).sort()).toEqual(["artifacts", "store"]);
    expect(printed).toContain("sealed until the server gets the seal key");
    expect(printed).toContain("all sessions have ended");
  });

  it("comes back with the server's own keys where they were saved apart, and without a seal key", async () => {
    const [to, keysTo, dataDir] = [join(root, "b"), join(root, "k"), join(root, "new")];
    await runBackup({ dataDir: dataFolder("production"), to, keysTo });
    await runRestore({ from: to, keysFrom: keysTo, dataDir });
    for (const file of SERVER_KEY_FILES) expect(readFileSync(join(dataDir, file), "utf8")).toBe(`secret of ${file}`);
    expect(existsSync(join(dataDir, PHRASE_FILE))).toBe(false);
    expect(printed).not.toContain("all sessions have ended");
  });

  it("takes keys of the same server only, and as keys only", async () => {
    const [to, keysTo] = [join(root, "b"), join(root, "k")];
    await runBackup({ dataDir: dataFolder("production"), to, keysTo });
    const [other, otherKeys] = [join(root, "b2"), join(root, "k2")];
    await makeDataFolder("production", join(root, "other"));
    await runBackup({ dataDir: join(root, "other"), to: other, keysTo: otherKeys });
    expect(await refused({ from: to, keysFrom: otherKeys })).toContain("of another server");
    expect(await refused({ from: keysTo })).toContain("pass it as --keys");
    expect(await refused({ from: to, keysFrom: other })).toContain("does not hold what");
    appendFileSync(join(keysTo, "keys/audit-key"), "x");
    expect(await refused({ from: to, keysFrom: keysTo })).toContain("not as it was backed up");
  });

  it.each([
    ["k", "k/b"],
    ["b/k", "b"],
    ["same", "same"],
  ])("does not put keys into %s beside a backup in %s", async (keys, to) => {
    const input = { dataDir: dataFolder("production"), to: join(root, to), keysTo: join(root, keys) };
    await expect(runBackup(input)).rejects.toThrow("keep the keys apart");
  });
});

describe("a backup", () => {
  it("is not written over anything, nor into what it copies", async () => {
    const dataDir = dataFolder("production");
    const to = join(root, "b");
    mkdirSync(to);
    writeFileSync(join(to, "mine"), "");
    await expect(runBackup({ dataDir, to })).rejects.toThrow("is not empty");
    for (const inside of ["store/b", "artifacts", "artifacts/sha256/b"])
      await expect(runBackup({ dataDir, to: join(dataDir, inside) })).rejects.toThrow("within what is backed up");
    await expect(runBackup({ dataDir: join(root, "none"), to: join(root, "c") })).rejects.toThrow("no store");
  });

  it("is not restored over data, nor beside another restore", async () => {
    const from = await backedUp();
    expect(await refused({ from, dataDir: join(root, "data") })).toContain("is not empty");
    const dataDir = join(root, "new");
    mkdirSync(restoreFolder(dataDir), { recursive: true });
    await expect(runRestore({ from, dataDir })).rejects.toThrow("is not empty");
    expect(() => refuseUnfinishedRestore(dataDir)).toThrow("has not ended");
  });

  it("is restored into a new volume, which has a folder of its own", async () => {
    const from = await backedUp();
    const dataDir = join(root, "volume");
    mkdirSync(join(dataDir, "lost+found"), { recursive: true });
    expect(await runRestore({ from, dataDir })).toBe(0);
    refuseUnfinishedRestore(dataDir);
  });

  it("of the format before is restored as well", async () => {
    const from = await backedUp("production");
    const { files } = JSON.parse(readFileSync(join(from, "manifest.json"), "utf8")) as { files: unknown };
    writeFileSync(join(from, "manifest.json"), JSON.stringify({ format: 1, files }));
    expect(await runRestore({ from, dataDir: join(root, "new") })).toBe(0);
  });

  it("is checked against the hash of its manifest where that is given", async () => {
    const from = await backedUp();
    const manifestSha256 = /SHA-256 of its manifest: ([0-9a-f]{64})\n/.exec(printed)?.[1] ?? "";
    expect(await refused({ from, manifestSha256: "0".repeat(64) })).toContain("another backup, or it was changed");
    expect(await runRestore({ from, manifestSha256: manifestSha256.toUpperCase(), dataDir: join(root, "new") })).toBe(
      0,
    );
  });
});

describe("a backup that is not as it was written", () => {
  const changeManifest =
    (
      change: (
        manifest: Record<string, unknown> & { files: { path: string; sha256: string; bytes: number }[] },
      ) => void,
    ) =>
    (from: string): void => {
      const path = join(from, "manifest.json");
      const manifest = JSON.parse(readFileSync(path, "utf8")) as Parameters<typeof change>[0];
      change(manifest);
      writeFileSync(path, JSON.stringify(manifest));
    };
  const artifactOf = (from: string): string =>
    join(from, [...contents(from).keys()].find((path) => path.startsWith("artifacts/")) ?? "");
  const flip = (path: string, at: number): void => {
    const bytes = readFileSync(path);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  };

  it.each<readonly [what: string, spoil: (from: string) => void, said: string]>([
    ["without a manifest", (from) => rmSync(join(from, "manifest.json")), "no complete backup"],
    ["with half a manifest", (from) => truncateSync(join(from, "manifest.json"), 200), "it is not JSON"],
    [
      "with a manifest of another form",
      (from) => writeFileSync(join(from, "manifest.json"), "[]"),
      "form of a manifest",
    ],
    ["of a newer format", changeManifest((manifest) => (manifest.format = 3)), "format 3"],
    ["of a newer schema", changeManifest((manifest) => (manifest.schema_version = 99)), "schema version 99"],
    [
      "with a store that is cut off",
      (from) => truncateSync(join(from, "store/data.mdb"), 8192),
      "not as it was backed up",
    ],
    ["with a changed bit in the store", (from) => flip(join(from, "store/data.mdb"), 5000), "not as it was backed up"],
    ["with a changed bit in an artifact", (from) => flip(artifactOf(from), 7), "not as it was backed up"],
    ["with a longer artifact", (from) => appendFileSync(artifactOf(from), "x"), "not as it was backed up"],
    ["with an artifact missing", (from) => rmSync(artifactOf(from)), "is not complete: 1 of"],
    ["with a file more", (from) => writeFileSync(join(from, "keys/extra"), ""), "is not in the manifest"],
    [
      "with an artifact under another's name",
      (from) => {
        const path = artifactOf(from);
        const other = `${path.slice(0, -1)}${path.endsWith("0") ? "1" : "0"}`;
        renameSync(path, other);
        changeManifest(({ files }) => {
          for (const file of files) if (path.endsWith(file.path)) file.path = other.slice(from.length + 1);
        })(from);
      },
      "not as it was backed up",
    ],
    [
      "with a link in place of a file",
      (from) => {
        const path = artifactOf(from);
        renameSync(path, join(root, "elsewhere"));
        symlinkSync(join(root, "elsewhere"), path);
      },
      "is not a plain file",
    ],
    [
      "with a path that leads out of it",
      changeManifest(({ files }) => {
        for (const file of files) if (file.path.startsWith("keys/")) file.path = "keys/../../../escaped";
      }),
      "is no file of a backup",
    ],
    ["with a file named twice", changeManifest(({ files }) => files.push(...files.slice(0, 1))), "names a file twice"],
    [
      "without its store",
      (from) => {
        rmSync(join(from, "store"), { recursive: true });
        changeManifest(
          (manifest) => (manifest.files = manifest.files.filter(({ path }) => !path.startsWith("store/"))),
        )(from);
      },
      "names no store",
    ],
  ])("is refused %s, and leaves nothing", async (_, spoil, said) => {
    const from = await backedUp();
    spoil(from);
    expect(await refused({ from })).toContain(said);
  });

  it("is refused when its store is damaged though the manifest agrees", async () => {
    const from = await backedUp();
    const path = join(from, "store/data.mdb");
    const bytes = readFileSync(path);
    const at = bytes.lastIndexOf('{"index":4');
    expect(at).toBeGreaterThan(0);
    for (let found = bytes.indexOf('{"index":4'); found >= 0; found = bytes.indexOf('{"index":4', found + 1))
      bytes[found + 2] = 0x79;
    writeFileSync(path, bytes);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    changeManifest(({ files }) => {
      for (const file of files) if (file.path === "store/data.mdb") file.sha256 = sha256;
    })(from);
    expect(await refused({ from })).toContain("the store of the backup is damaged");
  });

  it("is refused when the store itself is of a newer schema than the manifest says", async () => {
    const dataDir = dataFolder("production");
    rmSync(join(dataDir, "store"), { recursive: true });
    const migrations = [{ to: 99, title: "the future", run: () => undefined }];
    const store = await openStore({ path: join(dataDir, "store"), migrations }, { log: recordedLog() });
    await store.close();
    const from = join(root, "b");
    await runBackup({ dataDir, to: from });
    changeManifest((manifest) => (manifest.schema_version = 2))(from);
    expect(await refused({ from })).toContain("schema version 99");
  });

  it("is a copy of files, whatever becomes of the original", async () => {
    const from = await backedUp();
    const moved = join(root, "moved");
    cpSync(from, moved, { recursive: true });
    rmSync(from, { recursive: true });
    rmSync(join(root, "data"), { recursive: true });
    expect(await runRestore({ from: moved, dataDir: join(root, "new") })).toBe(0);
  });
});
