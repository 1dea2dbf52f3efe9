/** Artifacts of two nodes whose files are in a real PostgreSQL. */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { databaseAddress } from "../../src/platform/cluster/database-address.js";
import { FILE_TABLES } from "../../src/platform/cluster/files/file-tables.js";
import { PostgresFiles } from "../../src/platform/cluster/files/postgres-files.js";
import { openArtifacts, type Artifacts } from "../../src/platform/store/artifacts.js";
import type { SharedFiles } from "../../src/platform/store/shared-files.js";
import { uploadArtifacts, type UploadProgress } from "../../src/platform/store/upload-artifacts.js";
import { DatabaseProxy } from "../support/database-proxy.js";
import { Postgres } from "../support/postgres.js";
import { newFolder, removeFolder } from "../support/temporary-folder.js";

const MIB = 1 << 20;

interface Node {
  readonly artifacts: Artifacts;
  readonly folder: string;
  readonly shared: SharedFiles;
}

let postgres: Postgres;
let database: string;
const folders: string[] = [];
const opened: SharedFiles[] = [];
const proxies: DatabaseProxy[] = [];

beforeAll(async () => {
  postgres = await Postgres.start();
});
afterEach(async () => {
  for (const shared of opened.splice(0)) await shared.close();
  for (const proxy of proxies.splice(0)) await proxy.stop();
});
afterAll(async () => {
  await postgres.dispose();
  for (const folder of folders) removeFolder(folder);
});

async function newDatabase(): Promise<void> {
  database = await postgres.newDatabase();
  for (const table of FILE_TABLES) await postgres.query(database, table);
}

function sharedFiles(socketFolder?: string, giveUpMs = 10_000): SharedFiles {
  const shared = new PostgresFiles(databaseAddress(postgres.urlOf(database, socketFolder)), { giveUpMs });
  opened.push(shared);
  return shared;
}

async function node(shared = sharedFiles()): Promise<Node> {
  const folder = newFolder("artifacts");
  folders.push(folder);
  return { artifacts: await openArtifacts(folder, shared), folder, shared };
}

async function proxy(): Promise<DatabaseProxy> {
  const made = await DatabaseProxy.start(postgres.socketFolder);
  proxies.push(made);
  return made;
}

const hashOf = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");
const temporaries = ({ folder }: Node): string[] => readdirSync(join(folder, "tmp"));

async function rowsOf(table: string): Promise<number> {
  const [row] = await postgres.query(database, `SELECT count(*) AS rows FROM ${table}`);
  return Number(row?.["rows"]);
}

/** Makes all files look as if nobody had stored or kept them for longer than a day. */
async function age(): Promise<void> {
  await postgres.query(database, "UPDATE pw_artifact_file SET put_at = put_at - interval '25 hours'");
}

describe("artifacts of two nodes", () => {
  it.each([0, 1, MIB - 1, MIB, MIB + 1, 3_500_000])("are %i bytes long on both", async (length) => {
    await newDatabase();
    const [one, other] = [await node(), await node()];
    const content = randomBytes(length);
    const sha256 = hashOf(content);
    expect(await one.artifacts.put(content)).toEqual({ sha256, bytes: length });
    expect(other.artifacts.has(sha256)).toBe(false);
    const path = await other.artifacts.resolve(sha256);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(await other.artifacts.verify(sha256)).toEqual({ sha256, bytes: length });
    expect((await (await node()).artifacts.read(sha256)).equals(content)).toBe(true);
    expect(Buffer.from(await (await node()).artifacts.readShared(sha256)).equals(content)).toBe(true);
  });

  it("are on the other node however they were stored", async () => {
    await newDatabase();
    const [one, other] = [await node(), await node()];
    const content = randomBytes(2 * MIB + 5);
    const writer = await one.artifacts.begin();
    await writer.write(content.subarray(0, 100));
    await writer.write(content.subarray(100));
    expect((await other.artifacts.read((await writer.publish()).sha256)).equals(content)).toBe(true);
    const partial = await one.artifacts.beginPartial("00000000-0000-4000-8000-000000000001");
    await partial.write(Buffer.from("a part"));
    expect(await rowsOf("pw_artifact_file")).toBe(1);
    expect((await other.artifacts.read((await partial.publish()).sha256)).toString()).toBe("a part");
    const place = one.artifacts.place();
    writeFileSync(place.path, "by another process");
    const { sha256 } = await place.publish(hashOf(Buffer.from("by another process")));
    expect((await other.artifacts.read(sha256)).toString()).toBe("by another process");
    expect([one, other].flatMap(temporaries)).toEqual([]);
  });

  it("are stored once by twenty at once on two nodes, and fetched once by twenty readers", async () => {
    await newDatabase();
    const [one, other, reader] = [await node(), await node(), await node()];
    const content = randomBytes(MIB + 9);
    const puts = Array.from({ length: 20 }, async (_, at) => await [one, other][at % 2]!.artifacts.put(content));
    await Promise.all(puts);
    const sha256 = hashOf(content);
    expect([await rowsOf("pw_artifact_file"), await rowsOf("pw_artifact")]).toEqual([1, 2]);
    let reads = 0;
    const { shared } = reader;
    const counted = await node({
      ...bound(shared),
      read: async (...all) => {
        reads += 1;
        return await shared.read(...all);
      },
    });
    const found = await Promise.all(Array.from({ length: 20 }, async () => await counted.artifacts.read(sha256)));
    expect(found.every((each) => each.equals(content))).toBe(true);
    expect(reads).toBe(1);
    expect(temporaries(counted)).toEqual([]);
  });

  it("are refused when a piece in the database was changed or lost, and fetched anew when a copy was", async () => {
    await newDatabase();
    const [one, other] = [await node(), await node()];
    const { sha256 } = await one.artifacts.put(randomBytes(3 * MIB));
    await postgres.query(database, "CREATE TABLE kept AS TABLE pw_artifact");
    for (const attack of [
      "UPDATE pw_artifact SET bytes = set_byte(bytes, 77, get_byte(bytes, 77) # 1) WHERE part = 1",
      "UPDATE pw_artifact SET bytes = substr(bytes, 2) WHERE part = 2",
      "DELETE FROM pw_artifact WHERE part = 1",
    ]) {
      await postgres.query(database, attack);
      for (const use of ["resolve", "read", "readShared", "verify"] as const)
        await expect(other.artifacts[use](sha256), attack).rejects.toMatchObject({ code: "artifact_corrupt" });
      expect([other.artifacts.has(sha256), temporaries(other)]).toEqual([false, []]);
      await postgres.query(database, "DELETE FROM pw_artifact");
      await postgres.query(database, "INSERT INTO pw_artifact SELECT * FROM kept");
    }
    writeFileSync(await other.artifacts.resolve(sha256), "rotten");
    expect(hashOf(await other.artifacts.read(sha256))).toBe(sha256);
    rmSync(await other.artifacts.resolve(sha256));
    expect(await other.artifacts.verify(sha256)).toEqual({ sha256, bytes: 3 * MIB });
  });

  it("are missing where nobody has them", async () => {
    await newDatabase();
    const { artifacts } = await node();
    await expect(artifacts.resolve(hashOf(Buffer.from("none")))).rejects.toMatchObject({ code: "artifact_corrupt" });
    await expect(artifacts.resolve("../x")).rejects.toMatchObject({ code: "artifact_corrupt" });
    expect(await artifacts.keep(hashOf(Buffer.from("none")))).toBe(false);
  });
});

describe("while the database fails", () => {
  it("a file goes on over a new connection", async () => {
    await newDatabase();
    const line = await proxy();
    const [one, other] = [await node(sharedFiles(line.folder)), await node(sharedFiles(line.folder))];
    const content = randomBytes(8 * MIB);
    let pieces = 0;
    line.breaksAnswer = () => (pieces += 1) % 7 === 5;
    const { sha256 } = await one.artifacts.put(content);
    expect(line.broken).toBeGreaterThan(0);
    const before = line.broken;
    // In the midst of the content, which comes as hundreds of pieces of the socket.
    pieces = 0;
    line.breaksAnswer = () => (pieces += 1) === 100;
    expect((await other.artifacts.read(sha256)).equals(content)).toBe(true);
    expect(line.broken).toBeGreaterThan(before);
    expect([await rowsOf("pw_artifact_file"), await rowsOf("pw_artifact")]).toEqual([1, 8]);
  });

  it("nothing is whole that was not sent, and the call says that the storage cannot be reached", async () => {
    await newDatabase();
    const line = await proxy();
    const [one, other] = [await node(sharedFiles(line.folder, 300)), await node()];
    const content = randomBytes(6 * MIB);
    const sha256 = hashOf(content);
    let sent = 0;
    line.breaksQuestion = () => (sent += 1) > 40;
    await expect(one.artifacts.put(content)).rejects.toMatchObject({ code: "store_unreachable", status: 503 });
    expect([one.artifacts.has(sha256), temporaries(one)]).toEqual([false, []]);
    expect(await rowsOf("pw_artifact")).toBeGreaterThan(0);
    await expect(other.artifacts.resolve(sha256)).rejects.toMatchObject({ code: "artifact_corrupt" });
    line.breaksQuestion = () => false;
    await one.artifacts.put(content);
    expect((await other.artifacts.read(sha256)).equals(content)).toBe(true);
    await age();
    expect(await other.artifacts.removeSharedOrphans(() => Promise.resolve(new Set([sha256])))).toBe(0);
    expect([await rowsOf("pw_artifact_file"), await rowsOf("pw_artifact")]).toEqual([1, 6]);
  });

  it("a crash of the database costs nothing that was answered", async () => {
    await newDatabase();
    // However long the database takes to start again.
    const [one, other] = [await node(sharedFiles(undefined, 120_000)), await node()];
    const contents = Array.from({ length: 20 }, () => randomBytes(MIB + 1));
    const puts = contents.map(async (content) => await one.artifacts.put(content));
    await puts[0];
    await postgres.crash();
    await postgres.restart();
    await Promise.all(puts);
    for (const content of contents) expect((await other.artifacts.read(hashOf(content))).equals(content)).toBe(true);
  });
});

describe("removal", () => {
  it("takes what this node has stored from all, unless another has stored or kept it within a day", async () => {
    await newDatabase();
    const [one, other] = [await node(), await node()];
    const names = await Promise.all(
      ["alone", "both", "kept"].map(async (text) => (await one.artifacts.put(Buffer.from(text))).sha256),
    );
    const [alone, both, kept] = names as [string, string, string];
    await other.artifacts.put(Buffer.from("both"));
    expect(await other.artifacts.keep(kept)).toBe(true);
    for (const name of names) await one.artifacts.remove(name);
    expect(names.map((name) => one.artifacts.has(name))).toEqual([false, false, false]);
    await expect(other.artifacts.resolve(alone)).rejects.toMatchObject({ code: "artifact_corrupt" });
    for (const name of [both, kept]) expect(await one.artifacts.verify(name)).toMatchObject({ sha256: name });
    await age();
    for (const name of names) await one.artifacts.remove(name);
    expect([await rowsOf("pw_artifact_file"), await rowsOf("pw_artifact")]).toEqual([0, 0]);
  });

  it("of orphans takes what is old, in no record, and not kept since it was listed", async () => {
    await newDatabase();
    const [one, other] = [await node(), await node()];
    const put = async (text: string): Promise<string> => (await one.artifacts.put(Buffer.from(text))).sha256;
    const [named, orphan, late] = [await put("named"), await put("orphan"), await put("late")];
    await age();
    const young = await put("young");
    const removed = await other.artifacts.removeSharedOrphans(async () => {
      // Another node is about to name it.
      expect(await one.artifacts.keep(late)).toBe(true);
      return new Set([named]);
    });
    expect(removed).toBe(1);
    const third = await node();
    for (const name of [named, late, young]) expect(await third.artifacts.verify(name)).toMatchObject({ sha256: name });
    await expect(third.artifacts.verify(orphan)).rejects.toMatchObject({ code: "artifact_corrupt" });
  });

  it("of a node's own copies leaves the shared file", async () => {
    await newDatabase();
    const { artifacts } = await node();
    const { sha256 } = await artifacts.put(Buffer.from("a copy"));
    expect(await artifacts.removeOrphans(new Set(), -1000)).toBe(1);
    expect(artifacts.has(sha256)).toBe(false);
    expect((await artifacts.read(sha256)).toString()).toBe("a copy");
  });

  it("beside uploads of the same content leaves a whole file or none", async () => {
    await newDatabase();
    const [one, other] = [await node(), await node()];
    const content = randomBytes(2 * MIB);
    const sha256 = hashOf(content);
    for (let round = 0; round < 30; round += 1) {
      const removing = one.artifacts.put(content).then(async () => {
        await one.artifacts.remove(sha256);
      });
      await Promise.all([removing, other.artifacts.put(content)]);
      const third = await node(other.shared);
      expect((await third.artifacts.read(sha256)).equals(content)).toBe(true);
      await other.artifacts.remove(sha256);
      await age();
      await one.artifacts.remove(sha256);
      expect(await rowsOf("pw_artifact")).toBe(0);
    }
  });
});

describe("the artifacts of a single server", () => {
  it("are brought into the cluster, twice to no harm, and damaged ones are named", async () => {
    await newDatabase();
    const folder = newFolder("artifacts");
    folders.push(folder);
    const single = await openArtifacts(folder);
    const contents = [randomBytes(0), randomBytes(10), randomBytes(2 * MIB)];
    for (const content of contents) await single.put(content);
    const { artifacts, shared } = await node();
    for (let time = 0; time < 2; time += 1) {
      const told: UploadProgress[] = [];
      const done = await uploadArtifacts(folder, shared, (progress) => told.push(progress));
      expect(done).toEqual({ files: 3, filesTotal: 3, bytes: 2 * MIB + 10, bytesTotal: 2 * MIB + 10 });
      expect(told.map(({ files }) => files)).toEqual([0, 1, 2, 3]);
    }
    for (const content of contents) expect((await artifacts.read(hashOf(content))).equals(content)).toBe(true);
    const { sha256 } = await single.put(randomBytes(MIB + 1));
    writeFileSync(await single.resolve(sha256), randomBytes(MIB + 1));
    await expect(uploadArtifacts(folder, shared, () => undefined)).rejects.toMatchObject({
      code: "artifact_corrupt",
      message: expect.stringContaining(sha256) as string,
    });
    expect(await rowsOf("pw_artifact_file")).toBe(3);
    expect(await uploadArtifacts(join(folder, "none"), shared, () => undefined)).toMatchObject({ files: 0 });
  });
});

/** The methods of an adapter as functions, so that one of them can be put in the place of another. */
function bound(shared: SharedFiles): SharedFiles {
  return {
    put: async (file) => {
      await shared.put(file);
    },
    keep: async (sha256) => await shared.keep(sha256),
    read: async (sha256, write) => await shared.read(sha256, write),
    remove: async (sha256) => {
      await shared.remove(sha256);
    },
    removeOld: async (sha256) => await shared.removeOld(sha256),
    old: () => shared.old(),
    removeUnfinished: async () => {
      await shared.removeUnfinished();
    },
    close: async () => {
      await shared.close();
    },
  };
}
