/** Uploads in parts, which one node takes, whose object ends on another: the first drops what has come. */
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makePowersOfTau } from "../../bench/full-powers-of-tau.js";
import { TestCluster } from "../support/cluster.js";
import { eventually } from "../support/eventually.js";
import type { Api, TestServer } from "../support/server.js";

/** Of a file of which two parts come. No contribution is as short, but longer ones are refused at once. */
const TOTAL = 3_000;
const PART = Buffer.alloc(1_000, 7);
const IMPORT = { proving_scheme: "groth16", curve: "BN254", import: { "circuit.r1cs": {}, "circuit.wasm": {} } };
const CEREMONY = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", setup: "ceremony" } as const;
/** Enough for `cubic`. */
const POWER = 4;

interface Answer {
  readonly status: number | undefined;
  readonly body: unknown;
}

let cluster: TestCluster;
let taking: TestServer;
let deleting: TestServer;
let owner: { readonly api: Api; readonly token: string };
let administrator: string;
beforeAll(async () => {
  cluster = await TestCluster.make();
  const powers = cluster.folderOf("powers");
  mkdirSync(powers);
  writeFileSync(join(powers, "four.ptau"), await makePowersOfTau(POWER, { isPrepared: true }));
  taking = await cluster.start("taking", { PROOFWRIGHT_PTAU_DIR: powers });
  administrator = await newAdministrator();
  deleting = await cluster.start("deleting", { PROOFWRIGHT_PTAU_DIR: powers });
  owner = await deleting.newUser();
});
afterAll(async () => {
  await cluster.dispose();
});

/** Makes the first administrator, with the token that the first node has in its folder. */
async function newAdministrator(): Promise<string> {
  const [email, password] = ["root@example.com", `phrase ${randomUUID()}`];
  const bootstrap = readFileSync(join(taking.dataDir, "bootstrap-token"), "utf8").trim();
  await taking.as(bootstrap).createUser({ body: { email, password, first_name: "Ada", last_name: "Lovelace" } });
  return (await taking.anonymous.authenticate({ body: { email, password } })).body.token.access_token;
}

/** Begins to send a part to the first node. */
function send(
  path: string,
  token: string,
  { from = 0, to }: { readonly from?: number; readonly to: number },
): { readonly write: (bytes: Uint8Array) => void; readonly answer: Promise<Answer> } {
  const sent = request(`${taking.url}/api/v1${path}`, {
    method: "PUT",
    headers: {
      ...{ authorization: `Bearer ${token}`, "content-type": "application/octet-stream" },
      ...{ "content-length": to - from, "content-range": `bytes ${String(from)}-${String(to - 1)}/${String(TOTAL)}` },
    },
  });
  const answer = new Promise<Answer>((resolve, reject) => {
    sent.once("response", (response) => {
      json(response).then((body) => {
        resolve({ status: response.statusCode, body });
      }, reject);
    });
    sent.once("error", reject);
  });
  return { write: (bytes) => sent.write(bytes), answer };
}

/** Waits until the node that takes the parts knows what was answered anywhere. */
async function settle(): Promise<void> {
  await taking.as(owner.token).listReferenceStrings();
}

/** What is growing in the folder of the node that takes the parts. */
function growing(): string[] {
  return ["tmp", "partial"].flatMap((name) => readdirSync(join(taking.dataDir, "artifacts", name)));
}

async function untilGrowing(count: number): Promise<void> {
  await eventually(() => {
    expect(growing()).toHaveLength(count);
  });
}

async function newImport(): Promise<string> {
  const body = { ...IMPORT, provider: "circom", name: randomUUID() } as Parameters<Api["createProver"]>[0]["body"];
  return (await owner.api.createProver({ body })).body.id;
}

/** A ceremony in which somebody has the turn. */
async function newTurn(): Promise<{ readonly id: string; readonly token: string }> {
  const ceremony = { open: true, minimum: 1, beacon: { source: "block", round: 77 } } as const;
  const { body: prover } = await owner.api.createProver({ body: { ...CEREMONY, name: randomUUID(), ceremony } });
  const params = { id: prover.id };
  await eventually(async () => {
    expect((await owner.api.getCeremony({ params })).body.state).toBe("open");
  });
  const { body } = await deleting.anonymous.joinCeremony({ params, body: { name: "Ada" } });
  await deleting.as(body.token).leaseCeremony({ params });
  return { id: prover.id, token: body.token };
}

/** What is uploaded where, by whom, and how it ends on the other node. */
const KINDS: readonly (readonly [
  string,
  () => Promise<{ readonly path: string; readonly token: string; readonly end: () => Promise<unknown> }>,
])[] = [
  [
    "a file of an import whose prover is deleted",
    async () => {
      const id = await newImport();
      const end = async (): Promise<unknown> => await owner.api.deleteProver({ params: { id } });
      return { path: `/provers/${id}/artifacts/circuit.r1cs`, token: owner.token, end };
    },
  ],
  [
    "a powers-of-tau file whose upload is deleted",
    async () => {
      const file = `${randomUUID()}.ptau`;
      const end = async (): Promise<unknown> =>
        await deleting.as(administrator).deleteReferenceString({ params: { file } });
      return await Promise.resolve({ path: `/reference_strings/uploads/${file}`, token: administrator, end });
    },
  ],
  [
    "a contribution whose prover is deleted",
    async () => {
      const { id, token } = await newTurn();
      const end = async (): Promise<unknown> => await owner.api.deleteProver({ params: { id } });
      return { path: `/ceremonies/${id}/contribution`, token, end };
    },
  ],
];

function refusal(code: string): object {
  return { errors: [{ code }] };
}

describe.each(KINDS)("%s on another node", (_what, begin) => {
  it("is dropped between two parts, and the next one is told so", async () => {
    const { path, token, end } = await begin();
    const first = send(path, token, { to: PART.length });
    first.write(PART);
    expect(await first.answer).toMatchObject({ status: 200, body: { received: PART.length } });
    expect(growing()).toHaveLength(1);
    await end();
    await untilGrowing(0);
    const next = send(path, token, { from: PART.length, to: 2 * PART.length });
    next.write(PART);
    const { status, body } = await next.answer;
    const isProver = !path.startsWith("/reference_strings");
    expect([status, body]).toMatchObject(
      isProver ? [404, refusal("not_found")] : [409, refusal("upload_out_of_order")],
    );
  });
});

describe.each(KINDS)("%s on another node while a part comes", (_what, begin) => {
  it("is dropped, with an answer to whoever sends it", async () => {
    const { path, token, end } = await begin();
    const sent = send(path, token, { to: 2 * PART.length });
    sent.write(PART);
    await untilGrowing(1);
    await end();
    await settle();
    sent.write(PART.subarray(0, 50));
    expect(await sent.answer).toMatchObject({ status: 404, body: refusal("not_found") });
    await untilGrowing(0);
  });
});

it("a file of an import that is complete on another node is dropped on the first, which says that it is not expected", async () => {
  const id = await newImport();
  const path = `/provers/${id}/artifacts/circuit.r1cs`;
  const first = send(path, owner.token, { to: 2 * PART.length });
  first.write(PART);
  await untilGrowing(1);
  const whole = await fetch(`${deleting.url}/api/v1${path}`, {
    ...{ method: "PUT", body: PART },
    headers: { authorization: `Bearer ${owner.token}`, "content-type": "application/octet-stream" },
  });
  expect(whole.status).toBe(201);
  await settle();
  first.write(PART.subarray(0, 50));
  expect(await first.answer).toMatchObject({ status: 409, body: refusal("upload_not_expected") });
  await untilGrowing(0);
});
