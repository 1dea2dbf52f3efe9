/**
 * Kill -9 of a whole server under write load over HTTP (T1b): eight clients create vaults, keys, secrets and provers;
 * after each kill a new server on the same data must have everything that was acknowledged, whole.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ApiError } from "../../src/sdk/errors.js";
import type { SeededRandom } from "./seeded.js";
import { startServer, type Api, type TestServer } from "./server.js";
import { newFolder } from "./temporary-folder.js";

export interface HttpCrashFigures {
  rounds: number;
  acknowledged: number;
  lost: number;
  half: number;
}

interface Acknowledged {
  readonly vaults: Map<string, { readonly keys: Set<string>; readonly secrets: Map<string, string> }>;
  readonly provers: Set<string>;
}

const WRITERS = 8;
/** Of a round. */
const ACKNOWLEDGED_MIN = 8;

export async function killServer(options: {
  readonly rounds: number;
  readonly killAfterMs: readonly [number, number];
  readonly random: SeededRandom;
}): Promise<HttpCrashFigures> {
  const folder = newFolder("crash");
  const dataDir = join(folder, "data");
  const figures: HttpCrashFigures = { rounds: 0, acknowledged: 0, lost: 0, half: 0 };
  const known: Acknowledged = { vaults: new Map(), provers: new Set() };
  let server = await startServer({ dataDir });
  try {
    const { token } = await server.newUser();
    for (let round = 0; round < options.rounds; round += 1) {
      const [least, most] = options.killAfterMs;
      figures.acknowledged += await writeUntilKilled(server, token, known, least + options.random.below(most - least));
      server = await startServer({ dataDir });
      await examine(server.as(token), known, figures);
      figures.rounds += 1;
    }
    return figures;
  } finally {
    await server.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The time counts from the last of the first acknowledgements, so that a slow machine is not killed before it has
 * begun.
 */
async function writeUntilKilled(
  server: TestServer,
  token: string,
  known: Acknowledged,
  killAfterMs: number,
): Promise<number> {
  let acknowledged = 0;
  let killed = false;
  let isUnderWay: () => void = () => undefined;
  const kill = new Promise<void>((resolve) => {
    isUnderWay = resolve;
  }).then(async () => {
    await new Promise((resolve) => {
      setTimeout(resolve, killAfterMs);
    });
    killed = true;
    await server.end("SIGKILL");
  });
  const count = (): void => {
    acknowledged += 1;
    if (acknowledged === ACKNOWLEDGED_MIN) isUnderWay();
  };
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      const api = server.as(token);
      while (!killed) {
        try {
          await writeOnce(api, writer, known, count);
        } catch (error) {
          // A refusal of the running server would be a fault; a connection that broke is the kill.
          if (error instanceof ApiError && error.status !== 503 && error.status !== 429) throw error;
        }
      }
    }),
  );
  await kill;
  return acknowledged;
}

async function writeOnce(api: Api, writer: number, known: Acknowledged, count: () => void): Promise<void> {
  if (writer === 0) {
    const { body } = await api.createProver({
      body: { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "crash" },
    });
    known.provers.add(body.id);
    count();
    // A prover at a time in provisioning leaves the cores to the writers.
    await new Promise((resolve) => {
      setTimeout(resolve, 500);
    });
    return;
  }
  const { body: vault } = await api.createVault({ body: { name: "crash", description: "" } });
  const entry = { keys: new Set<string>(), secrets: new Map<string, string>() };
  known.vaults.set(vault.id, entry);
  count();
  const { body: key } = await api.createKey({
    params: { id: vault.id },
    body: { type: "symmetric", usage: "encrypt/decrypt", spec: "AES-256-GCM", name: "k", description: "" },
  });
  entry.keys.add(key.id);
  count();
  const value = `value of ${vault.id}`;
  const { body: secret } = await api.createSecret({ params: { id: vault.id }, body: { name: "s", type: "t", value } });
  entry.secrets.set(secret.id, value);
  count();
}

async function examine(api: Api, known: Acknowledged, figures: HttpCrashFigures): Promise<void> {
  for (const [id, { keys, secrets }] of known.vaults) {
    const listed = await api.listKeys({ params: { id }, query: { rpp: 100 } }).catch(() => undefined);
    if (listed === undefined) {
      figures.lost += 1;
      continue;
    }
    if (!listed.body.some(({ name }) => name === "master0")) figures.half += 1;
    for (const key of keys) if (!listed.body.some((found) => found.id === key)) figures.lost += 1;
    for (const [secretId, value] of secrets) {
      const found = await api.getSecret({ params: { id, secret_id: secretId } }).catch(() => undefined);
      if (found === undefined) figures.lost += 1;
      else if (found.body.value !== value) figures.half += 1;
    }
  }
  for (const id of known.provers) {
    const prover = await api.getProver({ params: { id } }).catch(() => undefined);
    if (prover === undefined) figures.lost += 1;
    else if ((await api.listKeys({ params: { id: prover.body.vault_id } }).catch(() => undefined)) === undefined)
      figures.half += 1;
  }
  // Each round starts from nothing known, so that the examination does not grow with the rounds.
  known.vaults.clear();
  known.provers.clear();
}
