/** Provers: registered circuits with their keys, proofs, and what belongs to one prover. */
import type { Calls } from "../calls.js";
import type { BodyAt, FileBody, FiltersAt } from "../endpoints.js";
import type { CallOptions } from "../transport.js";

/** Records, proofs and verification. */
export function proverCalls(calls: Calls) {
  return {
    /** Registers a circuit. Its keys are made afterwards: see `waitUntilProvisioned`. */
    create: (body: BodyAt<"POST /api/v1/provers">, options?: CallOptions) =>
      calls.create("POST /api/v1/provers", { body }, options),
    /** Reads a prover, by its id or `name:tag`. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/provers/:id", { params: { id } }, options),
    /** Lists the caller's provers, oldest first. */
    list: (query?: FiltersAt<"GET /api/v1/provers">, options?: CallOptions) =>
      calls.list("GET /api/v1/provers", { ...(query && { query }) }, options),
    /** Changes description, tags and free data. */
    update: (id: string, body: BodyAt<"PUT /api/v1/provers/:id">, options?: CallOptions) =>
      calls.json("PUT /api/v1/provers/:id", { params: { id }, body }, options),
    /** Deletes a prover with its vault, keys and proofs. */
    delete: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/provers/:id", { params: { id } }, options),
    /** Reads how far provisioning is. */
    status: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/provers/:id/status", { params: { id } }, options),
    /** Verifies a proof, or a batch of proofs. */
    verify: (id: string, body: BodyAt<"POST /api/v1/provers/:id/verify">, options?: CallOptions) =>
      calls.json("POST /api/v1/provers/:id/verify", { params: { id }, body }, options),
    /** Reads whether the inputs fix every signal of the circuit. */
    analysis: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/provers/:id/analysis", { params: { id } }, options),
    /** Lists records of proofs, oldest first. */
    proofs: (id: string, query?: FiltersAt<"GET /api/v1/provers/:id/proofs">, options?: CallOptions) =>
      calls.list("GET /api/v1/provers/:id/proofs", { params: { id }, ...(query && { query }) }, options),
    /** Reads the record of a proof. */
    proof: (id: string, proofId: string, options?: CallOptions) =>
      calls.json("GET /api/v1/provers/:id/proofs/:proof_id", { params: { id, proof_id: proofId } }, options),
    /** Reads a note, decrypted. */
    note: (id: string, index: string, options?: CallOptions) =>
      calls.json("GET /api/v1/provers/:id/notes/:index", { params: { id, index } }, options),
    /** Reads whether a key was spent. */
    nullifier: (id: string, key: string, options?: CallOptions) =>
      calls.json("GET /api/v1/provers/:id/nullifiers/:key", { params: { id, key } }, options),
  };
}

/** Files of provers. */
export function proverFileCalls(calls: Calls) {
  return {
    /** Lists the files that can be downloaded, or that an import waits for. */
    artifacts: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/provers/:id/artifacts", { params: { id } }, options),
    /** Downloads a file, such as `verifying_key.json`. */
    artifact: (id: string, name: string, options?: CallOptions) =>
      calls.bytes("GET /api/v1/provers/:id/artifacts/:name", { params: { id, name } }, options),
    /** Uploads a file that an import announced. */
    uploadArtifact: (id: string, name: string, file: FileBody, options?: CallOptions) =>
      calls.json("PUT /api/v1/provers/:id/artifacts/:name", { params: { id, name }, body: file }, options),
    /** Downloads the source as JSON: `files`, `main`, `options`. */
    source: (id: string, options?: CallOptions) =>
      calls.bytes("GET /api/v1/provers/:id/source", { params: { id } }, options),
    /** Downloads the source as a .tar.gz. */
    sourceArchive: (id: string, options?: CallOptions) =>
      calls.bytes("GET /api/v1/provers/:id/source.tar.gz", { params: { id } }, options),
  };
}

/** Who else may use a prover; keys of receipts and of closed inputs. */
export function proverSharingCalls(calls: Calls) {
  return {
    /** Lists whom a prover is shared with. */
    grants: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/provers/:id/grants", { params: { id } }, options),
    /** Lets others prove or verify with a prover. */
    grant: (id: string, body: BodyAt<"POST /api/v1/provers/:id/grants">, options?: CallOptions) =>
      calls.create("POST /api/v1/provers/:id/grants", { params: { id }, body }, options),
    /** Takes a grant back. */
    revokeGrant: (id: string, grantId: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/provers/:id/grants/:grant_id", { params: { id, grant_id: grantId } }, options),
    /** Reads the keys that check receipts; needs no token. */
    receiptKeySet: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/provers/:id/jwks.json", { params: { id } }, options),
    /** Lists the keys of receipts with their states. */
    receiptKeys: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/provers/:id/receipt_keys", { params: { id } }, options),
    /** Makes the next receipts be signed by a new key. */
    rotateReceiptKey: (id: string, options?: CallOptions) =>
      calls.json("POST /api/v1/provers/:id/receipt_keys", { params: { id } }, options),
    /** Revokes a key of receipts. */
    revokeReceiptKey: (
      id: string,
      kid: string,
      body: BodyAt<"POST /api/v1/provers/:id/receipt_keys/:kid/revoke">,
      options?: CallOptions,
    ) => calls.json("POST /api/v1/provers/:id/receipt_keys/:kid/revoke", { params: { id, kid }, body }, options),
    /** Lists the keys to which inputs may be encrypted. */
    inputKeys: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/provers/:id/input_keys", { params: { id } }, options),
    /** Makes a key to which inputs may be encrypted. */
    createInputKey: (id: string, body: BodyAt<"POST /api/v1/provers/:id/input_keys"> = {}, options?: CallOptions) =>
      calls.json("POST /api/v1/provers/:id/input_keys", { params: { id }, body }, options),
  };
}

/** Verifier contracts of provers. */
export function verifierCalls(calls: Calls) {
  return {
    /** Lists the verifier contracts of a prover. */
    verifiers: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/provers/:id/verifiers", { params: { id } }, options),
    /** Deploys a prover's verifier contract. */
    deployVerifier: (id: string, body: BodyAt<"POST /api/v1/provers/:id/verifiers">, options?: CallOptions) =>
      calls.create("POST /api/v1/provers/:id/verifiers", { params: { id }, body }, options),
    /** Reads a verifier contract. */
    verifier: (id: string, verifierId: string, options?: CallOptions) =>
      calls.json(
        "GET /api/v1/provers/:id/verifiers/:verifier_id",
        { params: { id, verifier_id: verifierId } },
        options,
      ),
    /** Asks a deployed contract about a proof. */
    checkVerifier: (
      id: string,
      verifierId: string,
      body?: BodyAt<"POST /api/v1/provers/:id/verifiers/:verifier_id/check">,
      options?: CallOptions,
    ) =>
      calls.json(
        "POST /api/v1/provers/:id/verifiers/:verifier_id/check",
        { params: { id, verifier_id: verifierId }, ...(body && { body }) },
        options,
      ),
    /** Forgets a verifier contract. */
    deleteVerifier: (id: string, verifierId: string, options?: CallOptions) =>
      calls.json(
        "DELETE /api/v1/provers/:id/verifiers/:verifier_id",
        { params: { id, verifier_id: verifierId } },
        options,
      ),
  };
}
