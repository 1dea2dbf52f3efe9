/** The routes of reference strings, as plain values. */
import Type from "typebox";
import { defineRoute } from "../../platform/contract/route.js";
import {
  CheckReferenceString,
  FILES_MAX,
  ReferenceString,
  ReferenceStringDetails,
  Sha256,
} from "./reference-string-schemas.js";

export const referenceStringRoutes = {
  listReferenceStrings: defineRoute({
    id: "listReferenceStrings",
    area: "prover",
    method: "GET",
    path: "/api/v1/reference_strings",
    summary: "List published reference strings",
    description:
      "Powers-of-tau files of the folder that PROOFWRIGHT_PTAU_DIR names, and those that are kept though their file is gone. Keys of universal schemes follow from them. A file is checked in full before its first use.",
    auth: { permissions: ["read"] },
    responses: { 200: { description: "Strings", schema: Type.Array(ReferenceString, { maxItems: 2 * FILES_MAX }) } },
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
} as const;
