/** Binds the routes of the prover registry to its service: names, shapes, and what bodies say of their owner. */
import type { Principal } from "../platform/auth/principal.js";
import type { SaidOwner } from "../platform/auth/said-owner.js";
import type { BodyLimitsOf, HandlersFor } from "../platform/contract/route.js";
import { createLimits, witnessLimits, type proverRoutes } from "./routes.js";
import type { referenceStringRoutes } from "./reference-strings/reference-string-routes.js";
import type { SourceLimits } from "./provisioning/sources.js";
import type { ProverService } from "./service.js";

/** Returns the limits of bodies with inputs, by the prover that the path names, and of those with source. */
export function proverBodyLimits(
  { source, uploadBytesMax }: { readonly source: SourceLimits; readonly uploadBytesMax: number },
  dependencies: { readonly provers: ProverService },
): Readonly<Record<"createProver" | "prove" | "verify" | "uploadProverArtifact", BodyLimitsOf>> {
  const { provers } = dependencies;
  const limits: BodyLimitsOf = (principal, { id }) =>
    principal === undefined ? undefined : witnessLimits(provers.sizeOf(principal.subject, String(id))[0]);
  return {
    createProver: () => createLimits(source),
    prove: (principal, { id }) =>
      principal === undefined ? undefined : witnessLimits(...provers.sizeOf(principal.subject, String(id))),
    verify: limits,
    uploadProverArtifact: () => ({ bodyBytesMax: uploadBytesMax, jsonTokensMax: 0 }),
  };
}

/** Returns the handlers of all routes of the prover registry. */
export function proverHandlers(dependencies: {
  readonly provers: ProverService;
  readonly referenceStrings: HandlersFor<typeof referenceStringRoutes>;
  readonly requireOwner: (principal: Principal, said: SaidOwner) => void;
}): HandlersFor<typeof proverRoutes> {
  const { provers, requireOwner } = dependencies;
  return {
    ...dependencies.referenceStrings,
    listProvers: ({ principal, query }) => ({ status: 200, ...provers.list(principal.subject, query) }),
    createProver: async ({ principal, body, preferWaitSec, signal }) => {
      requireOwner(principal, body);
      const prover = await provers.create(principal.subject, body, { waitSec: preferWaitSec, signal });
      return { status: 202, body: prover, headers: { Location: `/api/v1/provers/${prover.id}` } };
    },
    getProver: ({ principal, params }) => ({ status: 200, body: provers.get(principal.subject, params.id) }),
    getProverStatus: ({ principal, params }) => ({ status: 200, body: provers.progress(principal.subject, params.id) }),
    getProverAnalysis: async ({ principal, params }) => ({
      status: 200,
      body: await provers.analysis(principal.subject, params.id),
    }),
    deleteProver: async ({ principal, params }) => {
      await provers.delete(principal.subject, params.id);
      return { status: 204 };
    },
    // The API's member `witness` holds the inputs; everywhere else a witness is the full assignment.
    prove: async ({ principal, params, query, body, signal }) => {
      provers.requireSaid(principal, params.id, body ?? {});
      const made = await provers.prove(principal.subject, params.id, {
        inputs: body?.witness,
        ...(body?.witness_file === undefined ? {} : { witnessFile: Buffer.from(body.witness_file, "base64") }),
        format: query.format,
        signal,
      });
      return { status: 201, body: made, headers: { Location: `/api/v1/provers/${params.id}/proofs/${made.id}` } };
    },
    verify: async ({ principal, params, body, signal }) => {
      provers.requireSaid(principal, params.id, body ?? {});
      if (body?.batch !== undefined)
        return { status: 200, body: await provers.verifyBatch(principal.subject, params.id, { body, signal }) };
      const { store = false, ...item } = body ?? {};
      const result = await provers.verify(principal, params.id, { item, store, signal });
      return { status: 200, body: { result } };
    },
    ...artifactHandlers(provers),
    listProofs: ({ principal, params, query }) => ({
      status: 200,
      ...provers.listProofs(principal.subject, params.id, query),
    }),
    getProof: ({ principal, params }) => ({
      status: 200,
      body: provers.getProof(principal.subject, params.id, params.proof_id),
    }),
    getNote: async ({ principal, params }) => ({
      status: 200,
      body: await provers.note(principal.subject, params.id, Number(params.index)),
    }),
  };
}

function artifactHandlers(
  provers: ProverService,
): Pick<
  HandlersFor<typeof proverRoutes>,
  "getProverArtifact" | "getProverSource" | "getProverSourceArchive" | "listProverArtifacts" | "uploadProverArtifact"
> {
  return {
    getProverSource: async ({ principal, params }) => ({
      status: 200,
      file: await provers.source(principal.subject, params.id),
    }),
    getProverSourceArchive: async ({ principal, params }) => ({
      status: 200,
      bytes: await provers.sourceArchive(principal.subject, params.id),
    }),
    getProverArtifact: async ({ principal, params }) => ({
      status: 200,
      file: await provers.artifact(principal.subject, params.id, params.name),
    }),
    listProverArtifacts: ({ principal, params }) => ({
      status: 200,
      body: provers.artifacts(principal.subject, params.id),
    }),
    uploadProverArtifact: async ({ principal, params, body }) => {
      const file = await provers.upload(principal.subject, params.id, { name: params.name, body });
      return { status: file.complete ? 201 : 200, body: file };
    },
  };
}
