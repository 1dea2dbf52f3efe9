/**
 * A ceremony of five on a server that is killed between any two steps, and in the midst of each upload and each check:
 * nothing is lost, nothing forks, and snarkjs and we accept the key.
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { makePowersOfTau } from "../../../bench/full-powers-of-tau.js";
import { verifyCeremony } from "../../../src/engine/groth16/ceremony/verify-ceremony.js";
import { readTranscriptDocument } from "../../../src/engine/groth16/ceremony/transcript-document.js";
import { rangeOfBytes } from "../../../src/engine/powers-of-tau/range-file.js";
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

/** Asks for the lease out of turn. */
async function requireRefusedLease(path: string, bearer: string): Promise<void> {
  await expect(send("POST", `${path}/lease`, bearer)).rejects.toThrow("ceremony_not_your_turn");
}

/** Signs what the contributor of an index has contributed. */
async function signContribution(path: string, bearer: string, index: number): Promise<string> {
  const { contributions } = await send<PublicCeremony>("GET", path, bearer);
  const text = contributions.find((each) => each.index === index)!.statement_text;
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const signature = sign(null, Buffer.from(text), privateKey).toString("hex");
  await send("POST", `${path}/contributions/${String(index)}/statement`, bearer, {
    ...{ kind: "ed25519", signature },
    public_key: publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("hex"),
  });
  return signature;
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

/** Verifies the published files by `snarkjs zkey verify`, and by all of our own checks. */
async function requireAccepted(path: string): Promise<void> {
  const names = ["proving_key.zkey", "initial_key.zkey", "circuit.r1cs", "ceremony-transcript.json"];
  const files = await Promise.all(names.map(async (name) => await file(`${path}/files/${name}`, token)));
  const [key, first, r1cs, transcript] = files as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  expect(await verifyBySnarkjs({ key, r1cs, powers: readFileSync(join(folder, "powers.ptau")) })).toBe(true);
  const findings = await verifyCeremony(
    readTranscriptDocument(Buffer.from(transcript).toString("utf8")),
    {
      ...{ zkey: rangeOfBytes(key), initialKey: rangeOfBytes(first), r1cs: rangeOfBytes(r1cs) },
      powersOfTau: rangeOfBytes(powers),
    },
    {
      checks: [
        ...(["key_file", "chain", "contributions", "beacon", "statements"] as const),
        ...(["initial_key", "circuit", "phase1", "key_follows"] as const),
      ],
    },
  );
  expect(findings.filter(({ verdict }) => verdict !== "holds")).toEqual([]);
}

it("ends with the key of its contributors, whenever its server is killed", async () => {
  const { id } = await send<{ id: string }>("POST", "/provers", token, {
    ...{ identifier: "cubic", proving_scheme: "groth16", curve: "BN254", setup: "ceremony" },
    ceremony: { open: true, minimum: CONTRIBUTORS.length, beacon: { source: "block", round: 77 } },
  });
  await kill();
  const path = `/ceremonies/${id}`;
  const state = async (): Promise<PublicCeremony> => await send("GET", path, token);
  const enter = async (name: string) => await send<{ token: string }>("POST", `${path}/join`, token, { name });
  await eventually(async () => {
    expect((await state()).state).toBe("open");
  });
  await kill();
  const [hashes, signatures]: [string[], string[]] = [[], []];
  let joined = await enter(CONTRIBUTORS[0][0]);
  for (const [i, [name, contribute]] of CONTRIBUTORS.entries()) {
    await kill();
    const lease = await send<TakenLease>("POST", `${path}/lease`, joined.token);
    expect(lease.index).toBe(hashes.length + 1);
    await kill();
    // The next one waits meanwhile.
    const next = await enter(CONTRIBUTORS[i + 1]?.[0] ?? "Eve");
    await kill();
    await requireRefusedLease(path, next.token);
    const before = await file(`${path}/key`, joined.token);
    await kill();
    expect(await file(`${path}/key`, joined.token)).toEqual(before);
    const key = await contribute(before, name);
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
    // Whoever has contributed has no second turn, and what was taken is what others go on from.
    await requireRefusedLease(path, joined.token);
    expect(await file(`${path}/key`, next.token)).toEqual(key);
    signatures.push(await signContribution(path, joined.token, i + 1));
    joined = next;
  }
  await kill();
  await send("POST", `/provers/${id}/ceremony/beacon`, token, { value: "5a".repeat(32) });
  await kill();
  await eventually(
    async () => {
      expect((await state()).state).toBe("ended");
    },
    { timeoutMs: 120_000 },
  );
  await kill();
  const ended = await state();
  const people = ended.contributions.slice(0, -1);
  expect(people.map(({ hash }) => hash)).toEqual(hashes);
  expect(people.map(({ statement }) => statement?.signature)).toEqual(signatures);
  expect(new Set(hashes).size).toBe(CONTRIBUTORS.length);
  await requireAccepted(path);
  const made = await send<{ proof: string }>("POST", `/provers/${id}/prove`, token, { witness: { X: "3", Y: "35" } });
  const claim = { proof: made.proof, witness: { Y: "35" } };
  expect(await send("POST", `/provers/${id}/verify`, token, claim)).toMatchObject({ result: true });
}, 900_000);
