/** What stands beside provers: those of others, stores, reference strings, ceremonies. */
import type { Calls } from "../calls.js";
import type { BodyAt, FileBody, FiltersAt, InputAt } from "../endpoints.js";
import type { CallOptions } from "../transport.js";

/** Files of a ceremony by name. */
export type CeremonyFileName = InputAt<"GET /api/v1/ceremonies/:id/files/:name">["params"]["name"];

/** Provers of others that the caller may use. */
export function sharedProverCalls(calls: Calls) {
  return {
    /** Lists the provers that are shared with the caller. */
    list: (options?: CallOptions) => calls.list("GET /api/v1/shared_provers", {}, options),
    /** Reads a shared prover. */
    get: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/shared_provers/:id", { params: { id } }, options),
    /** Gives up a shared prover, with what the caller made with it. */
    leave: (id: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/shared_provers/:id", { params: { id } }, options),
  };
}

/** Stores of notes and nullifiers. `verifyStoreProof` checks their proofs offline. */
export function storeCalls(calls: Calls) {
  return {
    /** Lists stores. */
    list: (options?: CallOptions) => calls.list("GET /api/v1/stores", {}, options),
    /** Reads a store with its root. */
    get: (id: string, options?: CallOptions) => calls.json("GET /api/v1/stores/:id", { params: { id } }, options),
    /** Lists the roots that a store has had. */
    roots: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/stores/:id/roots", { params: { id } }, options),
    /** Reads the signed tree head. */
    head: (id: string, options?: CallOptions) => calls.json("GET /api/v1/stores/:id/head", { params: { id } }, options),
    /** Lists signed tree heads. */
    heads: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/stores/:id/heads", { params: { id } }, options),
    /** Reads the public keys that check its tree heads. */
    jwks: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/stores/:id/jwks.json", { params: { id } }, options),
    /** Lists the keys that sign its tree heads. */
    headKeys: (id: string, options?: CallOptions) =>
      calls.list("GET /api/v1/stores/:id/head_keys", { params: { id } }, options),
    /** Signs tree heads with a new key. */
    rotateHeadKey: (id: string, options?: CallOptions) =>
      calls.json("POST /api/v1/stores/:id/head_keys", { params: { id } }, options),
    /** Revokes a key that signed tree heads. */
    revokeHeadKey: (
      id: string,
      kid: string,
      body: BodyAt<"POST /api/v1/stores/:id/head_keys/:kid/revoke">,
      options?: CallOptions,
    ) => calls.json("POST /api/v1/stores/:id/head_keys/:kid/revoke", { params: { id, kid }, body }, options),
    /** Proves that a note is in the tree. */
    proveNote: (
      id: string,
      index: string,
      query?: FiltersAt<"GET /api/v1/stores/:id/notes/:index/proof">,
      options?: CallOptions,
    ) =>
      calls.json(
        "GET /api/v1/stores/:id/notes/:index/proof",
        { params: { id, index }, ...(query && { query }) },
        options,
      ),
    /** Proves that a tree grew out of an earlier one. */
    proveConsistency: (id: string, query: FiltersAt<"GET /api/v1/stores/:id/consistency">, options?: CallOptions) =>
      calls.json("GET /api/v1/stores/:id/consistency", { params: { id }, query }, options),
    /** Proves that a key was spent, or was not. */
    proveNullifier: (
      id: string,
      key: string,
      query?: FiltersAt<"GET /api/v1/stores/:id/nullifiers/:key/proof">,
      options?: CallOptions,
    ) =>
      calls.json(
        "GET /api/v1/stores/:id/nullifiers/:key/proof",
        { params: { id, key }, ...(query && { query }) },
        options,
      ),
  };
}

/** Powers-of-tau files. */
export function referenceStringCalls(calls: Calls) {
  return {
    /** Lists the files that the server knows. */
    list: (options?: CallOptions) => calls.json("GET /api/v1/reference_strings", {}, options),
    /** Reads what is known of a file. */
    get: (hash: string, options?: CallOptions) =>
      calls.json("GET /api/v1/reference_strings/:hash", { params: { hash } }, options),
    /** Has a file of the server's folder checked. */
    check: (body: BodyAt<"POST /api/v1/reference_strings">, options?: CallOptions) =>
      calls.json("POST /api/v1/reference_strings", { body }, options),
    /** Uploads a file. */
    upload: (name: string, file: FileBody, options?: CallOptions) =>
      calls.json("PUT /api/v1/reference_strings/uploads/:file", { params: { file: name }, body: file }, options),
    /** Deletes an upload. */
    delete: (name: string, options?: CallOptions) =>
      calls.json("DELETE /api/v1/reference_strings/uploads/:file", { params: { file: name } }, options),
  };
}

/** Ceremonies, for the owner of the prover; `show` and `file` need no token. */
export function ceremonyCalls(calls: Calls) {
  return {
    /** Reads a ceremony. */
    get: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/provers/:id/ceremony", { params: { id } }, options),
    /** Changes what a ceremony waits for. */
    update: (id: string, body: BodyAt<"PUT /api/v1/provers/:id/ceremony">, options?: CallOptions) =>
      calls.json("PUT /api/v1/provers/:id/ceremony", { params: { id }, body }, options),
    /** Lists invitations. */
    invitations: (id: string, options?: CallOptions) =>
      calls.json("GET /api/v1/provers/:id/ceremony/invitations", { params: { id } }, options),
    /** Invites a contributor. */
    invite: (id: string, body: BodyAt<"POST /api/v1/provers/:id/ceremony/invitations">, options?: CallOptions) =>
      calls.json("POST /api/v1/provers/:id/ceremony/invitations", { params: { id }, body }, options),
    /** Takes an invitation back. */
    deleteInvitation: (id: string, invitationId: string, options?: CallOptions) =>
      calls.json(
        "DELETE /api/v1/provers/:id/ceremony/invitations/:invitation_id",
        { params: { id, invitation_id: invitationId } },
        options,
      ),
    /** Removes a contributor who has not contributed. */
    removeParticipant: (id: string, participantId: string, options?: CallOptions) =>
      calls.json(
        "DELETE /api/v1/provers/:id/ceremony/participants/:participant_id",
        { params: { id, participant_id: participantId } },
        options,
      ),
    /** Ends a ceremony with the value of its beacon. */
    end: (id: string, body: BodyAt<"POST /api/v1/provers/:id/ceremony/beacon">, options?: CallOptions) =>
      calls.json("POST /api/v1/provers/:id/ceremony/beacon", { params: { id }, body }, options),
    /** Ends a ceremony without a key. */
    cancel: (id: string, options?: CallOptions) =>
      calls.json("POST /api/v1/provers/:id/ceremony/cancel", { params: { id } }, options),
    /** Reads what everybody may know of a ceremony. */
    show: (id: string, options?: CallOptions) => calls.json("GET /api/v1/ceremonies/:id", { params: { id } }, options),
    /** Downloads a file of a ceremony. */
    file: (id: string, name: CeremonyFileName, options?: CallOptions) =>
      calls.bytes("GET /api/v1/ceremonies/:id/files/:name", { params: { id, name } }, options),
  };
}
