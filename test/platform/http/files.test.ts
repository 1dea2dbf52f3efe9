/**
 * Stored files over HTTP: validators, ranges, HEAD, long bodies, files that are not what the record says (RFC 9110
 * sections 13, 14).
 */
import { createHash, randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BEARER, requestText, startFront, until, type Front } from "./support.js";
import { newFolder } from "../../support/temporary-folder.js";

const BYTES = 3_000_000;
const content = randomBytes(BYTES);
const sha256 = createHash("sha256").update(content).digest("hex");
const folder = newFolder("front-files");
const path = join(folder, "file.bin");
let front: Front;

beforeAll(async () => {
  writeFileSync(path, content);
  front = await startFront({ limits: { stallMs: 400 } });
  front.file = { path, bytes: BYTES, sha256 };
});
afterAll(async () => {
  await front.server.stop({ graceMs: 1000 });
  rmSync(folder, { recursive: true });
});

const get = async (headers: Record<string, string> = {}, method = "GET"): Promise<Response> =>
  await fetch(`${front.url}/api/v1/file`, { method, headers: { ...BEARER, ...headers } });
const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

describe("a stored file", () => {
  it("comes whole, with its hash as ETag", async () => {
    const response = await get();
    expect(response.status).toBe(200);
    expect(response.headers.get("etag")).toBe(`"${sha256}"`);
    expect(response.headers.get("accept-ranges")).toBe("bytes");
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect((await bytesOf(response)).equals(content)).toBe(true);
  });

  it("is not sent again to a client that has it", async () => {
    for (const tag of [`"${sha256}"`, `W/"${sha256}"`, `"other", "${sha256}"`, "*"]) {
      const response = await get({ "If-None-Match": tag });
      expect(response.status).toBe(304);
      expect(await response.text()).toBe("");
    }
    const other = await get({ "If-None-Match": '"other"' });
    expect(other.status).toBe(200);
    await other.arrayBuffer();
  });

  it.each([
    ["bytes=0-0", 0, 1],
    ["bytes=10-19", 10, 20],
    [`bytes=${String(BYTES - 1)}-`, BYTES - 1, BYTES],
    [`bytes=0-${String(BYTES * 2)}`, 0, BYTES],
    ["bytes=-5", BYTES - 5, BYTES],
    [`bytes=-${String(BYTES * 2)}`, 0, BYTES],
  ])("answers the part %s", async (range, start, end) => {
    const response = await get({ Range: range });
    expect(response.status).toBe(206);
    expect(response.headers.get("content-range")).toBe(`bytes ${String(start)}-${String(end - 1)}/${String(BYTES)}`);
    expect((await bytesOf(response)).equals(content.subarray(start, end))).toBe(true);
  });

  it.each([`bytes=${String(BYTES)}-`, "bytes=-0"])("answers 416 to %s", async (range) => {
    const response = await get({ Range: range });
    expect(response.status).toBe(416);
    expect(response.headers.get("content-range")).toBe(`bytes */${String(BYTES)}`);
  });

  it.each(["bytes=5-4", "bytes=0-1,5-6", "lines=0-1", "bytes=a-b", "bytes=-"])(
    "answers the whole file to %s",
    async (range) => {
      const response = await get({ Range: range });
      expect(response.status).toBe(200);
      expect((await bytesOf(response)).length).toBe(BYTES);
    },
  );

  it("serves a range only of the file that If-Range names", async () => {
    expect((await get({ Range: "bytes=0-0", "If-Range": `"${sha256}"` })).status).toBe(206);
    const changed = await get({ Range: "bytes=0-0", "If-Range": '"old"' });
    expect(changed.status).toBe(200);
    await changed.arrayBuffer();
  });

  it("tells its length to HEAD", async () => {
    const response = await get({}, "HEAD");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-length")).toBe(String(BYTES));
    expect(await response.text()).toBe("");
  });

  it("may be empty", async () => {
    const empty = join(folder, "empty");
    writeFileSync(empty, "");
    front.file = { path: empty, bytes: 0, sha256: createHash("sha256").digest("hex") };
    try {
      const response = await get();
      expect(response.status).toBe(200);
      expect((await bytesOf(response)).length).toBe(0);
    } finally {
      front.file = { path, bytes: BYTES, sha256 };
    }
  });

  it("answers 500 when it is missing or has another length", async () => {
    for (const wrong of [
      { path: join(folder, "none"), bytes: 1, sha256 },
      { path, bytes: BYTES - 1, sha256 },
    ]) {
      front.file = wrong;
      try {
        const response = await get();
        expect(response.status).toBe(500);
        expect(await response.text()).not.toContain(folder);
      } finally {
        front.file = { path, bytes: BYTES, sha256 };
      }
    }
  });

  it("cuts off a reader that stops reading", async () => {
    const big = join(folder, "big");
    writeFileSync(big, Buffer.alloc(40_000_000));
    front.file = { path: big, bytes: 40_000_000, sha256 };
    try {
      const closed = new Promise<void>((resolve) => {
        const socket = net.connect(front.port, "127.0.0.1", () => {
          socket.write(requestText("GET /api/v1/file"));
          socket.pause();
        });
        socket.on("close", resolve);
        socket.on("error", () => undefined);
        // Reads on only after the server has given up, to see the end of the connection.
        const before = front.ended.length;
        void until(() => front.ended.length > before).then(() => socket.resume());
      });
      await closed;
    } finally {
      front.file = { path, bytes: BYTES, sha256 };
    }
  });
});
