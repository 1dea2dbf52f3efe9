/**
 * An app that uses the package as a stranger would, in Node and in a browser: registers a circuit, proves, verifies on
 * the server and offline, signs with a key of a vault. Nothing of the repository is imported but the package by name.
 */
import { ApiError, Proofwright, verifyProof, verifyReceipt, verifyStoreProof, type Prover } from "proofwright";

/** What the app saw; its test says what it should be. */
export interface Findings {
  readonly status: Prover["status"];
  readonly steps: readonly string[];
  readonly provenAsJobs: readonly string[];
  readonly verified: boolean;
  readonly verifiedOffline: boolean;
  readonly otherStatementOffline: boolean;
  readonly receiptAction: string;
  readonly storeProofHolds: boolean;
  readonly names: readonly string[];
  readonly signature: string;
  readonly eventSubject: string;
  readonly refusal: string;
}

/** Does all of it against the server at an address. */
export async function run(baseUrl: string): Promise<Findings> {
  const credentials = { email: `ada.${crypto.randomUUID()}@example.com`, password: `phrase ${crypto.randomUUID()}` };
  await new Proofwright({ baseUrl }).users.create({ ...credentials, first_name: "Ada", last_name: "Lovelace" });
  const proofwright = await Proofwright.login({ baseUrl, ...credentials });

  const circuit = { identifier: "cubic", proving_scheme: "groth16", curve: "BN254", name: "my cubic" };
  const { id } = await proofwright.provers.create(circuit);
  const steps: string[] = [];
  const prover = await proofwright.provers.waitUntilProvisioned(id, { onProgress: ({ step }) => steps.push(step) });

  const inputs = { witness: { X: "3", Y: "35" }, receipt: true };
  const made = await proofwright.provers.prove(id, inputs, { format: "snarkjs" });
  const witnesses = [{ witness: { X: "2", Y: "15" } }, { witness: { X: "2", Y: "16" } }];
  const provenAsJobs = [(await proofwright.jobs.prove(id, { witness: { X: "1", Y: "7" } })).public_signals.join()];
  for await (const job of proofwright.jobs.results(await proofwright.jobs.startBatch(id, witnesses)))
    provenAsJobs.push(job.result?.public_signals.join() ?? job.error?.code ?? job.status);
  const verified = await proofwright.provers.verify(id, { proof: made.proof, witness: { Y: "35" } });

  const file = await proofwright.provers.artifact(id, "verifying_key.json");
  const verifyingKey: unknown = JSON.parse(new TextDecoder().decode(file));
  const claim = { verifyingKey, proof: made.snarkjs?.proof, publicSignals: made.public_signals };
  const keys = await proofwright.provers.receiptKeySet(id);
  const receipt = await verifyReceipt(made.receipt ?? "", keys, { proof: made.proof, proverId: id });
  const inclusion = await proofwright.stores.proveNote(prover.note_store_id, String(made.note_index));

  const vault = await proofwright.vaults.create({ name: "app" });
  const key = await proofwright.keys.create(vault.id, {
    type: "asymmetric",
    usage: "sign/verify",
    spec: "secp256k1",
    name: "app",
  });
  const signed = await proofwright.keys.sign(vault.id, key.id, {
    message: "68656c6c6f",
    options: { digest: "keccak256" },
  });

  const names: string[] = [];
  for await (const { name } of proofwright.provers.list({ curve: "BN254" })) names.push(name);
  let eventSubject = "";
  for await (const { subject } of proofwright.events.stream({ lastEventId: 0 })) {
    eventSubject = subject;
    break;
  }
  const refusal = await proofwright.provers.get(crypto.randomUUID()).then(
    () => "none",
    (error: unknown) => (error instanceof ApiError ? error.code : String(error)),
  );
  return {
    status: prover.status,
    steps,
    provenAsJobs,
    verified: verified.result,
    verifiedOffline: verifyProof(claim),
    otherStatementOffline: verifyProof({ ...claim, publicSignals: ["36"] }),
    receiptAction: receipt.action,
    storeProofHolds: verifyStoreProof(inclusion).holds,
    names,
    signature: "signature" in signed ? signed.signature : "",
    eventSubject,
    refusal,
  };
}
