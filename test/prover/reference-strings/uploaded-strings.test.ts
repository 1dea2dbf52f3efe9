/** Powers-of-tau files that are uploaded: in parts, over restarts, checked, used, refused and deleted. */
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { bindRoutes } from "../../../src/platform/contract/route.js";
import { proverRoutes } from "../../../src/prover/routes.js";
import { startFront } from "../../platform/http/support.js";
import { eventually } from "../../support/eventually.js";
import { seededRandom } from "../../support/seeded.js";
import { removeFolder } from "../../support/temporary-folder.js";
import { subject } from "../../vault/support.js";
import { CUBIC, openTestRegistry, provision, type TestRegistry } from "../support.js";

const POWER = 4;
const PATH = "/api/v1/reference_strings";
const owner = subject();

interface Answer {
  readonly status: number;
  readonly body: { readonly [member: string]: unknown };
}
interface Opened extends TestRegistry {
  readonly request: (method: string, path: string, options?: RequestInit) => Promise<Answer>;
  readonly stop: () => Promise<void>;
}

let prepared: Uint8Array;
let opened: Opened | undefined;
let folder: string | undefined;

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

beforeAll(async () => {
  prepared = await makePowersOfTau(POWER, { isPrepared: true });
});
afterEach(async () => {
  await opened?.stop();
  opened = undefined;
  if (folder !== undefined) removeFolder(folder);
  folder = undefined;
});

/** Starts a server, on what the one before has left. */
async function start(): Promise<Opened> {
  const test = await openTestRegistry({
    ...{ makesDevelopmentStrings: false, powersUploadBytesMax: 1 << 20 },
    ...(folder === undefined ? {} : { folder }),
  });
  folder = test.folder;
  await test.registry.removeOrphans();
  const { server, url } = await startFront({
    routes: bindRoutes(proverRoutes, test.registry.handlers, test.registry.bodyLimits),
  });
  opened = {
    ...test,
    request: async (method, path, options = {}) => {
      const answer = await fetch(`${url}${PATH}${path}`, {
        ...options,
        method,
        headers: { Authorization: "bearer user-read+sudo", ...(options.headers as Record<string, string> | undefined) },
      });
      const text = await answer.text();
      return { status: answer.status, body: (text === "" ? {} : JSON.parse(text)) as Answer["body"] };
    },
    stop: async () => {
      await server.stop({ graceMs: 0 });
      await test.close({ keep: true });
    },
  };
  return opened;
}

async function restart(): Promise<Opened> {
  await opened?.stop();
  return await start();
}

const upload = async (
  file: string,
  bytes: Uint8Array,
  part: { readonly from?: number; readonly to?: number; readonly total?: number; readonly sha256?: string } = {},
): Promise<Answer> => {
  const { from = 0, to = bytes.length, total = bytes.length } = part;
  const isWhole = from === 0 && to === total;
  return await opened!.request("PUT", `/uploads/${file}`, {
    body: Uint8Array.from(bytes.subarray(from, to)),
    headers: {
      "content-type": "application/octet-stream",
      ...(isWhole ? {} : { "content-range": `bytes ${from}-${to - 1}/${total}` }),
      ...(part.sha256 === undefined
        ? {}
        : { "repr-digest": `sha-256=:${Buffer.from(part.sha256, "hex").toString("base64")}:` }),
    },
  });
};
const stringOf = async (file: string): Promise<Answer["body"] | undefined> => {
  const { body } = await opened!.request("GET", "");
  return (body as unknown as Answer["body"][]).find((each) => each["file"] === file);
};
const checked = async (file: string): Promise<Answer["body"]> =>
  await eventually(async () => {
    const string = await stringOf(file);
    if (string?.["state"] !== "checked" && string?.["state"] !== "refused") throw new Error("not checked yet");
    return string;
  });
const artifactsLeft = (): string[] =>
  readdirSync(join(folder!, "artifacts"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

describe("an uploaded powers-of-tau file", () => {
  it("comes in parts, is checked, serves provers, and is deleted when none uses it", async () => {
    const { provers } = await start();
    const sha256 = hashOf(prepared);
    const random = seededRandom();
    const cut = 1 + random.below(prepared.length - 1);
    expect(await upload("one.ptau", prepared, { to: cut, sha256 }), `seed ${random.seed}`).toMatchObject({
      status: 200,
      body: { file: "one.ptau", state: "uploading", received: cut, bytes: prepared.length, uploaded: true },
    });
    expect(await stringOf("one.ptau")).toMatchObject({ progress: cut / prepared.length });
    expect(await upload("one.ptau", prepared, { from: cut, sha256 })).toMatchObject({ status: 202 });
    expect(await checked("one.ptau")).toMatchObject({ state: "checked", sha256, power: POWER, uploaded: true });
    const prover = await provision(provers, owner, { ...CUBIC, phase1: sha256 });
    expect(prover).toMatchObject({ status: "provisioned", setup: { origin: "ceremony", sha256 } });
    expect(await opened!.request("DELETE", "/uploads/one.ptau")).toMatchObject({ status: 409 });
    expect(await upload("one.ptau", prepared)).toMatchObject({ status: 409 });
    await provers.delete(owner, prover.id);
    expect(await opened!.request("DELETE", "/uploads/one.ptau")).toMatchObject({ status: 204 });
    expect(await stringOf("one.ptau")).toBeUndefined();
    expect(await opened!.request("GET", `/${sha256}`)).toMatchObject({ status: 404 });
    expect(await opened!.request("DELETE", "/uploads/one.ptau")).toMatchObject({ status: 404 });
    expect(artifactsLeft()).not.toContain(sha256);
  });

  it("goes on after a restart, from where it was", async () => {
    await start();
    const sha256 = hashOf(prepared);
    await upload("one.ptau", prepared, { to: 1000 });
    await restart();
    expect(await stringOf("one.ptau")).toMatchObject({ state: "uploading", received: 1000, bytes: prepared.length });
    expect(await upload("one.ptau", prepared, { from: 999 })).toMatchObject({
      ...{ status: 409, body: { errors: [{ code: "upload_out_of_order" }] } },
    });
    expect(await upload("one.ptau", prepared, { from: 1000, to: 2000 })).toMatchObject({ status: 200 });
    await restart();
    expect(await upload("one.ptau", prepared, { from: 2000, sha256 })).toMatchObject({ status: 202 });
    expect(await checked("one.ptau")).toMatchObject({ state: "checked", sha256 });
    await restart();
    expect(await stringOf("one.ptau")).toMatchObject({ state: "checked", sha256 });
  });

  it("that goes on with other bytes is refused, by its hash or by its check, and nothing is kept", async () => {
    await start();
    const other = await makePowersOfTau(POWER, { isPrepared: true });
    const half = prepared.length >> 1;
    const sha256 = hashOf(prepared);
    await upload("one.ptau", prepared, { to: half, sha256 });
    expect(await upload("one.ptau", other, { from: half, sha256 })).toMatchObject({
      body: { errors: [{ code: "upload_digest_mismatch" }] },
    });
    expect(await stringOf("one.ptau")).toBeUndefined();
    await upload("one.ptau", prepared, { to: half });
    await restart();
    expect(await upload("one.ptau", other, { from: half })).toMatchObject({ status: 202 });
    expect(await checked("one.ptau")).toMatchObject({
      state: "refused",
      sha256: null,
      error: { code: expect.any(String) as string },
    });
    expect(artifactsLeft()).toEqual([]);
    // Its name may be used again.
    expect(await upload("one.ptau", prepared)).toMatchObject({ status: 202 });
    expect(await checked("one.ptau")).toMatchObject({ state: "checked", sha256, error: null });
  });

  it("begins again with its first part, and is dropped by a deletion", async () => {
    await start();
    await upload("one.ptau", prepared, { to: 500 });
    await restart();
    await upload("one.ptau", prepared, { to: 300 });
    expect(await stringOf("one.ptau")).toMatchObject({ received: 300 });
    expect(artifactsLeft()).toHaveLength(1);
    await restart();
    expect(await opened!.request("DELETE", "/uploads/one.ptau")).toMatchObject({ status: 204 });
    expect(artifactsLeft()).toEqual([]);
  });

  it("comes from administrators alone", async () => {
    await start();
    for (const method of ["PUT", "DELETE"])
      expect(
        await opened!.request(method, "/uploads/one.ptau", {
          headers: { Authorization: "bearer user-read+create", "content-type": "application/octet-stream" },
          ...(method === "PUT" ? { body: Uint8Array.from(prepared) } : {}),
        }),
      ).toMatchObject({ status: 403 });
    expect(artifactsLeft()).toEqual([]);
  });

  it("is refused above the limit, and by a name that is no powers-of-tau file's", async () => {
    await start();
    expect(await upload("one.ptau", prepared, { to: 100, total: 1 << 21 })).toMatchObject({ status: 413 });
    for (const name of ["one.zip", "..%2fone.ptau", ".ptau", `${"a".repeat(300)}.ptau`])
      expect((await upload(name, prepared)).status, name).toBeGreaterThanOrEqual(400);
    expect(artifactsLeft()).toEqual([]);
  });
});
