/** The routes of reference strings, as plain values. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import {
  CheckReferenceString,
  FILES_MAX,
  ReferenceString,
  ReferenceStringDetails,
  Sha256,
  UploadParams,
} from "./reference-string-schemas.js";

/** Above every value of PROOFWRIGHT_PTAU_UPLOAD_MAX_MB, which decides. */
const UPLOAD_BYTES_MAX = 64 * 1024 ** 3;
const UPLOAD_DEADLINE_MS = 3_600_000;

export const referenceStringRoutes = {
  listReferenceStrings: defineRoute({
    id: "listReferenceStrings",
    area: "prover",
    method: "GET",
    path: "/api/v1/reference_strings",
    summary: "List published reference strings",
    description:
      "Powers-of-tau files that were uploaded, those of the folder that PROOFWRIGHT_PTAU_DIR names on any node, and those that are kept though their file is gone. Keys of universal schemes follow from them, and phase 1 of groth16 where `phase1` asks for it. A file is checked in full before its first use.",
    auth: { permissions: ["read"] },
    responses: { 200: { description: "Strings", schema: Type.Array(ReferenceString, { maxItems: 3 * FILES_MAX }) } },
  }),
  getReferenceString: defineRoute({
    id: "getReferenceString",
    area: "prover",
    method: "GET",
    path: "/api/v1/reference_strings/:hash",
    summary: "Get a published reference string",
    description: "A string that passed its check, by the SHA-256 of its file, with the contributions to its ceremony.",
    auth: { permissions: ["read"] },
    params: Type.Object({ hash: Sha256 }),
    responses: { 200: { description: "The string", schema: ReferenceStringDetails } },
    errors: ["not_found"],
  }),
  checkReferenceString: defineRoute({
    id: "checkReferenceString",
    area: "prover",
    method: "POST",
    path: "/api/v1/reference_strings",
    summary: "Check a powers-of-tau file now",
    description:
      "Starts the check that the first prover which wants the file would wait for, at low priority; `GET` shows its progress. A file whose content was checked before is not checked again.",
    auth: { permissions: ["sudo"] },
    body: CheckReferenceString,
    responses: { 202: { description: "The string as it is now", schema: ReferenceString } },
    errors: ["invalid_request"],
  }),
  uploadReferenceString: defineRoute({
    id: "uploadReferenceString",
    area: "prover",
    method: "PUT",
    path: "/api/v1/reference_strings/uploads/:file",
    summary: "Upload a powers-of-tau file",
    description:
      "A `.ptau` file of snarkjs, prepared or not. Whole, or in parts in their order, each with Content-Range; Repr-Digest says the SHA-256 of the whole file. After an interruption, of the server too, the list of strings tells in `received` where to go on; a request without Content-Range begins again. With the last part the check of the file starts. An upload that gets nothing for a day is dropped.",
    auth: { permissions: ["sudo"] },
    params: UploadParams,
    streamedBody: true,
    bodyBytesMax: UPLOAD_BYTES_MAX,
    deadlineMs: UPLOAD_DEADLINE_MS,
    responses: {
      200: { description: "The part has come; others are missing", schema: ReferenceString },
      202: { description: "The file is complete, and its check has begun", schema: ReferenceString },
    },
    errors: ["conflict", "upload_out_of_order", "upload_digest_mismatch", "overloaded", "storage_full"],
  }),
  deleteReferenceString: defineRoute({
    id: "deleteReferenceString",
    area: "prover",
    method: "DELETE",
    path: "/api/v1/reference_strings/uploads/:file",
    summary: "Delete an uploaded powers-of-tau file",
    description: "In any state but while it is checked. One from which keys of provers follow stays: 409.",
    auth: { permissions: ["sudo"] },
    params: UploadParams,
    responses: { 204: { description: "Deleted" } },
    errors: ["not_found", "conflict"],
  }),
} as const;
