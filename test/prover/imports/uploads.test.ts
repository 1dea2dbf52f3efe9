/** Parts of a file that come to another node of a cluster than the first one. */
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/platform/clock.js";
import type { StreamedBody } from "../../../src/platform/contract/streamed-body.js";
import { openArtifacts } from "../../../src/platform/store/artifacts.js";
import { Uploads, type UploadPlaces } from "../../../src/prover/imports/uploads.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const KEY = { owner: "user:1", proverId: "p", name: "circuit.r1cs" };
const LIMITS = { openPerOwnerMax: 2, openMax: 2, fileBytesMax: 1000, bytesPerOwnerMax: 1000, idleMs: 1000 };
const CONTENT = randomBytes(100);
const WHOLE = { said: undefined, heldBytes: 0 };
const folders: string[] = [];
const opened: Uploads[] = [];
afterEach(async () => {
  // A file that is left open when nothing refers to it any more is an error of Node 26.
  for (const uploads of opened.splice(0)) await uploads.dropWhere(() => true);
});
afterAll(() => {
  for (const folder of folders) removeFolder(folder);
});

interface Node {
  readonly uploads: Uploads;
  /** What is growing in its folder. */
  readonly growing: () => string[];
}

async function node(
  { isShared }: { readonly isShared: boolean },
  whileBegun: (uploads: Uploads) => Promise<void> = async () => undefined,
): Promise<Node> {
  const folder = newFolder("uploads");
  folders.push(folder);
  const artifacts = await openArtifacts(folder);
  const begin = async (): ReturnType<UploadPlaces["begin"]> => {
    const writer = await artifacts.begin();
    await whileBegun(uploads);
    return writer;
  };
  const uploads = new Uploads(LIMITS, { artifacts: { isShared, begin }, clock: systemClock });
  opened.push(uploads);
  return { uploads, growing: () => readdirSync(join(folder, "tmp")) };
}

function part(start: number, end: number): StreamedBody {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(CONTENT.subarray(start, end));
  }
  return { bytes: end - start, part: { start, total: CONTENT.length }, sha256: undefined, chunks: chunks() };
}

describe("a part of a file", () => {
  it("is refused by a node that has not taken the ones before, and taken by the one that has", async () => {
    const [{ uploads: one }, { uploads: other }] = [await node({ isShared: true }), await node({ isShared: true })];
    expect(await one.take(KEY, part(0, 40), WHOLE)).toBeUndefined();
    await expect(other.take(KEY, part(40, 100), WHOLE)).rejects.toMatchObject({
      ...{ code: "upload_out_of_order", status: 409 },
      message: expect.stringMatching(/^no part of the file has come to this node/) as string,
    });
    await expect(one.take(KEY, part(50, 100), WHOLE)).rejects.toThrow("40 bytes have come; the next part begins there");
    const finished = await one.take(KEY, part(40, 100), WHOLE);
    expect((await finished!.writer.publish()).bytes).toBe(100);
  });

  it("is told where to go on by a single server", async () => {
    const { uploads: single } = await node({ isShared: false });
    await expect(single.take(KEY, part(40, 100), WHOLE)).rejects.toThrow(
      "0 bytes have come; the next part begins there",
    );
  });
});

describe("a file that nobody waits for any more", () => {
  it("is dropped alone, and takes no room from others of its owner when the call returns", async () => {
    const { uploads, growing } = await node({ isShared: true });
    const [kept, over] = [
      { ...KEY, proverId: "kept" },
      { ...KEY, proverId: "over" },
    ];
    for (const key of [kept, over]) await uploads.take(key, part(0, 40), WHOLE);
    await expect(uploads.take(KEY, part(0, 40), WHOLE)).rejects.toMatchObject({ code: "too_many_requests" });
    const dropped = uploads.dropWhere(({ proverId }) => proverId === "over");
    const next = uploads.take(KEY, part(0, 40), WHOLE);
    await Promise.all([dropped, next]);
    expect([kept, over, KEY].map((key) => uploads.received(key))).toEqual([40, 0, 40]);
    expect(growing()).toHaveLength(2);
  });

  it("is dropped while its place is being made", async () => {
    const { uploads, growing } = await node({ isShared: true }, async (own) => {
      await own.dropWhere(() => true);
    });
    await expect(uploads.take(KEY, part(0, 40), WHOLE)).rejects.toMatchObject({ code: "not_found" });
    expect([uploads.received(KEY), growing()]).toEqual([0, []]);
  });
});
