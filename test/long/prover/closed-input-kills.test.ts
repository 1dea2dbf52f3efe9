/**
 * Kill -9 of a whole server while it proves with closed inputs, at once and as jobs: what it has answered is kept, each
 * proof that is kept stands in the audit log with what it used, and no file has an input.
 */
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { CompactEncrypt, importJWK } from "jose";
import { afterAll, expect, it } from "vitest";
import { auditLines } from "../../../src/platform/audit/audit-log.js";
import { openStoreReader } from "../../../src/platform/store/lmdb/lmdb-store.js";
import { askUntilKilled } from "../../support/kill-while-asking.js";
import { seededRandom } from "../../support/seeded.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { newFolder } from "../../support/temporary-folder.js";

const ROUNDS = 6;
const REQUESTS_A_ROUND = 24;
/** About what a server needs for all requests of a round. */
const KILL_WITHIN_MS = 800;
const FIELD_ORDER = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
/** Without it the issuer would be the address, and tokens would end with the first server. */
const ENV = { PROOFWRIGHT_ISSUER: "https://closed.example.com", PROOFWRIGHT_MODE: "development" };
type InputKey = Awaited<ReturnType<Api["createProverInputKey"]>>["body"];
type ProveBody = NonNullable<Parameters<Api["prove"]>[0]["body"]>;

/** What one request asks to be proven. */
interface Asked {
  readonly body: ProveBody;
  /** Public, and different for each request: finds the proof. */
  readonly y: string;
  /** As the audit log names what is used. */
  readonly use: string;
}

interface Answered {
  readonly asked: Asked[];
  /** Ids of proofs, and of jobs. */
  readonly proofs: string[];
  readonly jobs: string[];
}

const folder = newFolder("closed-kills");
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Numbers that no file may have, as text and as bytes in both orders. */
const hidden: Buffer[] = [];

function newInputs(): { readonly X: string; readonly Y: string } {
  const bytes = randomBytes(30);
  const x = BigInt(`0x${bytes.toString("hex")}`);
  hidden.push(Buffer.from(String(x)), Buffer.from(x.toString(16)), bytes, Buffer.from(bytes).reverse());
  return { X: String(x), Y: String((x ** 3n + x + 5n) % FIELD_ORDER) };
}

/** One request in each of three ways: to a key of each curve, and with a secret. */
async function requests(api: Api, prover: string, vault: string, keys: readonly InputKey[]): Promise<Asked[]> {
  const list: Asked[] = [];
  for (let index = 0; index < REQUESTS_A_ROUND; index += 1) {
    const inputs = newInputs();
    const key = keys[index % 3];
    if (key === undefined) {
      const secret = { name: "x", type: "t", value: inputs.X };
      const { id } = (await api.createSecret({ params: { id: vault }, body: secret })).body;
      const body = { witness: { X: { $secret: id }, Y: inputs.Y } };
      list.push({ body, y: inputs.Y, use: `secret/${vault}/${id}` });
    } else {
      const jwe = await new CompactEncrypt(Buffer.from(JSON.stringify(inputs)))
        .setProtectedHeader({ alg: key.alg, enc: "A256GCM", kid: key.kid, aud: prover })
        .encrypt(await importJWK({ ...key }, key.alg));
      list.push({ body: { witness_jwe: jwe }, y: inputs.Y, use: `key/${vault}/${key.kid}` });
    }
  }
  return list;
}

/** Asks for a proof, every second time as a job. */
async function askForProof(
  api: Api,
  prover: string,
  { asked, isJob }: { readonly asked: Asked; readonly isJob: boolean },
  answered: Answered,
): Promise<void> {
  answered.asked.push(asked);
  const headers: { readonly Prefer?: string } = isJob ? { Prefer: "respond-async" } : {};
  const { id } = (await api.prove({ params: { id: prover }, body: asked.body, headers })).body;
  (isJob ? answered.jobs : answered.proofs).push(id);
}

function expectNoInputs(dataDir: string, message: string): void {
  for (const file of readdirSync(dataDir, { recursive: true }) as string[]) {
    const path = join(dataDir, file);
    if (!statSync(path).isFile()) continue;
    const content = readFileSync(path);
    expect(hidden.filter((one) => content.includes(one)).length, `${file}, ${message}`).toBe(0);
  }
}

/** How often each thing was used, as the log has it; refusals are none. */
async function readUses(dataDir: string, prover: string): Promise<Map<string, number>> {
  const reader = openStoreReader({ path: join(dataDir, "store") });
  const lines = auditLines(reader, 0, 100_000).trim().split("\n");
  await reader.close();
  const uses = new Map<string, number>();
  for (const line of lines) {
    const { event } = JSON.parse(line) as {
      readonly event: {
        readonly action: string;
        readonly outcome: string;
        readonly target?: { readonly id?: string };
        readonly detail?: { readonly uses?: readonly string[] };
      };
    };
    if (event.action !== "prove" || event.target?.id !== prover) continue;
    expect(event.outcome).toBe("ok");
    for (const use of event.detail?.uses ?? []) uses.set(use, (uses.get(use) ?? 0) + 1);
  }
  return uses;
}

it(`keeps what it answered over ${String(ROUNDS)} kills, records each use, and writes no input`, async () => {
  const random = seededRandom();
  const seed = `seed ${String(random.seed)}`;
  const dataDir = join(folder, "data");
  let server: TestServer = await startServer({ dataDir, env: ENV });
  let printed = "";
  try {
    const { token } = await server.newUser();
    const prover = await provisioned(server.as(token), {
      ...{ identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "closed" },
    });
    const { vault_id: vault } = (await server.as(token).getProver({ params: { id: prover } })).body;
    const keys: InputKey[] = [];
    for (const crv of ["X25519", "P-256"] as const)
      keys.push((await server.as(token).createProverInputKey({ params: { id: prover }, body: { crv } })).body);
    const answered: Answered = { asked: [], proofs: [], jobs: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      const list = await requests(server.as(token), prover, vault, keys);
      const api = server.as(token);
      const asks = list.map((asked, index) => ({ asked, isJob: index % 2 === 1 }));
      await askUntilKilled(server, asks, async (one) => await askForProof(api, prover, one, answered), {
        ...{ random, withinMs: KILL_WITHIN_MS, afterFirstAnswer: round % 2 === 0 },
      });
      printed += server.output();
      expectNoInputs(dataDir, seed);
      server = await startServer({ dataDir, env: ENV });
    }
    const api = server.as(token);
    for (const id of answered.jobs) {
      const { body: job } = await api.getJob({ params: { id }, preferWaitSec: 300 });
      expect(job, seed).toMatchObject({ status: "succeeded", error: null });
      answered.proofs.push(job.proof_id ?? "");
    }
    expect(answered.proofs.length).toBeGreaterThan(0);
    const kept: { readonly id: string; readonly y: string | undefined }[] = [];
    for (let page = 1; ; page += 1) {
      const { body, total } = await api.listProofs({ params: { id: prover }, query: { page, rpp: 100 } });
      for (const { id, public_signals } of body) kept.push({ id, y: public_signals[0] });
      if (page * 100 >= total) break;
    }
    const ids = new Set(kept.map(({ id }) => id));
    expect(
      answered.proofs.filter((id) => !ids.has(id)),
      seed,
    ).toEqual([]);
    // A job whose answer was cut off may have been made; nothing is made twice, and nothing that was not asked for.
    expect(new Set(kept.map(({ y }) => y)).size, seed).toBe(kept.length);
    expect(await server.end(), seed).toBe(0);
    printed += server.output();
    const uses = await readUses(dataDir, prover);
    const useOf = new Map(answered.asked.map(({ y, use }) => [y, use]));
    const needed = new Map<string, number>();
    for (const { y } of kept) {
      const use = useOf.get(y ?? "");
      expect(use, seed).toBeDefined();
      needed.set(use ?? "", (needed.get(use ?? "") ?? 0) + 1);
    }
    // Uses that a kill kept from becoming a proof are recorded as well; others than the asked ones are not there.
    for (const [use, count] of needed) expect(uses.get(use) ?? 0, `${use}, ${seed}`).toBeGreaterThanOrEqual(count);
    expect(
      [...uses.keys()].filter((use) => !answered.asked.some((asked) => asked.use === use)),
      seed,
    ).toEqual([]);
    expectNoInputs(dataDir, seed);
    for (const one of hidden) expect(Buffer.from(printed).includes(one), seed).toBe(false);
  } finally {
    await server.dispose();
  }
});
