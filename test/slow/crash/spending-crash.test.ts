/**
 * Kill -9 of a whole server while it spends: what it has answered true for is spent afterwards, what it has not answered
 * is spent once or not at all, and the trees have exactly what was spent.
 */
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { ApiError } from "../../../src/sdk/errors.js";
import { readTreeProof, verifyTreeProof } from "../../../src/engine/merkle/proof-json.js";
import type { ProveResult } from "../../../src/prover/schemas.js";
import { seededRandom } from "../../support/seeded.js";
import { provisioned, startServer, type Api, type TestServer } from "../../support/server.js";
import { newFolder, removeFolder } from "../../support/temporary-folder.js";

const SOURCE =
  "pragma circom 2.1.0; template Once() { signal input Secret; signal output Nullifier; Nullifier <== Secret * Secret; } component main = Once();";
const ROUNDS = 4;
const PROOFS = 24;
/** Requests for each proof at once. */
const TRIES = 3;

const random = seededRandom();
const folder = newFolder("spending-crash");
let server: TestServer | undefined;
afterAll(async () => {
  await server?.dispose();
  removeFolder(folder);
});

/** Whether a request has spent; undefined when the server ended before it answered. */
async function spend(api: Api, id: string, { proof, public_signals, ...made }: Spent): Promise<boolean | undefined> {
  try {
    const body = { proof, public_signals, store: made.stores };
    return (await api.verify({ params: { id }, body })).body.result;
  } catch (error) {
    if (!(error instanceof ApiError)) return undefined;
    if (error.status === 503) return undefined;
    expect([error.status, error.code]).toEqual([409, "note_double_spend"]);
    return false;
  }
}
type Spent = Pick<ProveResult, "proof" | "public_signals"> & { readonly stores: boolean };

it(`spends once over kills, seed ${String(random.seed)}`, async () => {
  const dataDir = join(folder, "data");
  server = await startServer({ dataDir });
  const { token } = await server.newUser();
  const body = { source: SOURCE, proving_scheme: "groth16", curve: "BN254", nullifier: "Nullifier", name: "once" };
  const id = await provisioned(server.as(token), body);
  const { nullifier_store_id: store } = (await server.as(token).getProver({ params: { id } })).body;
  let total = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const api = server.as(token);
    const proofs: Spent[] = [];
    for (let i = 0; i < PROOFS; i += 1) {
      const witness = { Secret: String(1000 * round + i + 2) };
      const { proof, public_signals } = (await api.prove({ params: { id }, body: { witness } })).body;
      proofs.push({ proof, public_signals, stores: i % 2 === 0 });
    }
    const running = server;
    const kill = new Promise<void>((resolve) => {
      setTimeout(resolve, random.below(120));
    }).then(async () => {
      await running.end("SIGKILL");
    });
    const answers = await Promise.all(
      proofs.map(
        async (proof) => await Promise.all(Array.from({ length: TRIES }, async () => await spend(api, id, proof))),
      ),
    );
    await kill;
    server = await startServer({ dataDir });
    const again = server.as(token);
    for (const [i, proof] of proofs.entries()) {
      const answered = (answers[i] ?? []).filter((answer) => answer === true).length;
      expect(answered).toBeLessThanOrEqual(1);
      const later = [await spend(again, id, proof), await spend(again, id, proof)];
      // What was acknowledged stays spent; the rest can be spent once, unless it was on disk without its answer.
      if (answered === 1) expect(later).toEqual([false, false]);
      else expect(later[1]).toBe(false);
    }
    total += PROOFS;
    const found = (await again.getStore({ params: { id: store } })).body;
    expect(found.size).toBe(total);
    for (const { public_signals } of proofs) {
      const key = `0x${BigInt(public_signals[0] ?? "0").toString(16)}`;
      const proof = (await again.proveStoreNullifier({ params: { id: store, key } })).body;
      expect([proof.found, proof.root, verifyTreeProof(readTreeProof(proof))]).toEqual([true, found.root, true]);
    }
  }
}, 300_000);
