/** Shared files in an S3-compatible storage, with AWS's SDK against a double of the service over HTTP. */
import { createHash, randomBytes } from "node:crypto";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openSharedFiles } from "../../../src/platform/cluster/files/open-shared-files.js";
import { openS3Files } from "../../../src/platform/cluster/files/s3-files.js";
import { s3Place } from "../../../src/platform/cluster/files/s3-place.js";
import { StartError } from "../../../src/platform/start-error.js";
import { openArtifacts } from "../../../src/platform/store/artifacts.js";
import type { SharedFiles } from "../../../src/platform/store/shared-files.js";
import { S3Double } from "../../support/s3-double.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const MIB = 1 << 20;
const folders: string[] = [];
const opened: SharedFiles[] = [];
let s3: S3Double;

beforeEach(async () => {
  s3 = await S3Double.start();
  vi.stubEnv("AWS_ACCESS_KEY_ID", s3.accessKey);
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const files of opened.splice(0)) await files.close();
  await s3.stop();
});
afterAll(() => {
  for (const folder of folders) removeFolder(folder);
});

async function open(bucket = s3.bucket): Promise<SharedFiles> {
  const files = await openS3Files(`s3://${bucket}/node%20files?region=eu-central-1&endpoint=${s3.endpoint}`);
  opened.push(files);
  return files;
}

function fileOf(content: Uint8Array): { sha256: string; bytes: number; path: string } {
  const folder = newFolder("s3");
  folders.push(folder);
  const path = join(folder, "file");
  writeFileSync(path, content);
  return { sha256: createHash("sha256").update(content).digest("hex"), bytes: content.length, path };
}

async function contentOf(files: SharedFiles, sha256: string): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  const isThere = await files.read(sha256, (piece) => {
    pieces.push(Buffer.from(piece));
    return Promise.resolve();
  });
  return isThere ? Buffer.concat(pieces) : undefined;
}

describe("shared files in S3", () => {
  it.each([0, 1, 16 * MIB, 16 * MIB + 1, 33 * MIB])("keep %i bytes whole, 16 MiB at a time", async (length) => {
    const [one, other] = [await open(), await open()];
    const content = randomBytes(length);
    const file = fileOf(content);
    await one.put(file);
    expect([...s3.objects.keys()]).toEqual([`node files/${file.sha256}`]);
    expect((await contentOf(other, file.sha256))?.equals(content)).toBe(true);
    expect([s3.bytesMax, s3.unfinished.size]).toEqual([Math.min(length, 16 * MIB), 0]);
    const sent = s3.requests.length;
    await other.put(file);
    expect(s3.requests.slice(sent).map((request) => request.split(" ")[0])).toEqual(["HEAD", "PUT"]);
    expect((await contentOf(one, file.sha256))?.equals(content)).toBe(true);
  });

  it("are fetched by the artifacts of another node, which refuse changed ones", async () => {
    const folder = newFolder("artifacts");
    folders.push(folder);
    const artifacts = await openArtifacts(folder, await open());
    const content = randomBytes(3 * MIB);
    const file = fileOf(content);
    await (await open()).put(file);
    const object = s3.objects.get(`node files/${file.sha256}`)!;
    object.content = Buffer.concat([content.subarray(1), content.subarray(0, 1)]);
    await expect(artifacts.resolve(file.sha256)).rejects.toMatchObject({ code: "artifact_corrupt" });
    object.content = content;
    expect((await artifacts.read(file.sha256)).equals(content)).toBe(true);
  });

  it("are not there when nobody has put them, or the file changed while it was sent", async () => {
    const files = await open();
    const none = fileOf(randomBytes(10));
    expect([await files.keep(none.sha256), await contentOf(files, none.sha256)]).toEqual([false, undefined]);
    await files.remove(none.sha256);
    expect(await files.removeOld(none.sha256)).toBe(false);
    for (const length of [10, 20 * MIB]) {
      const changed = fileOf(randomBytes(length));
      await expect(files.put({ ...changed, sha256: none.sha256 })).rejects.toMatchObject({ code: "artifact_corrupt" });
      truncateSync(changed.path, length - 1);
      await expect(files.put(changed)).rejects.toMatchObject({ code: "artifact_corrupt" });
    }
    expect([s3.objects.size, s3.unfinished.size]).toEqual([0, 0]);
  });

  it("are removed by the one that has put them, and by others only when nobody has kept them for a day", async () => {
    const [one, other] = [await open(), await open()];
    const [alone, both] = [fileOf(randomBytes(5)), fileOf(randomBytes(6))];
    for (const file of [alone, both]) await one.put(file);
    await other.remove(alone.sha256);
    expect(await other.keep(both.sha256)).toBe(true);
    await one.remove(both.sha256);
    expect(await other.removeOld(both.sha256)).toBe(false);
    expect(s3.objects.size).toBe(2);
    await one.remove(alone.sha256);
    expect([...s3.objects.keys()]).toEqual([`node files/${both.sha256}`]);
    s3.age();
    expect(await one.removeOld(both.sha256)).toBe(true);
    expect(s3.objects.size).toBe(0);
  });

  it("are listed when they are old, over pages, without what is not theirs", async () => {
    const files = await open();
    const old = Array.from({ length: 5 }, () => fileOf(randomBytes(7)));
    for (const file of old) await files.put(file);
    s3.objects.set("node files/readme", { content: Buffer.from("x"), metadata: {}, modifiedMs: Date.now() });
    s3.age();
    await files.put(fileOf(randomBytes(8)));
    expect(await files.keep(old[0]!.sha256)).toBe(true);
    const found: { sha256: string; bytes: number }[] = [];
    for await (const file of files.old()) found.push(file);
    const expected = old.slice(1).map(({ sha256 }) => ({ sha256, bytes: 7 }));
    expect(found).toEqual(expected.sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1)));
  });

  it("that never became whole are removed a day later", async () => {
    const files = await open();
    const begin = (): void => {
      const id = String(s3.unfinished.size);
      s3.unfinished.set(id, { key: "node files/x", metadata: {}, parts: new Map(), begunMs: Date.now() });
    };
    begin();
    s3.age();
    begin();
    await files.removeUnfinished();
    expect([...s3.unfinished.keys()]).toEqual(["1"]);
  });
});

describe("while S3 fails", () => {
  it("a file is read on from where the connection broke", async () => {
    const files = await open();
    const content = randomBytes(5 * MIB);
    const file = fileOf(content);
    await files.put(file);
    let reads = 0;
    s3.fault = (request) => (request.startsWith("GET") && (reads += 1) <= 3 ? "break" : undefined);
    expect((await contentOf(files, file.sha256))?.equals(content)).toBe(true);
    expect(reads).toBe(4);
  });

  it("a part is sent again, and nothing is left of a file that could not be sent", async () => {
    const files = await open();
    const file = fileOf(randomBytes(17 * MIB));
    let faults = 0;
    s3.fault = (request) => (request.includes("partNumber=2") && (faults += 1) === 1 ? 503 : undefined);
    await files.put(file);
    expect([faults, s3.objects.size]).toEqual([2, 1]);
    s3.objects.clear();
    s3.fault = (request) => (request.includes("partNumber=2") ? 403 : undefined);
    await expect(files.put(file)).rejects.toMatchObject({ code: "storage_failed" });
    expect([s3.objects.size, s3.unfinished.size]).toEqual([0, 0]);
  });

  it("the error says what it is, and nothing of the request", async () => {
    const files = await open();
    const file = fileOf(randomBytes(4));
    const outcome = async (from = files): Promise<unknown> => await from.put(file).then(() => "put", String);
    s3.fault = () => 507;
    expect(await outcome()).toBe("AppError: the cluster's storage of files is full");
    s3.fault = () => 500;
    expect(await outcome()).toMatch(/^AppError: the cluster's storage of files cannot be reached.*; try again later$/);
    s3.fault = () => undefined;
    expect(await outcome(await open("other"))).toMatch(/refused a request with status 404 \(NoSuchBucket\)$/);
    vi.stubEnv("AWS_ACCESS_KEY_ID", "SOMEBODYELSE");
    expect(await outcome(await open())).toMatch(/refuses access/);
    await s3.stop();
    await expect(files.put(file)).rejects.toMatchObject({ code: "store_unreachable", status: 503 });
  });
});

describe("PROOFWRIGHT_ARTIFACTS_URL", () => {
  it("is tried at the start", async () => {
    const settings = (bucket: string) => ({
      database_url: "postgres://nobody@localhost/none",
      artifacts_url: `s3://${bucket}/files?region=eu-central-1&endpoint=${s3.endpoint}`,
    });
    opened.push(await openSharedFiles(settings(s3.bucket)));
    await expect(openSharedFiles(settings("other"))).rejects.toThrow(/status 404 \(NoSuchBucket\)/);
    s3.fault = () => 403;
    await expect(openSharedFiles(settings(s3.bucket))).rejects.toThrow(StartError);
    await expect(openSharedFiles(settings(s3.bucket))).rejects.toThrow(/storage of files refuses access/);
  });

  it("names bucket, folder, region and endpoint", () => {
    expect(s3Place("s3://files")).toEqual({ bucket: "files", prefix: "", region: undefined, endpoint: undefined });
    expect(s3Place("s3://my.files/a/b/?region=eu-west-1&endpoint=https://s3.example.com")).toEqual({
      ...{ bucket: "my.files", prefix: "a/b/" },
      ...{ region: "eu-west-1", endpoint: "https://s3.example.com" },
    });
  });

  it.each([
    ["https://files", /is no s3:\/\/ URL/],
    ["files", /is no s3:\/\/ URL/],
    ["s3://", /names no bucket/],
    ["s3://Files_1", /names no bucket/],
    ["s3://user:secret@files", /must have no credentials/],
    ["s3://files?profile=x", /"profile", which is not known/],
    ["s3://files?endpoint=http://s3.example.com", /names no https:\/\/ endpoint/],
  ])("is not %s", (text, message) => {
    expect(() => s3Place(text)).toThrow(message);
    expect(() => s3Place(text)).not.toThrow(/secret/);
  });
});
