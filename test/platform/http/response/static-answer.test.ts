/** Bytes that stay the same, through each HTTP library: which form a client gets, and what it need not get again. */
import { request } from "node:http";
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindRoutes, defineRoute } from "../../../../src/platform/contract/route.js";
import { StaticBytes } from "../../../../src/platform/contract/static-bytes.js";
import { DRIVERS } from "../../../support/http-driver.js";
import { startFront, type Front } from "../support.js";

const TEXT = "the same for everybody, ".repeat(200);
const route = (id: string) =>
  defineRoute({
    id,
    area: "service",
    method: "GET",
    path: `/${id}`,
    summary: "A page",
    auth: "public",
    responses: { 200: { description: "The page", bytes: "text/html; charset=UTF-8", fixed: true } },
  });
const routes = { both: route("both"), zipped: route("zipped") };
const answers = {
  both: new StaticBytes(TEXT, brotliCompressSync(TEXT)),
  zipped: new StaticBytes(TEXT),
};

interface Got {
  readonly status: number;
  readonly coding: string | undefined;
  readonly etag: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Takes the body as it comes, which `fetch` would unpack. */
async function get(url: string, headers: Record<string, string>, method = "GET"): Promise<Got> {
  return new Promise((resolve, reject) => {
    request(url, { method, headers }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on("data", (piece: Buffer) => pieces.push(piece));
      answer.on("end", () =>
        resolve({
          status: answer.statusCode ?? 0,
          coding: answer.headers["content-encoding"],
          etag: answer.headers.etag ?? "",
          body: Buffer.concat(pieces),
          headers: answer.headers,
        }),
      );
    })
      .on("error", reject)
      .end();
  });
}

describe.each(DRIVERS)("bytes that stay the same, over $name", (driver) => {
  let front: Front;
  beforeAll(async () => {
    const handlers = {
      both: () => ({ status: 200, fixed: answers.both }) as const,
      zipped: () => ({ status: 200, fixed: answers.zipped }) as const,
    };
    front = await startFront({ routes: bindRoutes(routes, handlers), driver });
  });
  afterAll(async () => {
    await front.server.stop({ graceMs: 0 });
  });

  it.each([
    ["both", undefined, undefined],
    ["both", "identity", undefined],
    ["both", "br", "br"],
    ["both", "gzip, deflate, br, zstd", "br"],
    ["both", "gzip;q=1, br;q=0.5", "gzip"],
    ["both", "BR;Q=0.1, gzip;q=0", "br"],
    ["both", "*", "br"],
    ["both", "br;q=0, *;q=0.2", "gzip"],
    ["both", "br;q=0, gzip;q=0, *", undefined],
    ["both", "br;q=none", undefined],
    ["zipped", "br", undefined],
    ["zipped", "br, gzip;q=0.1", "gzip"],
    ["zipped", "*", "gzip"],
  ])("%s to a client that takes %s come as %s", async (page, takes, coding) => {
    const got = await get(`${front.url}/${page}`, takes === undefined ? {} : { "accept-encoding": takes });
    expect(got.coding).toBe(coding);
    const open = coding === "br" ? brotliDecompressSync(got.body) : coding === "gzip" ? gunzipSync(got.body) : got.body;
    expect(open.toString("utf8")).toBe(TEXT);
    expect(got.headers["content-length"]).toBe(String(got.body.length));
    expect(got.headers.vary).toBe("Accept-Encoding");
  });

  it("have a tag for each form, by which they are not sent again", async () => {
    const forms = ["identity", "gzip", "br"];
    const tags = await Promise.all(
      forms.map(async (form) => (await get(`${front.url}/both`, { "accept-encoding": form })).etag),
    );
    expect(new Set(tags).size).toBe(3);
    for (const [index, form] of forms.entries())
      for (const [other, tag] of tags.entries()) {
        const got = await get(`${front.url}/both`, { "accept-encoding": form, "if-none-match": `"x", W/${tag}` });
        expect([got.status, got.body.length > 0]).toEqual(index === other ? [304, false] : [200, true]);
        expect(got.etag).toBe(tags[index]);
      }
    expect((await get(`${front.url}/both`, { "if-none-match": "*" })).status).toBe(304);
  });

  it("tell their length to HEAD without being sent", async () => {
    const got = await get(`${front.url}/both`, { "accept-encoding": "br" }, "HEAD");
    const whole = await get(`${front.url}/both`, { "accept-encoding": "br" });
    expect([got.status, got.coding, got.body.length]).toEqual([200, "br", 0]);
    expect(got.headers["content-length"]).toBe(String(whole.body.length));
  });
});
