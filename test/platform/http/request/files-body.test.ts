/** Bodies that come as files, over real sockets on every driver: forms and archives become the route's JSON body. */
import { gzipSync } from "node:zlib";
import Type from "typebox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindRoutes, defineRoute, type HandlersFor } from "../../../../src/platform/contract/route.js";
import { closed, nullable } from "../../../../src/platform/contract/schemas.js";
import type { IdempotencyClaim, IdempotencyStore } from "../../../../src/platform/http/limits/idempotency.js";
import { HTTP_LIMITS } from "../../../../src/platform/http/limits/limits.js";
import { DRIVERS } from "../../../support/http-driver.js";
import { tarGz } from "../../../support/tar.js";
import { BEARER, JSON_HEADERS, startFront, type Front } from "../support.js";

const PATH = "/api/v1/circuits";
const FILE_BYTES_MAX = 20_000;
/** Of all bodies in flight: more than one of the longest, unpacked and not. */
const IN_FLIGHT_BYTES_MAX = 40_000;

const routes = {
  takeCircuit: defineRoute({
    id: "takeCircuit",
    area: "prover",
    method: "POST",
    path: PATH,
    summary: "Take a circuit",
    auth: { permissions: ["create"] },
    creates: true,
    body: closed({
      source: Type.Union([Type.String(), Type.Record(Type.String({ pattern: "^[a-z/._]+$" }), Type.String())]),
      name: Type.String({ maxLength: 20 }),
      note: Type.Optional(nullable(Type.String())),
      level: Type.Optional(Type.Integer()),
      tags: Type.Optional(nullable(Type.Array(Type.String()))),
      strict: Type.Optional(nullable(Type.Boolean())),
      options: Type.Optional(nullable(closed({ rounds: Type.Integer() }))),
    }),
    filesBody: { member: "source", part: "circuit", extension: ".circom", bytesMax: FILE_BYTES_MAX, filesMax: 3 },
    bodyBytesMax: 30_000,
    userNames: true,
    responses: { 201: { description: "What came", schema: Type.Unknown() } },
  }),
} as const;
const handlers: HandlersFor<typeof routes> = { takeCircuit: ({ body }) => ({ status: 201, body }) };

let claims: IdempotencyClaim[] = [];
const idempotency: IdempotencyStore = {
  claim: (claim) => {
    claims.push(claim);
    return Promise.resolve(undefined);
  },
  keeping: () => ({}),
  begin: () => Promise.resolve(),
  hasKept: () => false,
  settle: () => Promise.resolve(),
  release: () => Promise.resolve(),
  abandon: () => undefined,
};

const MAIN = 'include "lib/a.circom";';
const PROJECT = { "main.circom": MAIN, "lib/a.circom": "template A() {}" };
const ARCHIVE = tarGz(...Object.entries(PROJECT).map(([name, content]) => ({ name: `./${name}`, content })), {
  name: "README.md",
  content: "# A",
});

/** A part's headers and content, as a client with its own library would write them. */
function part(disposition: string, content: string, more = ""): string {
  return `--x\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${content}\r\n`;
}
const NAMED = part('name="name"', "n");
/** Within the limit of one part. */
const LONG_HEADER = `X: a${" ".repeat(3900)}b\r\n`;
const RAW_FORM = { "Content-Type": "multipart/form-data; boundary=x" };

describe.each(DRIVERS)("files in a body on $name", (driver) => {
  let front: Front;

  beforeAll(async () => {
    front = await startFront({
      driver,
      routes: bindRoutes(routes, handlers),
      idempotency,
      limits: { ...HTTP_LIMITS, bodiesInFlightBytesMax: IN_FLIGHT_BYTES_MAX },
    });
  });
  afterAll(async () => {
    await front.server.stop({ graceMs: 0 });
  });

  async function send(
    body: string | FormData | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
    query = "",
  ): Promise<{ status: number; body: Record<string, unknown> & { errors?: { code: string; path?: string }[] } }> {
    const response = await fetch(`${front.url}${PATH}${query}`, {
      method: "POST",
      headers: { ...BEARER, ...headers },
      body,
    });
    return { status: response.status, body: (await response.json()) as never };
  }

  async function sendArchive(packed: Buffer, query = "?name=n"): ReturnType<typeof send> {
    return await send(new Uint8Array(packed), { "Content-Type": "application/gzip" }, query);
  }

  function form(files: Readonly<Record<string, string | Buffer>>, fields: Readonly<Record<string, string>>): FormData {
    const made = new FormData();
    for (const [name, value] of Object.entries(fields)) made.append(name, value);
    for (const [path, content] of Object.entries(files))
      made.append("source", new Blob([new Uint8Array(Buffer.from(content))]), path);
    return made;
  }

  it("are taken from an archive, with the other members in the query", async () => {
    const query = `?name=n&note=null&level=3&options=${encodeURIComponent('{"rounds": 2}')}`;
    expect(await sendArchive(ARCHIVE, query)).toEqual({
      status: 201,
      body: { name: "n", note: "null", level: 3, options: { rounds: 2 }, source: PROJECT },
    });
    expect(await sendArchive(ARCHIVE, "")).toMatchObject({ status: 422, body: { errors: [{ path: "name" }] } });
    expect(await sendArchive(ARCHIVE, "?name=n&name=m")).toMatchObject({ status: 422 });
    expect(await sendArchive(ARCHIVE, "?name=n&other=1")).toMatchObject({ status: 422 });
    expect(await sendArchive(ARCHIVE, "?name=n&source=x")).toMatchObject({ status: 422 });
  });

  it("are taken from a form, one by one or as an archive", async () => {
    const made = { status: 201, body: { name: "n", level: 3, source: PROJECT } };
    expect(await send(form(PROJECT, { name: "n", level: "3" }))).toEqual(made);
    expect(await send(form({ "x.tar.gz": ARCHIVE }, { name: "n", level: "3" }))).toEqual(made);
    expect(await send(form(PROJECT, { circuit: '{"name": "n", "level": 3}' }))).toEqual(made);
    const typed = new FormData();
    typed.append("circuit", new Blob(['{"name": "n"}'], { type: "application/json" }), "circuit.json");
    typed.append("level", "3");
    typed.append("any", new Blob([new Uint8Array(ARCHIVE)], { type: "application/gzip" }), "blob");
    expect(await send(typed)).toEqual(made);
    expect(await send(form({}, { name: "n", source: MAIN }))).toEqual({
      status: 201,
      body: { name: "n", source: MAIN },
    });
  });

  it.each([
    ["level", "three", "1"],
    ["tags", "v1", '["text"]'],
    ["tags", "", '["text"]'],
    ["strict", "yes", "true"],
    ["options", "{rounds: 1}", '{"name": "value"}'],
  ])("are refused beside a member %s that is no JSON, with an example: %j", async (path, text, example) => {
    const message = expect.stringContaining(`${path}: expected JSON such as ${example}: `) as string;
    const refused = { status: 422, body: { errors: [{ code: "invalid_request", path, message }] } };
    expect(await send(form(PROJECT, { name: "n", [path]: text }))).toMatchObject(refused);
    expect(await sendArchive(ARCHIVE, `?name=n&${path}=${encodeURIComponent(text)}`)).toMatchObject(refused);
  });

  it("are refused beside members that together are no JSON", async () => {
    expect(await send(form(PROJECT, { circuit: "name" }))).toMatchObject({
      status: 422,
      body: { errors: [{ code: "invalid_request", path: "circuit" }] },
    });
  });

  it("are told from other bodies by the media type first", async () => {
    const types = "application/json, multipart/form-data or application/gzip";
    for (const [content, query] of [
      ["x", "?name=n"],
      ["", "?name=n"],
      ["x", ""],
    ] as const)
      expect(await send(content, { "Content-Type": "application/x-tar" }, query)).toMatchObject({
        status: 415,
        body: { errors: [{ message: `Content-Type: expected ${types}` }] },
      });
    expect(await send(new Uint8Array(Buffer.from("x")), {}, "?name=n")).toMatchObject({ status: 415 });
    expect(await send(new Uint8Array(), {}, "?name=n")).toMatchObject({
      status: 422,
      body: { errors: [{ message: "the body: JSON, a form or an archive is required" }] },
    });
    expect(await send("", RAW_FORM)).toMatchObject({
      status: 400,
      body: { errors: [{ message: "the form is empty" }] },
    });
  });

  it("are refused when a member or a file is given twice", async () => {
    for (const body of [
      form(PROJECT, { name: "n", circuit: '{"name": "n"}' }),
      form(PROJECT, { name: "n", source: MAIN }),
      form({ ...PROJECT, "x.tgz": ARCHIVE }, { name: "n" }),
    ])
      expect(await send(body)).toMatchObject({ status: 422 });
    const twice = form(PROJECT, { name: "n" });
    twice.append("source", new Blob(["x"]), "./main.circom");
    expect(await send(twice)).toMatchObject({ status: 422, body: { errors: [{ code: "files_invalid" }] } });
  });

  it("come in one archive at most, which has some", async () => {
    const other = tarGz({ name: "b.circom", content: "b" });
    expect(await send(form({ "a.tgz": ARCHIVE, "b.tar.gz": other }, { name: "n" }))).toMatchObject({
      status: 422,
      body: {
        errors: [{ code: "files_invalid", message: 'a form may have one archive; "b.tar.gz" is a second one' }],
      },
    });
    const refused = [
      [tarGz({ name: "README.md", content: "# A" }), "the archive has no .circom file"],
      [Buffer.alloc(0), "the archive is empty"],
    ] as const;
    for (const [packed, message] of refused) {
      const answer = { status: 422, body: { errors: [{ code: "files_invalid", message }] } };
      expect(await sendArchive(packed)).toMatchObject(answer);
      expect(await send(form({ "main.circom": MAIN, "x.tgz": packed }, { name: "n" }))).toMatchObject(answer);
    }
  });

  it.each([
    ["../x.circom", "files_invalid"],
    ["/x.circom", "files_invalid"],
    ["x.txt", "files_invalid"],
    ["._x.circom", "files_invalid"],
  ])("are refused under the name %s", async (path, code) => {
    expect(await send(form({ [path]: "x" }, { name: "n" }))).toMatchObject({
      status: 422,
      body: { errors: [{ code }] },
    });
  });

  it("are refused in an archive that climbs, links or explodes", async () => {
    const refused: [Buffer, number, string][] = [
      [tarGz({ name: "../x.circom", content: "x" }), 422, "files_invalid"],
      [tarGz({ name: "x.circom", type: "2", link: "/etc/passwd" }), 422, "files_invalid"],
      [ARCHIVE.subarray(0, -9), 422, "files_invalid"],
      [tarGz({ content: "x".repeat(FILE_BYTES_MAX + 1) }), 413, "files_too_large"],
      [tarGz({ name: "zeros", content: Buffer.alloc(2 * 2 ** 20) }), 413, "files_too_large"],
    ];
    for (const [packed, status, code] of refused) {
      expect(await sendArchive(packed)).toMatchObject({ status, body: { errors: [{ code }] } });
      expect(await send(form({ "x.tgz": packed }, { name: "n" }))).toMatchObject({
        status,
        body: { errors: [{ code }] },
      });
    }
    expect(await sendArchive(ARCHIVE)).toMatchObject({ status: 201 });
  });

  it("take memory of all bodies in flight until their request ends", async () => {
    const full = tarGz({ name: "a.circom", content: "x".repeat(FILE_BYTES_MAX) });
    const answers = await Promise.all(Array.from({ length: 8 }, async () => await sendArchive(full)));
    expect(answers.map(({ status }) => status).filter((status) => status !== 201 && status !== 503)).toEqual([]);
    // Whatever was taken is given back: one after the other, all fit.
    for (let i = 0; i < 4; i += 1) expect(await sendArchive(full)).toMatchObject({ status: 201 });
  });

  it("are the same request to an Idempotency-Key, whatever the boundary or the archive's time", async () => {
    const key = { "Idempotency-Key": "k" };
    claims = [];
    await send(form(PROJECT, { name: "n" }), key);
    await send(form(PROJECT, { name: "n" }), key);
    await send(form({ ...PROJECT, "main.circom": "other" }, { name: "n" }), key);
    const [first, second, other] = claims.map(({ requestHash }) => requestHash);
    expect(second).toBe(first);
    expect(other).not.toBe(first);
  });

  it("leave JSON as it was", async () => {
    const json = JSON.stringify({ name: "n", source: PROJECT });
    expect(await send(json, JSON_HEADERS)).toEqual({ status: 201, body: { name: "n", source: PROJECT } });
    expect(await send(json, JSON_HEADERS, "?name=m")).toMatchObject({
      status: 422,
      body: { errors: [{ path: "name" }] },
    });
    expect(await send(form(PROJECT, { name: "n" }), {}, "?level=1")).toMatchObject({ status: 422 });
    expect(await send("x", { "Content-Type": "application/x-tar" })).toMatchObject({ status: 415 });
    const packed = gzipSync(json);
    expect(await send(new Uint8Array(packed), { ...JSON_HEADERS, "Content-Encoding": "gzip" })).toMatchObject({
      status: 415,
    });
  });

  it("are read from forms as clients write them", async () => {
    const file = part('name="f"; filename="main.circom"', MAIN, "Content-Type: application/octet-stream\r\n");
    const made = { status: 201, body: { name: "n", source: { "main.circom": MAIN } } };
    for (const text of [`${NAMED}${file}--x--\r\n`, `${NAMED}${file}--x--`])
      expect(await send(text, RAW_FORM)).toEqual(made);
    const quoted = { "Content-Type": 'Multipart/Form-Data; charset=utf-8; Boundary="x"' };
    expect(await send(`${NAMED}${file}--x--\r\n`, quoted)).toEqual(made);
    const lines = part(
      'name="f"; filename=main.circom',
      "\r\n--y\r\n-\r\n--",
      "content-type: text/plain; charset=UTF-8\r\n",
    );
    expect(await send(`${NAMED}${lines}--x--`, RAW_FORM)).toMatchObject({
      status: 201,
      body: { source: { "main.circom": "\r\n--y\r\n-\r\n--" } },
    });
  });

  it("are read from forms whose headers have many blanks, at either end of a value or within", async () => {
    const blanks = `X: ${" \t".repeat(900)}a${" \t".repeat(900)}\r\nContent-Type:${" ".repeat(200)}text/plain \t\r\n`;
    const file = part('name="f"; filename="main.circom"  \t', MAIN, LONG_HEADER);
    expect(await send(`${part('name="name"', "n", blanks)}${file}--x--`, RAW_FORM)).toEqual({
      status: 201,
      body: { name: "n", source: { "main.circom": MAIN } },
    });
  });

  it.each([
    ["without a boundary", `${NAMED}--x--`, { "Content-Type": "multipart/form-data" }, 400],
    ["with a boundary that is none", `${NAMED}--x--`, { "Content-Type": "multipart/form-data; boundary=" }, 400],
    ["with text before it", `y\r\n${NAMED}--x--`, RAW_FORM, 400],
    ["with text behind it", `${NAMED}--x--\r\ny`, RAW_FORM, 400],
    ["without its end", NAMED, RAW_FORM, 400],
    ["with half an end", `${NAMED}--x-`, RAW_FORM, 400],
    ["with a boundary that goes on", `${part('name="name"', "n\r\n--xy")}--x--`, RAW_FORM, 400],
    ["with a part without headers", "--x\r\n\r\nn\r\n--x--", RAW_FORM, 400],
    ["with a part without a name", `${part("", "n")}--x--`, RAW_FORM, 400],
    ["with a name given twice", `${part('name="name"; name="b"', "n")}--x--`, RAW_FORM, 400],
    ["with an escaped quote", `${part('name="na\\"me"', "n")}--x--`, RAW_FORM, 400],
    ["with an encoded file name", `${part("name=\"f\"; filename*=UTF-8''..%2fa.circom", "n")}--x--`, RAW_FORM, 400],
    [
      "with a header given twice",
      `${part('name="name"', "n", "Content-Disposition: form-data; name=b\r\n")}--x--`,
      RAW_FORM,
      400,
    ],
    ["with a folded header", `${part('name="name"', "n", " x: y\r\n")}--x--`, RAW_FORM, 400],
    [
      "with an encoded part",
      `${part('name="name"', "bg==", "Content-Transfer-Encoding: base64\r\n")}--x--`,
      RAW_FORM,
      415,
    ],
    [
      "with a part in another charset",
      `${part('name="name"', "n", "Content-Type: text/plain; charset=utf-16\r\n")}--x--`,
      RAW_FORM,
      415,
    ],
    ["with too many parts", `${part('name="f"; filename="README"', "n").repeat(70)}--x--`, RAW_FORM, 400],
    [
      "with headers without end",
      `--x\r\nContent-Disposition: form-data; name="${"n".repeat(5000)}"\r\n\r\nn\r\n--x--`,
      RAW_FORM,
      400,
    ],
  ])("are refused in a form %s", async (_how, text, headers, status) => {
    const answer = await send(text, headers);
    expect(answer.status).toBe(status);
    expect(answer.body.errors).toHaveLength(1);
  });
});
