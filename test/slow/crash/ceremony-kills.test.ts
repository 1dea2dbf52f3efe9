/**
 * A ceremony of five on a server that is killed between any two steps, and once in the midst of an upload: nothing is
 * lost, nothing forks, and snarkjs accepts the key.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import type {
  CeremonyContribution,
  PublicCeremony,
  TakenLease,
} from "../../../src/prover/ceremonies/ceremony-schemas.js";
import { contributeByOurs, contributeBySnarkjs, verifyBySnarkjs } from "../../prover/ceremonies/support.js";
import { eventually } from "../../support/eventually.js";
import { startServer, type TestServer } from "../../support/server.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const POWER = 4;
const CONTRIBUTORS = [
  ["Grace", contributeBySnarkjs],
  ["Ada", contributeByOurs],
  ["Emmy", contributeBySnarkjs],
  ["Sofia", contributeByOurs],
  ["Hypatia", contributeByOurs],
] as const;

let folder: string;
let powers: Uint8Array;
let server: TestServer;
let token: string;

async function start(): Promise<void> {
  server = await startServer({ dataDir: join(folder, "data"), env: { PROOFWRIGHT_PTAU_DIR: join(folder) } });
}

async function kill(): Promise<void> {
  await server.end("SIGKILL");
  await start();
}

beforeAll(async () => {
  folder = newFolder("ceremony-kills");
  powers = await makePowersOfTau(POWER, { isPrepared: true });
  writeFileSync(join(folder, "powers.ptau"), powers);
  await start();
  ({ token } = await server.newUser());
}, 120_000);
afterAll(async () => {
  await server.dispose();
  removeFolder(folder);
});

async function send<Body>(method: string, path: string, bearer: string, body?: unknown): Promise<Body> {
  const isBytes = body instanceof Uint8Array;
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${bearer}`,
      ...(body === undefined || isBytes ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: isBytes ? Uint8Array.from(body) : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status >= 400) throw new Error(`${method} ${path}: ${String(response.status)} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as Body;
}

async function file(path: string, bearer: string): Promise<Uint8Array> {
  const response = await fetch(`${server.url}/api/v1${path}`, { headers: { authorization: `Bearer ${bearer}` } });
  expect(response.status, path).toBe(200);
  return new Uint8Array(await response.arrayBuffer());
}

/** Sends half of the file and is cut off by the end of the server. */
async function beginUpload(path: string, bearer: string, key: Uint8Array): Promise<void> {
  const half = Math.floor(key.length / 2);
  const headers = {
    authorization: `Bearer ${bearer}`,
    "content-range": `bytes 0-${String(half - 1)}/${String(key.length)}`,
  };
  const body = Uint8Array.from(key.subarray(0, half));
  await fetch(`${server.url}/api/v1${path}`, { method: "PUT", headers, body });
}

/** A busy machine may lose a connection; whoever lost it looks whether the contribution was taken, and sends it again. */
async function sendUntilThere(
  isThere: () => Promise<boolean>,
  { path, bearer, key }: { readonly path: string; readonly bearer: string; readonly key: Uint8Array },
): Promise<void> {
  while (!(await isThere())) {
    await send<CeremonyContribution>("PUT", path, bearer, key).catch((error: unknown) => {
      if (!(error instanceof TypeError) || server.child.exitCode !== null) throw error;
    });
  }
}

it("ends with the key of its contributors, whenever its server is killed", async () => {
  const { id } = await send<{ id: string }>("POST", "/provers", token, {
    ...{ identifier: "cubic", proving_scheme: "groth16", curve: "BN254", setup: "ceremony" },
    ceremony: { open: true, minimum: CONTRIBUTORS.length, beacon: { source: "block", round: 77 } },
  });
  await kill();
  const path = `/ceremonies/${id}`;
  const state = async (): Promise<PublicCeremony> => await send("GET", path, token);
  await eventually(async () => {
    expect((await state()).state).toBe("open");
  });
  const hashes: string[] = [];
  for (const [name, contribute] of CONTRIBUTORS) {
    const joined = await send<{ token: string }>("POST", `${path}/join`, token, { name });
    await kill();
    const lease = await send<TakenLease>("POST", `${path}/lease`, joined.token);
    expect(lease.index).toBe(hashes.length + 1);
    await kill();
    const key = await contribute(await file(`${path}/key`, joined.token), name);
    await beginUpload(`${path}/contribution`, joined.token, key);
    await kill();
    // Cut off while it is checked, or just after: sent again until it is there.
    const sent = send("PUT", `${path}/contribution`, joined.token, key).catch(() => undefined);
    await Promise.race([sent, new Promise((resolve) => setImmediate(resolve))]);
    await kill();
    await sent;
    await sendUntilThere(async () => (await state()).contributions.length > hashes.length, {
      path: `${path}/contribution`,
      bearer: joined.token,
      key,
    });
    hashes.push((await state()).contributions.at(-1)!.hash);
    await kill();
  }
  await send("POST", `/provers/${id}/ceremony/beacon`, token, { value: "5a".repeat(32) });
  await kill();
  await eventually(
    async () => {
      expect((await state()).state).toBe("ended");
    },
    { timeoutMs: 120_000 },
  );
  const ended = await state();
  expect(ended.contributions.map(({ hash }) => hash).slice(0, -1)).toEqual(hashes);
  expect(new Set(hashes).size).toBe(CONTRIBUTORS.length);
  const [key, r1cs] = await Promise.all(
    ["proving_key.zkey", "circuit.r1cs"].map(async (name) => await file(`${path}/files/${name}`, token)),
  );
  expect(await verifyBySnarkjs({ key: key!, r1cs: r1cs!, powers: readFileSync(join(folder, "powers.ptau")) })).toBe(
    true,
  );
  const made = await send<{ proof: string }>("POST", `/provers/${id}/prove`, token, { witness: { X: "3", Y: "35" } });
  const claim = { proof: made.proof, witness: { Y: "35" } };
  expect(await send("POST", `/provers/${id}/verify`, token, claim)).toMatchObject({ result: true });
}, 600_000);
